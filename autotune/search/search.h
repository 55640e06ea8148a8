// Search: which candidates to measure next. Knows indices, scores and descriptions; nothing of workers or logs.
//
// A proposal depends on the seed, the number of the batch and what was told, on nothing else.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autotune/model/cost_model.h"
#include "autotune/model/features.h"
#include "src/support/rng.h"
#include "tensorwright/autotune.h"

namespace tw::autotune {

// What is known when a batch is proposed.
struct SearchState {
  const Space* space = nullptr;
  std::vector<std::pair<uint64_t, float>> measured;  // index and score (higher is better; failures 0), in order
  std::unordered_set<uint64_t> excluded;  // never proposed: measured, refused, pruned, or like a measured one
  uint64_t first = 0, end = 0;            // indices that are proposed at all
  bool open(uint64_t index) const { return index >= first && index < end && !excluded.contains(index); }
};

// A pool of distinct candidates that are not excluded, best first where the search has an opinion.
class Search {
 public:
  virtual ~Search() = default;
  using Score = std::function<std::vector<float>(const std::vector<uint64_t>&)>;  // empty when nothing can rank
  virtual std::vector<uint64_t> pool(const SearchState&, size_t count, const Score&, support::Rng&) = 0;
  virtual bool wants_prior() const { return false; }  // rank by the prior while no model has learned
};
std::unique_ptr<Search> make_search(std::string_view name);  // random, grid, evolutionary; TuneError otherwise

// Distinct indices outside `excluded` and `taken`, in random order; fewer at the end of the space.
std::vector<uint64_t> draw(const SearchState&, size_t count, support::Rng&, std::unordered_set<uint64_t> taken = {});

}  // namespace tw::autotune
