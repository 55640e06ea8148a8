// Messages to and from worker processes: a length and that many bytes, over a stream socket, and descriptors that
// travel with them. The other side may be dead, hung or corrupt: lengths are capped before anything is allocated, each
// wait has a deadline, and decoding never throws.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/support/descriptor.h"

namespace tw::runtime {

// Fields are written in order and read in the same order; both sides are of one build, so there are no names in them.
class FrameWriter {
 public:
  FrameWriter& number(int64_t value);
  FrameWriter& real(double value);
  FrameWriter& text(std::string_view value);
  FrameWriter& numbers(const std::vector<int64_t>& values);
  FrameWriter& reals(const std::vector<double>& values);
  const std::string& bytes() const { return bytes_; }

 private:
  void raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string bytes_;
};

// After a field that is not there or too long everything reads as zero or empty, and ok() is false.
class FrameReader {
 public:
  explicit FrameReader(std::string_view bytes) : rest_(bytes) {}
  int64_t number();
  double real();
  std::string text();
  std::vector<int64_t> numbers();
  std::vector<double> reals();
  bool ok() const { return ok_; }
  bool complete() const { return ok_ && rest_.empty(); }

 private:
  std::string_view take(size_t size);
  size_t count(size_t element_bytes);
  std::string_view rest_;
  bool ok_ = true;
};

constexpr size_t kLargestFrame = size_t{64} << 20;
constexpr size_t kMostDescriptors = 4;  // of a frame

enum class Received : uint8_t { kFrame, kClosed, kDeadline, kMalformed };

// False when the other side is gone.
bool send_frame(int socket, const std::string& payload, std::span<const int> descriptors = {});
// Waits until `deadline` (of seconds_now(); infinity: for ever); time for which this process was stopped does not
// count. Where no descriptors are expected, none are taken.
Received receive_frame(int socket, double deadline, std::string& payload,
                       std::vector<support::Descriptor>* descriptors = nullptr);

}  // namespace tw::runtime
