// A context over oneTBB: a kernel's parallel loops are tasks of the arena that calls it.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cstdio>
#include <vector>

#include "dense_arrays.h"
#include "kernels.h"

int main() {
  tw_context context = tensorwright_default_context();
  context.parallel_for = [](const tw_context*, int64_t n, int32_t (*body)(int64_t, int64_t, void*), void* closure) {
    std::atomic<int32_t> failed{0};
    tbb::parallel_for(tbb::blocked_range<int64_t>(0, n), [&](const tbb::blocked_range<int64_t>& part) {
      if (const int32_t code = body(part.begin(), part.end(), closure)) failed = code;
    });
    return failed.load();
  };
  fill_arrays();
  std::vector<float> d(M * N);
  const int32_t code = acme_dense_run_in(&context, a, b, bias, d.data());
  if (code != 0) return std::printf("code %d\n", static_cast<int>(code)), 1;
  std::printf("%s\n", is_right(d.data()) ? "right" : "wrong");
}
