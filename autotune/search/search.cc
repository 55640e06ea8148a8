// The searches: random, in order, and generations of mutation and crossover.
#include "autotune/search/search.h"

#include <algorithm>

#include "autotune/space/knobs.h"

namespace tw::autotune {

using IndexSet = std::unordered_set<uint64_t>;

// Small remainders are enumerated: drawing would not end.
std::vector<uint64_t> draw(const SearchState& state, size_t count, support::Rng& rng, IndexSet taken) {
  const uint64_t size = state.end - state.first;
  std::vector<uint64_t> out;
  const auto free = [&](uint64_t i) { return state.open(i) && !taken.contains(i); };
  if (size <= 4 * (count + state.excluded.size() + taken.size())) {
    for (uint64_t i = state.first; i < state.end; ++i) {
      if (free(i)) out.push_back(i);
    }
    for (size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[rng.below(i)]);
    if (out.size() > count) out.resize(count);
    return out;
  }
  while (out.size() < count) {
    const uint64_t i = state.first + rng.below(size);
    if (free(i) && taken.insert(i).second) out.push_back(i);
  }
  return out;
}

namespace {

class RandomSearch final : public Search {
 public:
  std::vector<uint64_t> pool(const SearchState& state, size_t count, const Score& score, support::Rng& rng) override {
    return draw(state, score ? 16 * count : count, rng);
  }
};

class GridSearch final : public Search {
 public:
  std::vector<uint64_t> pool(const SearchState& state, size_t count, const Score& score, support::Rng&) override {
    std::vector<uint64_t> out;
    const size_t wanted = score ? 16 * count : count;
    for (uint64_t i = state.first; i < state.end && out.size() < wanted; ++i) {
      if (state.open(i)) out.push_back(i);
    }
    return out;
  }
};

// Two values of a knob are near when they differ in one of their numbers or in the tail only.
bool near(const KnobValue& a, const KnobValue& b) {
  if (a.numbers.size() != b.numbers.size() || a.text != b.text) return false;
  int differing = a.tail != b.tail;
  // The outermost number of a split follows from the others.
  for (size_t i = a.numbers.size() > 1 ? 1 : 0; i < a.numbers.size(); ++i) differing += a.numbers[i] != b.numbers[i];
  return differing <= 1;
}

uint64_t mutate(const Space& space, uint64_t index, support::Rng& rng) {
  Digits digits = space.digits(index);
  const int changes = rng.uniform() < 0.7 ? 1 : 2;
  for (int c = 0; c < changes; ++c) {
    const size_t k = rng.below(digits.size());
    const std::vector<KnobValue>& values = space.knobs()[k].values;
    const KnobValue& old = values[digits[k]];
    uint32_t next = static_cast<uint32_t>(rng.below(values.size()));
    // A few tries for a near value; one in three mutations jumps anywhere.
    for (int tries = 0; tries < 64 && c == 0 && rng.uniform() > 0.02 && !near(values[next], old); ++tries) {
      next = static_cast<uint32_t>(rng.below(values.size()));
    }
    digits[k] = next;
  }
  return space.index(digits);
}

uint64_t cross(const Space& space, uint64_t a, uint64_t b, support::Rng& rng) {
  Digits x = space.digits(a);
  const Digits y = space.digits(b);
  for (size_t k = 0; k < x.size(); ++k) {
    if (rng.next() & 1) x[k] = y[k];
  }
  return space.index(x);
}

// Generations of mutation and crossover. Fitness is what the model predicts, or the prior before it has learned;
// without either, children of the best measured candidates are proposed as they come.
class EvolutionarySearch final : public Search {
 public:
  bool wants_prior() const override { return true; }
  std::vector<uint64_t> pool(const SearchState& state, size_t count, const Score& score, support::Rng& rng) override {
    if (state.space->knobs().empty()) return draw(state, count, rng);
    std::vector<uint64_t> parents;
    if (!state.measured.empty()) parents = best_measured(state, std::max<size_t>(8, count));
    if (score) return evolve(state, count, parents, score, rng);
    return parents.empty() ? draw(state, count, rng) : offspring(state, count, parents, rng);
  }

 private:
  static constexpr size_t kPopulation = 384;
  static constexpr int kGenerations = 4;
  static constexpr size_t kPoolPerProposal = 16;  // of which the best are taken that are not alike

  static std::vector<uint64_t> best_measured(const SearchState& state, size_t count) {
    auto sorted = state.measured;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<uint64_t> out;
    for (const auto& [index, s] : sorted) {
      if (out.size() < count && s > 0) out.push_back(index);
    }
    return out.empty() ? std::vector<uint64_t>{sorted[0].first} : out;
  }

  static uint64_t child(const Space& space, const std::vector<uint64_t>& parents, support::Rng& rng) {
    const auto pick = [&] {
      return parents[std::min(rng.below(parents.size()), rng.below(parents.size()))];
    };  // leans to the best
    uint64_t c = pick();
    if (rng.uniform() < 0.3) c = cross(space, c, pick(), rng);
    return mutate(space, c, rng);
  }

  static std::vector<uint64_t> offspring(const SearchState& state, size_t count, const std::vector<uint64_t>& parents,
                                         support::Rng& rng) {
    std::vector<uint64_t> out;
    IndexSet seen;
    for (size_t tries = 0; tries < 50 * count && out.size() < count; ++tries) {
      const uint64_t c = child(*state.space, parents, rng);
      if (state.open(c) && seen.insert(c).second) out.push_back(c);
    }
    for (uint64_t i : draw(state, count - out.size(), rng, seen)) out.push_back(i);
    return out;
  }

  static std::vector<uint64_t> evolve(const SearchState& state, size_t count, const std::vector<uint64_t>& measured,
                                      const Score& score, support::Rng& rng) {
    std::vector<uint64_t> population = draw(state, measured.empty() ? 2 * kPopulation : kPopulation, rng);
    if (!measured.empty()) {
      for (uint64_t i : offspring(state, kPopulation / 2, measured, rng)) population.push_back(i);
    }
    std::vector<std::pair<float, uint64_t>> ranked;
    IndexSet seen;
    for (int g = 0; g < kGenerations; ++g) {
      std::vector<uint64_t> fresh;
      for (uint64_t i : population) {
        if (state.open(i) && seen.insert(i).second) fresh.push_back(i);
      }
      const std::vector<float> scores = score(fresh);
      for (size_t i = 0; i < fresh.size(); ++i) ranked.emplace_back(scores[i], fresh[i]);
      std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
      });
      if (ranked.size() > kPopulation) ranked.resize(kPopulation);
      std::vector<uint64_t> parents;
      for (size_t i = 0; i < std::min<size_t>(64, ranked.size()); ++i) parents.push_back(ranked[i].second);
      population.clear();
      for (size_t i = 0; i < kPopulation && !parents.empty(); ++i)
        population.push_back(child(*state.space, parents, rng));
    }
    std::vector<uint64_t> out;
    for (size_t i = 0; i < std::min(kPoolPerProposal * count, ranked.size()); ++i) out.push_back(ranked[i].second);
    return out;
  }
};

}  // namespace

std::unique_ptr<Search> make_search(std::string_view name) {
  if (name == "random") return std::make_unique<RandomSearch>();
  if (name == "grid") return std::make_unique<GridSearch>();
  if (name == "evolutionary") return std::make_unique<EvolutionarySearch>();
  tune_error("search must be \"random\", \"grid\" or \"evolutionary\", not \"" + std::string(name) + "\"");
}

}  // namespace tw::autotune
