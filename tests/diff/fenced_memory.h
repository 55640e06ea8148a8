// Memory for one argument with an untouchable page right behind its last byte, or right before its first: reading one
// byte outside ends the process.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <span>

namespace tw::diff {

class FencedMemory {
 public:
  FencedMemory(std::span<const std::byte> bytes, bool at_end) {
    const size_t inside = (bytes.size() + kPage - 1) / kPage * kPage;
    mapped_ = inside + 2 * kPage;
    void* map = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) throw std::bad_alloc();
    map_ = static_cast<std::byte*>(map);
    if (inside > 0 && mprotect(map_ + kPage, inside, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = map_ + kPage + (at_end ? inside - bytes.size() : 0);
    if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
  }
  ~FencedMemory() { munmap(map_, mapped_); }
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;

  void* data() const { return data_; }

 private:
  static constexpr size_t kPage = 4096;
  std::byte *map_ = nullptr, *data_ = nullptr;
  size_t mapped_ = 0;
};

}  // namespace tw::diff
