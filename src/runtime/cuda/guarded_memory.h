// Memory of a GPU for one argument of a candidate. It ends where its pages do, and what is read or written beyond is
// mapped to nothing; in front of it is a patterned zone, which shows what was written there. Once it has moved it
// begins where its pages do, and the zone is behind it. Up to 255 bytes between it and its last page are such a zone.
#pragma once

#include <memory>

#include "src/runtime/cuda/device.h"
#include "src/runtime/device.h"
#include "src/runtime/zones.h"

namespace tw::runtime::cuda {

class KeptUploads;

class GuardedMemory final : public DeviceMemory {
 public:
  // On the stream, which all of it waits for; what `uploads` keeps is not brought again. Aligned to 256 bytes, as the
  // driver's own allocations are. Throws kArgument, with what there is, where there is not as much; DeviceLost, as all
  // that follows.
  GuardedMemory(const GpuDevice&, Stream, size_t bytes, KeptUploads* uploads = nullptr);
  ~GuardedMemory() override;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  size_t bytes() const override { return bytes_; }
  void* address() const override { return reinterpret_cast<void*>(data_); }
  void upload(const void* source) override;
  void poison(uint8_t byte) override;
  uint64_t digest() const override;
  std::string damage() const override;
  const void* contents() const override;  // a copy, which lasts until the next one is asked for
  void move() override;
  void make_readonly();  // for kernels, where the driver can

 private:
  struct Unmapped {};
  GuardedMemory(const GpuDevice&, Stream, size_t bytes, KeptUploads* uploads, Unmapped);
  void map_pages();
  void mark_zones();
  Address first_page() const { return reserved_ + fence_; }
  size_t bytes_before() const;
  size_t bytes_after() const;
  void write(Address to, const void* from, size_t bytes);
  void read(void* to, Address from, size_t bytes) const;
  void finish() const;

  const GpuDevice& device_;
  const Stream stream_;
  const size_t bytes_;
  KeptUploads* const uploads_;
  size_t mapped_ = 0, fence_ = 0;  // bytes with memory; without, on each side
  Address reserved_ = 0, data_ = 0;
  bool is_mapped_ = false;
  mutable std::unique_ptr<unsigned char[]> copy_;
};

}  // namespace tw::runtime::cuda
