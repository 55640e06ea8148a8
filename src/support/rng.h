// Random numbers that are the same on every machine and standard library: decisions of the tuner are reproducible.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace tw::support {

// SplitMix64 (Steele, Lea, Flood 2014).
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += kStep);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64); }
  void skip(uint64_t n) { state_ += n * kStep; }  // as many calls of next
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // 0 <= x < 1

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15ull;
  uint64_t state_;
};

// A seed for the b-th part of what `seed` decides.
inline uint64_t derive_seed(uint64_t seed, uint64_t b) { return Rng(seed ^ (b * 0xd1342543de82ef95ull + 1)).next(); }

}  // namespace tw::support
