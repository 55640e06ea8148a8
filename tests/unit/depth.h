// How deep the trees of tests are.
#pragma once

#include <algorithm>

namespace tw::test {

// The depth of a tree that is to be deeper than any user's: `wanted`, or less where a sanitizer's stack ends before.
constexpr int depth(int wanted) {
#if defined(__SANITIZE_THREAD__)
  return std::min(wanted, 50);  // of 65,536 frames, and each allocation keeps those that it was made in
#elif defined(__SANITIZE_ADDRESS__)
  return std::min(wanted, 40000);  // frames are ten times larger
#else
  return wanted;
#endif
}

}  // namespace tw::test
