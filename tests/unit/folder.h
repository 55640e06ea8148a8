// A folder of its own for each test that writes files: tests run side by side, each in its own process.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace tw::test {

// Goes with the object.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "tw_test_XXXXXX") {
    if (!mkdtemp(path_.data())) throw std::runtime_error("mkdtemp " + path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tw::test
