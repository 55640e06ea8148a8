// Memory that several processes write to. Its size never changes: none of them can take it from under another.
#pragma once

#include <cstddef>

#include "src/support/descriptor.h"

namespace tw::runtime {

class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes);  // zeros; throws tw::Error (kArgument) when there is no memory
  // That of a process which this one believes, also where it may no longer ask the system.
  SharedMemory(support::Descriptor, size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&&) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;

  size_t size() const { return bytes_; }
  std::byte* data() const { return data_; }  // at a page's beginning; null of no bytes
  int descriptor() const { return file_.get(); }

 private:
  void map();

  support::Descriptor file_;
  size_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace tw::runtime
