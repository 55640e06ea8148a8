// Bytes that never change, shared by all who hold them. What a run needs travels as these and never as a path: to
// another process of this machine as a descriptor, which it maps; to another machine as the bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tw {

class Blob {
 public:
  Blob() = default;                           // of no bytes
  explicit Blob(std::string_view bytes);      // copies them; throws tw::Error (kTune) when there is no memory
  static Blob read(const std::string& path);  // what a file holds; throws tw::Error
  size_t size() const { return bytes().size(); }
  std::string_view bytes() const;
  const void* data() const { return bytes().data(); }  // at a page's beginning
  int descriptor() const;                              // for reading; -1 of no bytes

  struct Memory;
  explicit Blob(std::shared_ptr<const Memory> memory) : memory_(std::move(memory)) {}

 private:
  std::shared_ptr<const Memory> memory_;
};

}  // namespace tw
