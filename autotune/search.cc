// The searches, and the Proposer that combines one with a model.
#include "autotune/search.h"

#include <algorithm>
#include <cmath>

#include "autotune/knobs.h"

namespace tw::autotune {

namespace {

using IndexSet = std::unordered_set<uint64_t>;

// Distinct indices outside `excluded`, in random order. Small remainders are enumerated: drawing would not end.
std::vector<uint64_t> draw(const SearchState& state, size_t count, Rng& rng, IndexSet taken = {}) {
  const uint64_t size = state.space->size();
  std::vector<uint64_t> out;
  const auto free = [&](uint64_t i) { return !state.excluded.contains(i) && !taken.contains(i); };
  if (size <= 4 * (count + state.excluded.size() + taken.size())) {
    for (uint64_t i = 0; i < size; ++i) {
      if (free(i)) out.push_back(i);
    }
    for (size_t i = out.size(); i > 1; --i) std::swap(out[i - 1], out[rng.below(i)]);
    if (out.size() > count) out.resize(count);
    return out;
  }
  while (out.size() < count) {
    const uint64_t i = rng.below(size);
    if (free(i) && taken.insert(i).second) out.push_back(i);
  }
  return out;
}

class RandomSearch final : public Search {
 public:
  std::vector<uint64_t> pool(const SearchState& state, size_t count, const Score& score, Rng& rng) override {
    return draw(state, score ? 16 * count : count, rng);
  }
};

class GridSearch final : public Search {
 public:
  std::vector<uint64_t> pool(const SearchState& state, size_t count, const Score& score, Rng&) override {
    std::vector<uint64_t> out;
    const size_t wanted = score ? 16 * count : count;
    for (uint64_t i = 0; i < state.space->size() && out.size() < wanted; ++i) {
      if (!state.excluded.contains(i)) out.push_back(i);
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

uint64_t mutate(const Space& space, uint64_t index, Rng& rng) {
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

uint64_t cross(const Space& space, uint64_t a, uint64_t b, Rng& rng) {
  Digits x = space.digits(a);
  const Digits y = space.digits(b);
  for (size_t k = 0; k < x.size(); ++k) {
    if (rng.next() & 1) x[k] = y[k];
  }
  return space.index(x);
}

// Generations of mutation and crossover. With a model its prediction is the fitness; without one, children of the best
// measured candidates are proposed as they come.
class EvolutionarySearch final : public Search {
 public:
  std::vector<uint64_t> pool(const SearchState& state, size_t count, const Score& score, Rng& rng) override {
    if (state.space->knobs().empty() || state.measured.empty()) return draw(state, count, rng);
    std::vector<uint64_t> parents = best_measured(state, std::max<size_t>(8, count));
    return score ? evolve(state, count, parents, score, rng) : offspring(state, count, parents, rng);
  }

 private:
  static constexpr size_t kPopulation = 384;
  static constexpr int kGenerations = 4;

  static std::vector<uint64_t> best_measured(const SearchState& state, size_t count) {
    auto sorted = state.measured;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<uint64_t> out;
    for (const auto& [index, s] : sorted) {
      if (out.size() < count && s > 0) out.push_back(index);
    }
    return out.empty() ? std::vector<uint64_t>{sorted[0].first} : out;
  }

  static uint64_t child(const Space& space, const std::vector<uint64_t>& parents, Rng& rng) {
    const auto pick = [&] {
      return parents[std::min(rng.below(parents.size()), rng.below(parents.size()))];
    };  // leans to the best
    uint64_t c = pick();
    if (rng.uniform() < 0.3) c = cross(space, c, pick(), rng);
    return mutate(space, c, rng);
  }

  static std::vector<uint64_t> offspring(const SearchState& state, size_t count, const std::vector<uint64_t>& parents,
                                         Rng& rng) {
    std::vector<uint64_t> out;
    IndexSet seen;
    for (size_t tries = 0; tries < 50 * count && out.size() < count; ++tries) {
      const uint64_t c = child(*state.space, parents, rng);
      if (!state.excluded.contains(c) && seen.insert(c).second) out.push_back(c);
    }
    for (uint64_t i : draw(state, count - out.size(), rng, seen)) out.push_back(i);
    return out;
  }

  static std::vector<uint64_t> evolve(const SearchState& state, size_t count, const std::vector<uint64_t>& measured,
                                      const Score& score, Rng& rng) {
    std::vector<uint64_t> population = draw(state, kPopulation, rng);
    for (uint64_t i : offspring(state, kPopulation / 2, measured, rng)) population.push_back(i);
    std::vector<std::pair<float, uint64_t>> ranked;
    IndexSet seen;
    for (int g = 0; g < kGenerations; ++g) {
      std::vector<uint64_t> fresh;
      for (uint64_t i : population) {
        if (!state.excluded.contains(i) && seen.insert(i).second) fresh.push_back(i);
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
    for (size_t i = 0; i < std::min(4 * count, ranked.size()); ++i) out.push_back(ranked[i].second);
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

Proposer::Proposer(const Space& space, std::unique_ptr<Search> search, std::unique_ptr<CostModel> model,
                   Features features, Legal legal, uint64_t seed, double explore)
    : space_(space),
      search_(std::move(search)),
      model_(std::move(model)),
      features_of_(std::move(features)),
      legal_(std::move(legal)),
      seed_(seed),
      explore_(explore) {
  state_.space = &space_;
}

const std::vector<float>* Proposer::features(uint64_t index) {
  auto at = features_.find(index);
  if (at == features_.end()) {
    at = features_.emplace(index, features_of_(index)).first;
    if (!at->second) {
      state_.excluded.insert(index);
      ++refused_;
    }
  }
  return at->second ? &*at->second : nullptr;
}

void Proposer::tell(uint64_t index, double seconds) {
  told_.emplace_back(index, seconds);
  state_.excluded.insert(index);
  fitted_ = false;
}

// Scores are throughputs relative to the best: failures are 0, the best is 1.
void Proposer::fit() {
  double best = INFINITY;
  for (const auto& [index, seconds] : told_) best = std::min(best, seconds);
  state_.measured.clear();
  FeatureMatrix rows;
  std::vector<float> scores;
  for (const auto& [index, seconds] : told_) {
    const float score = std::isfinite(seconds) ? static_cast<float>(best / seconds) : 0.0f;
    state_.measured.emplace_back(index, score);
    if (!model_) continue;
    if (const auto* f = features(index)) {
      rows.add(*f);
      scores.push_back(score);
    }
  }
  fitted_ = model_ && !scores.empty() && std::isfinite(best);
  if (fitted_) model_->fit(rows, scores);
}

std::vector<float> Proposer::predict(const std::vector<uint64_t>& indices) {
  std::vector<float> out(indices.size(), -1e9f);
  FeatureMatrix rows;
  std::vector<size_t> legal;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (const auto* f = features(indices[i])) {
      rows.add(*f);
      legal.push_back(i);
    }
  }
  const std::vector<float> scores = model_->predict(rows);
  for (size_t i = 0; i < legal.size(); ++i) out[legal[i]] = scores[i];
  return out;
}

void Proposer::take(const std::vector<uint64_t>& from, size_t until, std::vector<uint64_t>& batch,
                    std::unordered_set<uint64_t>& taken) {
  for (uint64_t i : from) {
    if (batch.size() >= until) return;
    if (state_.excluded.contains(i) || taken.contains(i) || features(i) == nullptr) continue;
    if (!legal_(i)) {
      state_.excluded.insert(i);
      ++refused_;
      continue;
    }
    taken.insert(i);
    batch.push_back(i);
  }
}

std::vector<uint64_t> Proposer::propose(size_t count, uint64_t batch_number) {
  Rng rng(derive_seed(seed_, batch_number));
  fit();
  const Search::Score score =
      fitted_ ? Search::Score([this](const std::vector<uint64_t>& i) { return predict(i); }) : nullptr;
  const size_t explored = fitted_ ? static_cast<size_t>(std::ceil(explore_ * static_cast<double>(count))) : 0;
  std::vector<uint64_t> batch;
  std::unordered_set<uint64_t> taken;
  std::vector<uint64_t> pool = search_->pool(state_, count, score, rng);
  if (score) {
    const std::vector<float> scores = score(pool);
    std::vector<size_t> order(pool.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    std::vector<uint64_t> sorted;
    for (size_t i : order) sorted.push_back(pool[i]);
    pool = std::move(sorted);
  }
  take(pool, count - explored, batch, taken);
  // What the pool did not fill: drawn at random, until the batch is full or the space is exhausted. Refused candidates
  // are excluded as they are met; a space of which almost nothing is legal stops after many of them.
  constexpr size_t kMaxRefusals = 20'000;
  const size_t refused_before = refused_;
  while (batch.size() < count && refused_ - refused_before < kMaxRefusals) {
    const std::vector<uint64_t> more = draw(state_, 4 * count, rng, taken);
    if (more.empty()) break;
    take(more, count, batch, taken);
  }
  return batch;
}

}  // namespace tw::autotune
