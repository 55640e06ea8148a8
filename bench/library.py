"""A library of kernels for several CPUs: what choosing the variant costs a call, and choosing by a size, what a call costs beyond
its kernel, and the bytes of a matmul for each CPU."""
import pathlib
import subprocess
import tempfile

import tensorwright as tw

CALLS = """#include "bench.h"
#include <stdio.h>
#include <time.h>
enum { kCalls = 20000000, kRounds = 11 };
static float a[1], c[1];
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }
static double least(double x, double y) { return x < y ? x : y; }
int main(void) {
  struct tw_context context = tensorwright_default_context();
  void* data[3] = {a, c, NULL};
  struct tw_args args;
  double direct = 1, chosen = 1, header = 1, one = 1, sized[4] = {1, 1, 1, 1}, most = 0;
  static const int64_t sizes[4] = {1, 8, 64, 512};
  int64_t n = 1;
  void* sized_data[3] = {a, c, &n};
  struct tw_args sized_args;
  int round, i, s;
  int32_t (*volatile known)(const struct tw_args*, const struct tw_context*) = NULL;
  static int32_t (*const kernels[])(const struct tw_args*, const struct tw_context*) = {
      tw_empty__x86_64_v4, tw_empty__x86_64_v3, tw_empty__x86_64_v2};
  args.size = sizeof args, args.version = TW_ABI_VERSION, args.data = data;
  sized_args = args, sized_args.data = sized_data;
  if (empty_run(a, c) != 0) return 1;
  known = kernels[empty_variant() - 1];
  for (round = 0; round < kRounds; ++round) {
    double begin = now();
    for (i = 0; i < kCalls; ++i) known(&args, &context);
    direct = least(direct, now() - begin);
    begin = now();
    for (i = 0; i < kCalls; ++i) empty_call(&args, &context);
    chosen = least(chosen, now() - begin);
    begin = now();
    for (i = 0; i < kCalls; ++i) empty_run(a, c);
    header = least(header, now() - begin);
    begin = now();
    for (i = 0; i < kCalls; ++i) one_call(&sized_args, &context);
    one = least(one, now() - begin);
    for (s = 0; s < 4; ++s) {
      n = sizes[s];
      begin = now();
      for (i = 0; i < kCalls; ++i) sized_call(&sized_args, &context);
      sized[s] = least(sized[s], now() - begin);
    }
  }
  for (s = 0; s < 4; ++s) most = sized[s] - one > most ? sized[s] - one : most;
  printf("a call by a known pointer     %5.2f ns\\n", direct / kCalls * 1e9);
  printf("choosing among the variants   %5.2f ns more\\n", (chosen - direct) / kCalls * 1e9);
  printf("a call through the header     %5.2f ns more\\n", (header - direct) / kCalls * 1e9);
  printf("choosing among four sizes     %5.2f ns more, at most\\n", most / kCalls * 1e9);
  return 0;
}
"""


def main() -> None:
    program = pathlib.Path(tw.__file__).parents[2] / "bench" / "bench_library"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        (pathlib.Path(folder) / "calls.c").write_text(CALLS)
        subprocess.run(["cc", "-O2", "-o", f"{folder}/calls", f"{folder}/calls.c", f"{folder}/libbench.a"], check=True)
        print("least of 11 interleaved rounds of 20 million calls:", flush=True)
        subprocess.run([f"{folder}/calls"], check=True)


if __name__ == "__main__":
    main()
