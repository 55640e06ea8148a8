// Memory for one argument of a candidate, fenced: a patterned zone on both sides shows writes that went astray, and the
// unreadable pages beyond the zones stop those that went further.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tw::runtime {

class GuardedBuffer {
 public:
  // Aligned to 16 bytes, as NumPy's arrays are. `place` varies the address within a page, so that buffers of one kernel
  // do not compete for the same cache sets. Throws std::bad_alloc.
  GuardedBuffer(size_t bytes, size_t place);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  void fill(const void* source);
  void poison(uint8_t byte);
  // "" while both zones are as they were; else which byte was written: "3 bytes before its first".
  std::string damage() const;

 private:
  unsigned char* map_ = nullptr;
  size_t mapped_ = 0;
  unsigned char* data_ = nullptr;
  size_t bytes_ = 0;
  size_t zone_begin_ = 0, zone_end_ = 0;  // offsets in map_ of what may be accessed
};

}  // namespace tw::runtime
