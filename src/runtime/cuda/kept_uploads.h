// What requests bring to the device, kept there for the next one: candidates of a task have the same inputs and the
// same reference, and a gigabyte takes a GPU less than a millisecond where the host takes a second.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "src/runtime/cuda/guarded_memory.h"
#include "tensorwright/runtime.h"

namespace tw::runtime::cuda {

class KeptUploads {
 public:
  explicit KeptUploads(int ordinal);  // throws kTarget where there is no such device
  ~KeptUploads();
  KeptUploads(const KeptUploads&) = delete;
  KeptUploads& operator=(const KeptUploads&) = delete;

  // From here on what is uploaded are bytes of its blobs; those of others are forgotten.
  void serve(const RunRequest&);
  // Where on the device these bytes of the host are, which no kernel may write to; nothing where they are none of a
  // blob's, all that is kept would be more than an eighth of the device's memory, or there is no room for it.
  std::optional<Address> find(const void* source, size_t bytes);
  // Keeps nothing more, for who needs the memory.
  void give_way();

 private:
  struct Kept {
    Blob of;
    size_t offset;
    std::unique_ptr<GuardedMemory> memory;
  };

  std::unique_ptr<GuardedMemory> memory_of(size_t bytes) const;  // null where there is no room

  const GpuDevice& device_;
  Stream stream_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Blob> served_;  // by the request at hand
  std::vector<Kept> kept_;
};

}  // namespace tw::runtime::cuda
