"""Functions for a GPU against PyTorch's (cuBLASLt, cuDNN) and a copy of device memory, in one run on one machine: checks all, times all,
prints one table.

    python -m bench.gpu --pack FOLDER [--trials N] [--rows PARTS]           anywhere: the candidates of each row, compiled
    python -m bench.gpu [--packs FOLDER] [--logs FOLDER] [--rows PARTS]     where the GPU is

Per row: the default schedule and the best of its pack, which tw-measure runs first, each checked against PyTorch, then timed in turns with it by the
device's events around several calls, medians; bytes are those that must be read and written. Without packs N trials are tuned there. A row that fails
says why, and the others go on. It needs a GPU, PyTorch and NVRTC.
"""
import argparse
import dataclasses
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable

import tensorwright as tw
from tensorwright import te

ROUNDS = 15
SPAN = 3e-3  # seconds of calls between two events
ROWS_OF_NORMS = 1 << 14


@dataclasses.dataclass
class Row:
    name: str
    tensors: Callable  # () -> placeholders and the output
    peer: Callable     # (torch, *inputs) -> what PyTorch computes
    work: float        # operations, or bytes
    unit: str = "TFLOP/s"
    target: str = "cuda -arch=sm_90a"
    tolerance: float = 2e-2
    first: float = 0   # what is asked for at first, of the peer or of the copy
    against_copy: bool = False

    @property
    def file(self):
        return re.sub(r"\W+", "_", self.name)


def matmul(m, n, k, dtype="float32", turned=False, tf32=False, out="float32"):
    """A[m, k] @ B[k, n], or @ B[n, k].T; sums in float32, which `out` rounds."""
    def tensors():
        A = te.placeholder((m, k), dtype, name="A")
        B = te.placeholder((n, k) if turned else (k, n), dtype, name="B")
        r = te.reduce_axis((0, k), name="r")
        at = (lambda j: B[j, r]) if turned else (lambda j: B[r, j])
        wide = te.tf32 if tf32 else (lambda x: x) if dtype == "float32" else (lambda x: x.astype("float32"))
        C = te.compute((m, n), lambda i, j: te.sum(wide(A[i, r]) * wide(at(j)), axis=r), name="C")
        return [A, B, C if out == "float32" else te.compute((m, n), lambda i, j: C[i, j].astype(out), name="D")]
    return tensors


def product(torch, a, b):
    return (a @ b).float()


def product_turned(torch, a, b):
    return (a @ b.T).float()


def product_tf32(torch, a, b):
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return a @ b
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def product_turned_tf32(torch, a, b):
    return product_tf32(torch, a, b.T)


def gemm_tf32(n, turned, first):
    return Row(f"float32 {n}^3{' B^T' if turned else ''}, tf32", matmul(n, n, n, "float32", turned, tf32=True),
               product_turned_tf32 if turned else product_tf32, 2.0 * n**3, first=first, tolerance=5e-3)


def gemm(m, n, k, dtype, turned=False, first=0.0, what="", out="float32", **more):
    return Row(f"{dtype} {m}x{n}x{k}{' B^T' if turned else ''}{f' to {out}' if out != 'float32' else ''}{what}", matmul(m, n, k, dtype, turned, out=out),
               product_turned if turned else product, 2.0 * m * n * k, first=first, **more)


def pointwise(n):
    A = te.placeholder((n,), name="A")
    return [A, te.compute((n,), lambda i: A[i] * 2.0 + 1.0, name="B")]


def transpose(n):
    A = te.placeholder((n, n), name="A")
    return [A, te.compute((n, n), lambda i, j: A[j, i], name="B")]


