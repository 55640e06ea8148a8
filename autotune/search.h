// Search: which candidates to measure next. Knows indices, scores and features; nothing of schedules, workers or logs.
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

#include "autotune/cost_model.h"
#include "autotune/rng.h"
#include "tensorwright/autotune.h"

namespace tw::autotune {

// What is known when a batch is proposed.
struct SearchState {
  const Space* space = nullptr;
  std::vector<std::pair<uint64_t, float>> measured;  // index and score (higher is better; failures 0), in order
  std::unordered_set<uint64_t> excluded;             // never proposed: measured, or refused by the schedule's rules
};

// A pool of distinct candidates that are not excluded, best first where the search has an opinion.
class Search {
 public:
  virtual ~Search() = default;
  using Score = std::function<std::vector<float>(const std::vector<uint64_t>&)>;  // empty when there is no model
  virtual std::vector<uint64_t> pool(const SearchState&, size_t count, const Score&, Rng&) = 0;
};
std::unique_ptr<Search> make_search(std::string_view name);  // random, grid, evolutionary; TuneError otherwise

// Search, model and exploration together: ask for a batch, tell what was measured.
class Proposer {
 public:
  // A candidate's features, or nothing if it is refused.
  using Features = std::function<std::optional<std::vector<float>>(uint64_t)>;
  // The last word on a candidate: dearer than its features, so asked of proposals only.
  using Legal = std::function<bool(uint64_t)>;
  Proposer(const Space&, std::unique_ptr<Search>, std::unique_ptr<CostModel>, Features, Legal, uint64_t seed,
           double explore);

  // The next batch: at most `count` distinct legal candidates that were not told yet, fewer only at the end of the
  // space.
  std::vector<uint64_t> propose(size_t count, uint64_t batch);
  void tell(uint64_t index, double seconds);                       // infinity for a failure
  void exclude(uint64_t index) { state_.excluded.insert(index); }  // measured without a verdict
  size_t refused() const { return refused_; }

 private:
  const std::vector<float>* features(uint64_t index);
  std::vector<float> predict(const std::vector<uint64_t>&);
  void fit();
  void take(const std::vector<uint64_t>& from, size_t until, std::vector<uint64_t>& batch,
            std::unordered_set<uint64_t>& taken);

  const Space& space_;
  std::unique_ptr<Search> search_;
  std::unique_ptr<CostModel> model_;
  Features features_of_;
  Legal legal_;
  uint64_t seed_;
  double explore_;
  SearchState state_;
  std::vector<std::pair<uint64_t, double>> told_;
  std::unordered_map<uint64_t, std::optional<std::vector<float>>> features_;
  bool fitted_ = false;
  size_t refused_ = 0;
};

}  // namespace tw::autotune
