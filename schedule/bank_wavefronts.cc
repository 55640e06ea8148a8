#include "schedule/bank_wavefronts.h"

#include <algorithm>
#include <array>
#include <set>

namespace tw::schedule {

int64_t bank_wavefronts(const std::vector<int64_t>& at, int64_t width) {
  constexpr int64_t kBanks = 32, kWord = 4;
  const auto threads = static_cast<int64_t>(at.size());
  const int64_t together = std::max<int64_t>(1, 32 / std::max<int64_t>(1, width / kWord));  // threads of one pass
  std::set<std::set<int64_t>> parts;                                                        // the words of each
  for (int64_t first = 0; first < threads; first += together) {
    std::set<int64_t> words;
    for (int64_t thread = first; thread < std::min(first + together, threads); ++thread) {
      const int64_t begin = at[static_cast<size_t>(thread)];
      for (int64_t word = begin / kWord; word <= (begin + width - 1) / kWord; ++word) words.insert(word);
    }
    parts.insert(std::move(words));
  }
  int64_t passes = 0;
  for (const std::set<int64_t>& words : parts) {
    std::array<int64_t, kBanks> in_bank{};
    for (int64_t word : words) ++in_bank[static_cast<size_t>(word % kBanks)];
    passes += *std::max_element(in_bank.begin(), in_bank.end());
  }
  return passes;
}

}  // namespace tw::schedule
