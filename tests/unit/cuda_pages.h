// The programs of tests/golden/cuda that are not refused.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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
    while (std::getline(file, line) && line != "---")
      if (!line.starts_with("#") && !line.starts_with("pass:") && !line.starts_with("target:"))
        page.program += line + "\n";
    std::getline(file, first_of_output);
    if (!first_of_output.starts_with("build:")) all.push_back(page);
  }
  return all;
}

}  // namespace tw::test
