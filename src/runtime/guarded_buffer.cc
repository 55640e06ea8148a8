#include "src/runtime/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "src/runtime/zones.h"

namespace tw::runtime {
namespace {

constexpr size_t kZone = 4096;              // at least, on each side
constexpr size_t kFence = size_t{1} << 20;  // unreadable, on each side; address space only
constexpr size_t kStagger = 320;
constexpr size_t kMisaligned = 16;  // as NumPy's arrays lie: what is fast only when vectors are aligned shall not win
constexpr size_t kHugeFrom = size_t{4} << 20;  // as NumPy does

size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }  // 64 KiB with some kernels for AArch64

}  // namespace

GuardedBuffer::GuardedBuffer(size_t bytes, size_t place) : bytes_(bytes) {
  const size_t lead = kZone + place % 8 * kStagger + kMisaligned;
  const size_t inside = (lead + bytes + kZone + page() - 1) / page() * page();
  mapped_ = inside + 2 * kFence;
  void* map = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<unsigned char*>(map);
  zone_begin_ = kFence;
  zone_end_ = kFence + inside;
  if (mprotect(map_ + zone_begin_, inside, PROT_READ | PROT_WRITE) != 0) {
    munmap(map_, mapped_);
    throw std::bad_alloc();
  }
  if (bytes >= kHugeFrom) madvise(map_ + zone_begin_, inside, MADV_HUGEPAGE);
  data_ = map_ + zone_begin_ + lead;
  mark_zone(before());
  mark_zone(after());
}

Zone GuardedBuffer::before() const { return {map_ + zone_begin_, data_}; }
Zone GuardedBuffer::after() const { return {data_ + bytes_, map_ + zone_end_}; }

GuardedBuffer::~GuardedBuffer() {
  if (map_) munmap(map_, mapped_);
}

void GuardedBuffer::upload(const void* source) {
  if (bytes_ > 0) std::memcpy(data_, source, bytes_);
}

void GuardedBuffer::poison(uint8_t byte) {
  if (bytes_ > 0) std::memset(data_, byte, bytes_);
}

uint64_t GuardedBuffer::digest() const { return digest_of(data_, bytes_); }

std::string GuardedBuffer::damage() const { return damage_of_zones(before(), after()); }

}  // namespace tw::runtime
