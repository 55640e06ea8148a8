// Files with the bytes of a kernel's arguments, which the processes that measure map instead of receiving them.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/runtime.h"

namespace tw::runtime {

// Where each argument begins: one after the other, each at a multiple of 64 bytes. One more entry: the size of the
// file.
std::vector<size_t> argument_offsets(const std::vector<ArgSpec>&);

// data[i] points to bytes() bytes of argument i. Throws tw::Error when the file cannot be written.
void write_argument_file(const std::string& path, const std::vector<ArgSpec>&, const std::vector<const void*>& data);

// A read-only mapping.
class ArgumentFile {
 public:
  ArgumentFile(const std::string& path, const std::vector<ArgSpec>&);  // throws tw::Error
  ~ArgumentFile();
  ArgumentFile(const ArgumentFile&) = delete;
  ArgumentFile& operator=(const ArgumentFile&) = delete;
  const void* argument(size_t i) const { return static_cast<const char*>(memory_) + offsets_[i]; }

 private:
  std::vector<size_t> offsets_;
  void* memory_ = nullptr;
};

}  // namespace tw::runtime
