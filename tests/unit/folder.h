// A folder of its own for each test that writes files: tests run side by side, each in its own process.
#pragma once

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/support/temporary_folder.h"

namespace tw::test {

class Folder : public support::TemporaryFolder {
 public:
  Folder() : TemporaryFolder("tensorwright-test") {
    if (!usable()) throw std::runtime_error("no folder can be made for a test: TMPDIR may name one");
  }
  // Names of what a test has put there, in order; those that begin with a dot are the folder's own.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path()))
      if (const std::string name = entry.path().filename(); name[0] != '.') names.push_back(name);
    std::ranges::sort(names);
    return names;
  }
};

}  // namespace tw::test
