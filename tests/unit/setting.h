// A variable of the environment while a test runs.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace tw::test {

class Setting {
 public:
  Setting(const std::string& name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name.c_str())) before_ = before;
    setenv(name.c_str(), value.c_str(), 1);
  }
  ~Setting() { before_ ? setenv(name_.c_str(), before_->c_str(), 1) : unsetenv(name_.c_str()); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace tw::test
