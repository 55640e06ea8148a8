// Whether what passed by ends where a frame does: for who carries bytes on, and once has something to say itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tw::rpc {

class FrameBoundary {
 public:
  void pass(std::string_view bytes);
  bool between() const { return header_.empty() && payload_left_ == 0; }

 private:
  std::string header_;  // of which not all has passed
  uint64_t payload_left_ = 0;
};

}  // namespace tw::rpc
