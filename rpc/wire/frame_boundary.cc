#include "rpc/wire/frame_boundary.h"

#include <algorithm>

#include "rpc/wire/frame.h"

namespace tw::rpc {

void FrameBoundary::pass(std::string_view bytes) {
  while (!bytes.empty()) {
    if (payload_left_ == 0) {
      const size_t count = std::min(bytes.size(), kFrameHeaderBytes - header_.size());
      header_ += bytes.substr(0, count);
      bytes.remove_prefix(count);
      if (header_.size() < kFrameHeaderBytes) return;
      payload_left_ = decode_header(header_).bytes;
      header_.clear();
    }
    const size_t count = std::min<uint64_t>(bytes.size(), payload_left_);
    bytes.remove_prefix(count);
    payload_left_ -= count;
  }
}

}  // namespace tw::rpc
