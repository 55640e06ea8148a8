// Writing files whole: what stood at a path is replaced at once, or stays as it was.
#pragma once

#include <string>
#include <string_view>

namespace tw::support {

// A new file beside the one at `path`, with its mode, that takes its place when it is kept and is removed otherwise. It
// is of this object alone: several for one path do not meet, and the last one stays. A link stays one, and what is no
// regular file, as a pipe or a device, is written to itself.
class Replacement {
 public:
  explicit Replacement(const std::string& path);
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(std::string_view bytes);  // appends
  void sync();                         // that it is on the disk before it takes the place
  // The first of them, as errno has it, or 0: after that nothing is done.
  int error() const { return error_; }
  // Returns error().
  int keep();
  const std::string& path() const { return path_; }  // for who writes otherwise

 private:
  void open();
  void check(bool done);
  bool to_itself() const { return path_ == target_; }

  std::string target_, path_;
  unsigned mode_ = 0;  // of the file that is there; 0: none is
  int fd_ = -1, error_ = 0;
};

// 0, or why not, as errno has it.
int replace_file(const std::string& path, std::string_view bytes);

}  // namespace tw::support
