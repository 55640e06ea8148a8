// How blobs are made, and taken from other processes.
#pragma once

#include <optional>

#include "src/support/descriptor.h"
#include "tensorwright/blob.h"

namespace tw::runtime {

// The bytes of a blob to be: zeros that its maker writes over. Throws tw::Error when there is no memory.
class Draft {
 public:
  explicit Draft(size_t bytes);
  ~Draft();
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  std::byte* data() const { return data_; }
  Blob finish() &&;  // nobody can write the bytes from here on

 private:
  size_t bytes_;
  support::Descriptor file_;
  std::byte* data_ = nullptr;
};

// The blob of another process, which says that it has so many bytes: nothing where it has not, or where somebody can
// still write to it or cut it short.
std::optional<Blob> adopt_blob(support::Descriptor, size_t bytes);

}  // namespace tw::runtime