def total(n):
    A, k = te.placeholder((n,), name="A"), te.reduce_axis((0, n), name="k")
    return [A, te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")]


def softmax(columns, dtype="float32"):
    def tensors():
        A = te.placeholder((ROWS_OF_NORMS, columns), dtype, name="A")
        return [A, tw.ops.softmax(A)]
    return of_rows("softmax", columns, dtype, tensors, lambda torch, a: torch.softmax(a, 1))


def layer_norm(columns, dtype="float32"):
    def tensors():
        A, scale, shift = (te.placeholder(shape, dtype, name=name) for shape, name in (((ROWS_OF_NORMS, columns), "A"), ((columns,), "scale"), ((columns,), "shift")))
        return [A, scale, shift, tw.ops.layer_norm(A, scale, shift)]
    return of_rows("layer norm", columns, dtype, tensors, lambda torch, a, g, b: torch.nn.functional.layer_norm(a, a.shape[1:], g, b))


def rms_norm(columns, dtype="float32"):
    def tensors():
        A, scale = te.placeholder((ROWS_OF_NORMS, columns), dtype, name="A"), te.placeholder((columns,), dtype, name="scale")
        return [A, scale, tw.ops.rms_norm(A, scale)]
    return of_rows("RMS norm", columns, dtype, tensors, lambda torch, a, g: torch.nn.functional.rms_norm(a, a.shape[1:], g, 1e-5))


L2 = 50e6  # bytes; weights that stay there from call to call are read faster than memory is copied


def few_rows(m, n, k, dtype="bfloat16"):
    size = (4.0 if dtype == "float32" else 2.0) * n * k
    return Row(f"{dtype} {m}x{n}x{k} B^T", matmul(m, n, k, dtype, True), product_turned, size, "GB/s", first=0.8, against_copy=size > 2 * L2,
               tolerance=1e-4 if dtype == "float32" else 2e-2)


def running_sums(rows, columns):
    def tensors():
        A = te.placeholder((rows, columns), name="A")
        return [A, tw.ops.cumsum(A, axis=0)]
    return moved(f"running sums down {rows}x{columns}", tensors, lambda torch, a: torch.cumsum(a, 0), 8 * rows * columns, 0, tolerance=1e-3)


def conv(channels, filters, size, kernel):
    def tensors():
        X = te.placeholder((32, size, size, channels), "float16", name="X")
        W = te.placeholder((kernel, kernel, channels, filters), "float16", name="W")
        return [X, W, tw.ops.conv2d(X, W, padding=kernel // 2, layout="NHWC", out_dtype="float32")]

    def peer(torch, x, w):
        return torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=kernel // 2).permute(0, 2, 3, 1).float()

    return Row(f"float16 conv {kernel}x{kernel} {channels}->{filters} 32x{size}^2 NHWC", tensors, peer, 2.0 * 32 * size * size * kernel * kernel * channels * filters,
               first=0.6)


def depthwise(channels, size):
    def tensors():
        X = te.placeholder((32, size, size, channels), "float16", name="X")
        W = te.placeholder((3, 3, channels, 1), "float16", name="W")
        return [X, W, tw.ops.depthwise_conv2d(X, W, padding=1, out_dtype="float16")]

    def peer(torch, x, w):
        return torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), w.permute(2, 3, 0, 1), padding=1, groups=channels).permute(0, 2, 3, 1)

    return Row(f"float16 depthwise 3x3 {channels} 32x{size}^2 NHWC", tensors, peer, 2.0 * 2 * 32 * size * size * channels, "GB/s", first=1.2)


def attention(heads, length, size):
    def tensors():
        return [*(q := [te.placeholder((heads, length, size), "bfloat16", name=name) for name in "QKV"]), tw.ops.attention(*q)]

    def peer(torch, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]

    return Row(f"attention {heads}x{length}x{size} bfloat16", tensors, peer, 4.0 * heads * length * length * size, first=0.45)


def moved(name, tensors, peer, bytes_, first, **more):
    return Row(name, tensors, peer, float(bytes_), "GB/s", first=first, against_copy=True, **more)


def of_rows(name, columns, dtype, tensors, peer):
    size = 4 if dtype == "float32" else 2
    return moved(f"{name} {ROWS_OF_NORMS}x{columns}{'' if size == 4 else ' ' + dtype}", tensors, peer, 2 * size * ROWS_OF_NORMS * columns, 0.85,
                 tolerance=1e-3 if size == 4 else 1e-2)


ROWS = [
    moved("pointwise 2^28", lambda: pointwise(1 << 28), lambda torch, a: a * 2 + 1, 8 << 28, 0.90, tolerance=1e-6),
    moved("sum 2^30", lambda: total(1 << 30), lambda torch, a: a.sum().reshape(1), 4 << 30, 0.90, tolerance=1e-3),
    moved("transpose 16384^2", lambda: transpose(1 << 14), lambda torch, a: a.T.contiguous(), 8 << 28, 0.85, tolerance=0),
    softmax(4096),
    layer_norm(4096),
    *(of_columns(columns, "bfloat16") for columns in (1024, 4096, 16384, 65536) for of_columns in (softmax, layer_norm, rms_norm)),
    few_rows(1, 28672, 8192),
    few_rows(16, 28672, 8192),
    few_rows(8, 4096, 4096),
    few_rows(8, 4096, 4096, "float32"),
    running_sums(1024, 1 << 16),
    gemm(4096, 4096, 4096, "float32", first=0.85),
    gemm(4096, 4096, 4096, "float32", True, first=0.85),
    gemm(4096, 4096, 4096, "bfloat16", True, first=0.85),
    gemm_tf32(4096, True, 0.55),
    gemm_tf32(4096, False, 0.55),
    gemm(8192, 8192, 8192, "bfloat16", True, target="cuda -arch=sm_90", first=0.55, what=", mma.sync"),
    gemm(8192, 8192, 8192, "bfloat16", True, first=0.90, what=", wgmma"),
    gemm(8192, 8192, 8192, "bfloat16", first=0.90, what=", wgmma"),
    gemm(8192, 8192, 8192, "bfloat16", True, first=0.90, out="bfloat16", what=", wgmma"),
    gemm(8192, 8192, 512, "bfloat16", True, first=0.80),
    gemm(8192, 8192, 512, "bfloat16", True, first=0.80, out="bfloat16"),
    gemm(4095, 4097, 4093, "bfloat16", first=0.90),
    gemm(257, 513, 1025, "bfloat16", first=0.90),
    conv(64, 64, 56, 3),
    conv(256, 256, 14, 3),
    conv(64, 256, 56, 1),
    depthwise(144, 56),
    attention(4, 16384, 128),
]


def inputs_of(torch, tensors):
    torch.manual_seed(0)
    made = []
    for t in tensors[:-1]:
        long = t.shape[-1] if len(t.shape) > 1 else 1
        made.append((torch.rand(tuple(map(int, t.shape)), device="cuda") - (0.5 if int(long) > 1 else 0.4)).to(getattr(torch, str(t.dtype))))
    return made


def error(torch, out, wanted):
    """Of the whole; infinite where anything is not a number."""
    out, wanted = out.double(), wanted.double().reshape(out.shape)
    return float(torch.linalg.vector_norm(out - wanted) / torch.linalg.vector_norm(wanted)) if bool(torch.isfinite(out).all()) else float("inf")


def interleaved(torch, calls):
    """Medians of seconds a call, the contestants in turns."""
    repeats = {}
    for name, call in calls.items():
        for _ in range(2):
            call()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        repeats[name] = max(1, min(200, round(SPAN / max(begin.elapsed_time(end) * 1e-3, 1e-6))))
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(repeats[name]):
                call()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end) * 1e-3 / repeats[name])
    return {name: statistics.median(t) for name, t in times.items()}


