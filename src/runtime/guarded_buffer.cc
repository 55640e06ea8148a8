#include "src/runtime/guarded_buffer.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace tw::runtime {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kZone = kPage;             // at least, on each side
constexpr size_t kFence = size_t{1} << 20;  // unreadable, on each side; address space only
constexpr size_t kStagger = 320;
constexpr size_t kMisaligned = 16;  // as NumPy's arrays lie: what is fast only when vectors are aligned shall not win
constexpr size_t kHugeFrom = size_t{4} << 20;  // as NumPy does

// Differs from byte to byte, and from the poison.
unsigned char pattern(size_t offset) { return static_cast<unsigned char>(0xA1 ^ (offset * 37)); }

}  // namespace

GuardedBuffer::GuardedBuffer(size_t bytes, size_t place) : bytes_(bytes) {
  const size_t lead = kZone + place % 8 * kStagger + kMisaligned;
  const size_t inside = (lead + bytes + kZone + kPage - 1) / kPage * kPage;
  mapped_ = inside + 2 * kFence;
  void* map = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<unsigned char*>(map);
  zone_begin_ = kFence;
  zone_end_ = kFence + inside;
  if (mprotect(map_ + zone_begin_, inside, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  if (bytes >= kHugeFrom) madvise(map_ + zone_begin_, inside, MADV_HUGEPAGE);
  data_ = map_ + zone_begin_ + lead;
  for (unsigned char* p = map_ + zone_begin_; p < data_; ++p) *p = pattern(static_cast<size_t>(p - map_));
  for (unsigned char* p = data_ + bytes_; p < map_ + zone_end_; ++p) *p = pattern(static_cast<size_t>(p - map_));
}

GuardedBuffer::~GuardedBuffer() {
  if (map_) munmap(map_, mapped_);
}

void GuardedBuffer::upload(const void* source) {
  if (bytes_ > 0) std::memcpy(data_, source, bytes_);
}

void GuardedBuffer::poison(uint8_t byte) {
  if (bytes_ > 0) std::memset(data_, byte, bytes_);
}

// Four chains, as one alone waits for its multiplications.
uint64_t GuardedBuffer::digest() const {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
  uint64_t chains[4] = {1, 2, 3, 4}, rest = 0;
  size_t at = 0;
  for (uint64_t words[4]; at + sizeof words <= bytes_; at += sizeof words) {
    std::memcpy(words, data_ + at, sizeof words);
    for (int c = 0; c < 4; ++c) chains[c] = (chains[c] ^ words[c]) * kOdd;
  }
  for (; at < bytes_; ++at) rest = (rest ^ data_[at]) * kOdd;
  for (const uint64_t chain : chains) rest = (rest ^ (chain >> 29) ^ chain) * kOdd;
  return rest;
}

std::string GuardedBuffer::damage() const {
  for (const unsigned char* p = data_; p-- > map_ + zone_begin_;)
    if (*p != pattern(static_cast<size_t>(p - map_))) return std::to_string(data_ - p) + " bytes before its first";
  for (const unsigned char* p = data_ + bytes_; p < map_ + zone_end_; ++p)
    if (*p != pattern(static_cast<size_t>(p - map_)))
      return std::to_string(p - (data_ + bytes_) + 1) + " bytes after its last";
  return {};
}

}  // namespace tw::runtime
