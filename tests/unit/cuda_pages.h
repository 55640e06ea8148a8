// The programs of tests/golden/cuda that are not refused, as the emitter gets them: lowered, where the page says so.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/ir/parse.h"
#include "src/lower/pipeline.h"
#include "tests/folders.h"

namespace tw::test {

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
