// How many blocks and threads a launch may have: the same of every device that there is a target for.
#pragma once

#include <array>
#include <cstdint>

namespace tw::support {

inline constexpr int64_t kMostThreadsOfBlock = 1024;
// Along x, y and z.
inline constexpr std::array<int64_t, 3> kMostBlocksAlong = {2147483647, 65535, 65535};
inline constexpr std::array<int64_t, 3> kMostThreadsAlong = {kMostThreadsOfBlock, kMostThreadsOfBlock, 64};

}  // namespace tw::support
