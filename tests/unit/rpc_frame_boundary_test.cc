#include <gtest/gtest.h>

#include <algorithm>

#include "rpc/wire/frame.h"
#include "rpc/wire/frame_boundary.h"
#include "src/support/rng.h"

namespace tw::rpc {
namespace {

std::string frame(uint32_t bytes) {
  const auto header = encode(FrameHeader{bytes, MessageType::kChunk, 3});
  return std::string(header.data(), header.size()) + std::string(bytes, 'x');
}

TEST(FrameBoundaries, AreWhereFramesEndHoweverTheyAreCut) {
  support::Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    std::string all;
    std::vector<size_t> ends = {0};
    for (int i = 0; i < 10; ++i) {
      all += frame(static_cast<uint32_t>(rng.below(3) == 0 ? 0 : rng.below(40)));
      ends.push_back(all.size());
    }
    FrameBoundary boundary;
    for (size_t at = 0; at < all.size();) {
      const size_t count = std::min<size_t>(1 + rng.below(30), all.size() - at);
      boundary.pass(std::string_view(all).substr(at, count));
      at += count;
      EXPECT_EQ(boundary.between(), std::find(ends.begin(), ends.end(), at) != ends.end());
    }
  }
}

}  // namespace
}  // namespace tw::rpc
