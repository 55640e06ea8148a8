"""A square float32 matmul in seven schedules, from none to packed and parallel, against the system's C compiler on the same loops.

Base is the program as it is defined; blocking, vectorization, loop permutation, array packing, a cache for blocks and parallel
blocks follow, each on top of the last. The C of a step has the same loops in the same order, written by hand, and is compiled
with `-O3 -march=native`; with more than one thread the last step's is parallel by OpenMP.
"""
import argparse
import ctypes
import os
import subprocess
import sys
import tempfile

BLOCK, STEP = 32, 4  # of rows and columns; of the sum


def matmul(n, packed=False):
    from tensorwright import te

    a, b, k = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B"), te.reduce_axis((0, n), name="k")
    if not packed:
        return a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C"), None, k
    panels = te.compute((n // BLOCK, n, BLOCK), lambda p, x, y: b[x, p * BLOCK + y], name="panels")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * panels[j // BLOCK, k, j % BLOCK], axis=k), name="C")
    return a, b, c, panels, k


def scheduled(n, step):
    """(schedule, arguments) of the step of that name."""
    from tensorwright import te

    at = STEPS.index(step)
    a, b, c, panels, k = matmul(n, packed=at >= STEPS.index("packing"))
    s = te.create_schedule(c)
    if step == "base":
        return s, [a, b, c]
    if at >= STEPS.index("cache"):
        _cached(s, c, k, parallel=step == "parallel")
    else:
        io, jo, ii, ji = s[c].tile(*c.op.axis, BLOCK, BLOCK)
        ko, ki = s[c].split(k, STEP)
        s[c].reorder(*([io, jo, ko, ki, ii, ji] if at < STEPS.index("permutation") else [io, jo, ko, ii, ki, ji]))
        if step != "blocking":
            s[c].vectorize(ji)
    if panels is not None:
        p, _, y = panels.op.axis
        s[panels].vectorize(y)
        s[panels].parallel(p)
    return s, [a, b, c]


def _cached(s, c, k, parallel):
    block = s.cache_write(c, "local")
    io, jo, _, _ = s[c].tile(*c.op.axis, BLOCK, BLOCK)
    s[block].compute_at(s[c], jo)
    i, j = block.op.axis
    ko, ki = s[block].split(block.op.reduce_axis[0], STEP)
    s[block].reorder(ko, i, ki, j)
    s[block].unroll(ki)
    s[block].vectorize(j)
    if parallel:
        s[c].parallel(io)


STEPS = ["base", "blocking", "vectorization", "permutation", "packing", "cache", "parallel"]

LOOPS = {
    "base": """
  for (long i = 0; i < N; i++)
    for (long j = 0; j < N; j++) {
      C[i * N + j] = 0;
      for (long k = 0; k < N; k++) C[i * N + j] += A[i * N + k] * B[k * N + j];
    }""",
    "blocking": """
  for (long io = 0; io < N / 32; io++)
    for (long jo = 0; jo < N / 32; jo++) {
      for (long i = 0; i < 32; i++)
        for (long j = 0; j < 32; j++) C[(io * 32 + i) * N + jo * 32 + j] = 0;
      for (long ko = 0; ko < N / 4; ko++)
        for (long ki = 0; ki < 4; ki++)
          for (long i = 0; i < 32; i++)
            for (long j = 0; j < 32; j++)
              C[(io * 32 + i) * N + jo * 32 + j] += A[(io * 32 + i) * N + ko * 4 + ki] * B[(ko * 4 + ki) * N + jo * 32 + j];
    }""",
    "permutation": """
  for (long io = 0; io < N / 32; io++)
    for (long jo = 0; jo < N / 32; jo++) {
      for (long i = 0; i < 32; i++)
        for (long j = 0; j < 32; j++) C[(io * 32 + i) * N + jo * 32 + j] = 0;
      for (long ko = 0; ko < N / 4; ko++)
        for (long i = 0; i < 32; i++)
          for (long ki = 0; ki < 4; ki++)
            for (long j = 0; j < 32; j++)
              C[(io * 32 + i) * N + jo * 32 + j] += A[(io * 32 + i) * N + ko * 4 + ki] * B[(ko * 4 + ki) * N + jo * 32 + j];
    }""",
    "packing": """
  #pragma omp parallel for
  for (long p = 0; p < N / 32; p++)
    for (long x = 0; x < N; x++)
      for (long y = 0; y < 32; y++) P[(p * N + x) * 32 + y] = B[x * N + p * 32 + y];
  for (long io = 0; io < N / 32; io++)
    for (long jo = 0; jo < N / 32; jo++) {
      for (long i = 0; i < 32; i++)
        for (long j = 0; j < 32; j++) C[(io * 32 + i) * N + jo * 32 + j] = 0;
      for (long ko = 0; ko < N / 4; ko++)
        for (long i = 0; i < 32; i++)
          for (long ki = 0; ki < 4; ki++)
            for (long j = 0; j < 32; j++)
              C[(io * 32 + i) * N + jo * 32 + j] += A[(io * 32 + i) * N + ko * 4 + ki] * P[(jo * N + ko * 4 + ki) * 32 + j];
    }""",
    "cache": """
  #pragma omp parallel for
  for (long p = 0; p < N / 32; p++)
    for (long x = 0; x < N; x++)
      for (long y = 0; y < 32; y++) P[(p * N + x) * 32 + y] = B[x * N + p * 32 + y];
  PARALLEL
  for (long io = 0; io < N / 32; io++)
    for (long jo = 0; jo < N / 32; jo++) {
      float block[32 * 32];
      for (long i = 0; i < 32; i++)
        for (long j = 0; j < 32; j++) block[i * 32 + j] = 0;
      for (long ko = 0; ko < N / 4; ko++)
        for (long i = 0; i < 32; i++)
          for (long ki = 0; ki < 4; ki++)
            for (long j = 0; j < 32; j++)
              block[i * 32 + j] += A[(io * 32 + i) * N + ko * 4 + ki] * P[(jo * N + ko * 4 + ki) * 32 + j];
      for (long i = 0; i < 32; i++)
        for (long j = 0; j < 32; j++) C[(io * 32 + i) * N + jo * 32 + j] = block[i * 32 + j];
    }""",
}
LOOPS["vectorization"] = LOOPS["blocking"]
LOOPS["parallel"] = LOOPS["cache"].replace("PARALLEL", "#pragma omp parallel for")


def by_c_compiler(n, folder):
    """The steps as functions of three arrays."""
    text = f"#define N {n}L\n#define PARALLEL\nstatic float P[N * N] __attribute__((aligned(64)));\n"
    for step in STEPS:
        text += f"void {step}(const float* restrict A, const float* restrict B, float* restrict C) {{{LOOPS[step]}\n}}\n"
    source, library = os.path.join(folder, "steps.c"), os.path.join(folder, "steps.so")
    with open(source, "w") as file:
        file.write(text)
    subprocess.run(["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", source, "-o", library], check=True)
    loaded = ctypes.CDLL(library)
    return {step: getattr(loaded, step) for step in STEPS}


def on_a_line(n):
    """A square array that starts at a line of the cache, as tensors of compilers and libraries do."""
    import numpy as np

    line = 64
    memory = np.zeros(n * n * 4 + line, np.uint8)
    start = -memory.ctypes.data % line
    return memory[start:start + n * n * 4].view(np.float32).reshape(n, n)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024, help="a multiple of 32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", nargs="*", default=STEPS, choices=STEPS)
    options = parser.parse_args()
    os.environ["TW_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(options.threads)
    import numpy as np

    import tensorwright as tw
    from bench.harness import Contestant, interleave, ratio, report

    n = options.size
    rng = np.random.default_rng(0)
    # Both write into one array: rows 4 KB apart share their sets of L1, and where pages lie decides the time of a step.
    a, b, c = (on_a_line(n) for _ in range(3))
    a[:], b[:] = rng.standard_normal((2, n, n), dtype="float32")
    slower = []
    with tempfile.TemporaryDirectory() as folder:
        peers = by_c_compiler(n, folder)
        for step in options.steps:
            f = tw.build(*scheduled(n, step))
            pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (a, b, c)]
            f(a, b, c)
            ours = c.copy()
            peers[step](*pointers)
            np.testing.assert_allclose(ours, c, rtol=1e-3, atol=1e-3)
            competing = [Contestant("tensorwright", lambda: f(a, b, c)),
                         Contestant("gcc -O3 -march=native", lambda: peers[step](*pointers))]
            interleave(competing, options.rounds, pause=0.01)
            report(f"{step} {n}^3 float32, {options.threads} thread(s)", competing, 2 * n**3 / 1e9)
            if ratio(*competing)[0] < 1:
                slower.append(step)
    if slower:
        sys.exit("slower than the C compiler: " + ", ".join(slower))


if __name__ == "__main__":
    main()
