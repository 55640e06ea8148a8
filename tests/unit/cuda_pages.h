// The programs of tests/golden/cuda that are not refused, as the emitter gets them: lowered, where the page says so;
// and one that tests call.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/ir/parse.h"
#include "src/lower/pipeline.h"
#include "tests/folders.h"

namespace tw::test {

// Two launches with scratch between them, the second if there is something to do.
inline constexpr const char* kTwoLaunches = R"(kernel f(A: float32[n], B: out float32[n], n: size):
  alloc scratch: float32[n] global
  for bx in 0..(n + 255) // 256 blockIdx.x:
    for tx in 0..256 threadIdx.x:
      if bx * 256 + tx < n:
        scratch[bx * 256 + tx] = A[bx * 256 + tx] * 2.0
  if n > 1:
    for bx in 0..(n + 255) // 256 blockIdx.x:
      for tx in 0..256 threadIdx.x:
        if bx * 256 + tx < n:
          B[bx * 256 + tx] = scratch[max(bx * 256 + tx - 1, 0)] + 1.0
)";

struct CudaPage {
  std::string name, program;
};

inline std::vector<CudaPage> cuda_pages() {
  std::vector<CudaPage> all;
  for (const auto& entry : std::filesystem::directory_iterator(TW_SOURCE_DIR "/tests/golden/cuda")) {
    CudaPage page{entry.path().stem(), ""};
    std::ifstream file(entry.path());
    std::string line, first_of_output;
    bool lowers = false;
    while (std::getline(file, line) && line != "---") {
      lowers = lowers || line.starts_with("pass: all");
      if (!line.starts_with("#") && !line.starts_with("pass:") && !line.starts_with("target:"))
        page.program += line + "\n";
    }
    std::getline(file, first_of_output);
    if (first_of_output.starts_with("build:")) continue;
    if (lowers)
      page.program =
          ir::to_string(lower::run_pipeline(lower::gpu_passes(), ir::parse_program(page.program).value_or_throw(),
                                            Target::parse("cuda -arch=sm_80").value_or_throw()));
    all.push_back(page);
  }
  return all;
}

}  // namespace tw::test
