// How deep the trees of tests are.
#pragma once

namespace tw::test {

// A tree that is to be deeper than any user's, `depth` in all; less where a sanitizer's stack ends before.
constexpr int depth(int depth) {
#if defined(__SANITIZE_THREAD__)
  return depth / 100;  // 65,536 frames in all
#elif defined(__SANITIZE_ADDRESS__)
  return depth / 10;  // frames are ten times larger
#else
  return depth;
#endif
}

}  // namespace tw::test