def measured_pack(pack, log):
    """Has tw-measure run it; how many candidates the log has then."""
    program = os.path.join(os.path.dirname(tw.__file__), "boards/tw-measure-x86_64")
    done = subprocess.run([program, pack, "--log", log], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise OSError(f"tw-measure: {done.stderr[-1200:]}")
    with open(log) as lines:
        return sum('"kind":"trial"' in line for line in lines)


def measure(torch, row, options):
    tensors = row.tensors()
    given = inputs_of(torch, tensors)
    wanted = row.peer(torch, *given)
    out = torch.full(tuple(map(int, tensors[-1].shape)), float("nan"), device="cuda", dtype=getattr(torch, str(tensors[-1].dtype)))
    result = {"row": row.name, "unit": row.unit, "first": row.first}
    functions, calls = {"default": tw.build(tensors, target=row.target)}, {}
    log, begin = os.path.join(options.logs, row.file + ".jsonl"), time.perf_counter()
    task = tw.autotune.Task(tensors, target=row.target)
    try:
        if options.packs:
            result["trials"] = measured_pack(os.path.join(options.packs, row.file + ".twpack"), log)
        elif options.trials:
            result["trials"] = len(tw.autotune.tune(task, trials=options.trials, log=log, progress=False).trials)
        if "trials" in result:
            result["wall"] = time.perf_counter() - begin
            functions["tuned"] = tw.build(task, log=log)
    except (tw.Error, OSError, subprocess.SubprocessError) as e:
        result["tuning"] = str(e)[:1500]
    for name, f in functions.items():
        out.fill_(float("nan"))
        f(*given, out)
        torch.cuda.synchronize()
        result[f"{name} error"] = error(torch, out, wanted)
        if result[f"{name} error"] <= row.tolerance:
            calls[name] = lambda f=f: f(*given, out)
    calls["PyTorch"] = lambda: row.peer(torch, *given)
    if row.peer in (product, product_turned):  # its result stays in the operands' type
        right = given[1].T if row.peer is product_turned else given[1]
        calls["PyTorch"] = lambda: torch.mm(given[0], right)
    source = torch.empty(1 << 28, device="cuda")
    target = torch.empty_like(source)
    if row.against_copy:
        calls["copy"] = lambda: target.copy_(source)
    seconds = interleaved(torch, calls)
    result["seconds"] = seconds
    rate = {name: (8 * (1 << 28) if name == "copy" else row.work) / s for name, s in seconds.items()}
    result["rate"] = rate
    return result


def line(result):
    if "failed" in result:
        return f"{result['row']:44} failed: {result['failed']}"
    scale = 1e12 if result["unit"] == "TFLOP/s" else 1e9
    rate = result["rate"]
    against = "copy" if "copy" in rate else "PyTorch"
    best = max((rate[n] for n in ("tuned", "default") if n in rate), default=0)
    text = f"{result['row']:44} {result['unit']:8}" + "".join(f" {n} {rate[n] / scale:8.1f}" for n in ("tuned", "default", "PyTorch", "copy") if n in rate)
    text += f"  {best / rate[against]:5.2f} x {against} (first: {result['first']:.2f})"
    if "tuned" in rate and "default" in rate:
        text += f", default/tuned {rate['default'] / rate['tuned']:.2f}"
    for n in ("default", "tuned"):
        if f"{n} error" in result and n not in rate:
            text += f", {n} is WRONG by {result[f'{n} error']:.1e}"
    if "wall" in result:
        text += f", {result['trials']} trials in {result['wall']:.1f} s"
    return text + (f"\n    tuning: {result['tuning']}" if "tuning" in result else "")


def overhead(torch):
    """Nanoseconds of a call from Python, beside those of PyTorch's smallest."""
    n = 256
    A = te.placeholder((n,), name="A")
    f = tw.build([A, te.compute((n,), lambda i: A[i] + 1.0, name="B")], target="cuda")
    a, b = torch.zeros(n, device="cuda"), torch.zeros(n, device="cuda")
    found = {}
    for name, call in {"a call of ours": lambda: f(a, b), "torch.add(a, 1, out=b)": lambda: torch.add(a, 1, out=b)}.items():
        best = 1e9
        for _ in range(7):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(500):
                call()
            best = min(best, (time.perf_counter() - begin) / 500)
        found[name] = best
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="parts of names of rows, with commas")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--pack", help="a folder for packs: nothing is measured, and no GPU is needed")
    parser.add_argument("--packs", help="the folder of packs that are measured first")
    parser.add_argument("--logs", help="a folder in which logs stay, and from which tuning goes on")
    parser.add_argument("--json", help="a file for all that was measured")
    options = parser.parse_args()
    rows = [row for row in ROWS if not options.rows or any(part in row.name for part in options.rows.split(","))]
    if options.pack:
        for row in rows:
            print(tw.autotune.pack(tw.autotune.Task(row.tensors(), target=row.target), os.path.join(options.pack, row.file + ".twpack"),
                                   trials=options.trials), flush=True)
        return
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    results = []
    with tempfile.TemporaryDirectory() as folder:
        options.logs = options.logs or folder
        print(f"{tw.device_info()['name']}, PyTorch {torch.__version__}", flush=True)
        for row in rows:
            try:
                results.append(measure(torch, row, options))
            except Exception as e:  # one row shall not cost the others
                results.append({"row": row.name, "failed": f"{type(e).__name__}: {e}"[:1500], "trace": traceback.format_exc()})
            print(line(results[-1]), flush=True)
            torch.cuda.empty_cache()
            if options.json:
                with open(options.json, "w") as out:
                    json.dump(results, out, indent=1, default=str)
        for name, seconds in overhead(torch).items():
            print(f"{name:44} {seconds * 1e9:8.0f} ns from Python")


if __name__ == "__main__":
    main()
