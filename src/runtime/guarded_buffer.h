// Memory of this machine for one argument of a candidate, fenced: a patterned zone on both sides shows writes that went
// astray, and the unreadable pages beyond the zones stop those that went further.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/runtime/device.h"
#include "src/runtime/zones.h"

namespace tw::runtime {

class GuardedBuffer final : public DeviceMemory {
 public:
  // Aligned to 16 bytes, as NumPy's arrays are. `place` varies the address within a page, so that buffers of one kernel
  // do not compete for the same cache sets. Throws std::bad_alloc.
  GuardedBuffer(size_t bytes, size_t place);
  ~GuardedBuffer() override;
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  size_t bytes() const override { return bytes_; }
  void* address() const override { return data_; }
  void upload(const void* source) override;
  void poison(uint8_t byte) override;
  uint64_t digest() const override;
  std::string damage() const override;
  const void* contents() const override { return data_; }

 private:
  Zone before() const;
  Zone after() const;

  unsigned char* map_ = nullptr;
  size_t mapped_ = 0;
  unsigned char* data_ = nullptr;
  size_t bytes_ = 0;
  size_t zone_begin_ = 0, zone_end_ = 0;  // offsets in map_ of what may be accessed
};

}  // namespace tw::runtime
