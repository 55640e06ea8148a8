// A small generator with the same numbers everywhere.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tw::diff {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(mix(seed)) {}  // mixed: streams of neighbouring seeds share nothing
  uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15ull); }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[below(static_cast<int64_t>(values.size()))];
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int64_t>(values.size()))];
  }

 private:
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

}  // namespace tw::diff
