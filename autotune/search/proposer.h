// The proposer: search, prior, model, exploration and pruning together. Ask for a batch, tell what was measured.
//
// A batch depends on the seed, its number, what was told and what is under way, on nothing else.
#pragma once

#include <cmath>

#include "autotune/search/search.h"

namespace tw::autotune {

class Proposer {
 public:
  // What is known of a candidate, or nothing if it is refused. Called by several threads at a time.
  using Describe = std::function<std::optional<Description>(uint64_t)>;
  // The last word on a candidate: dearer than its description, so asked of proposals only.
  using Legal = std::function<bool(uint64_t)>;
  Proposer(const Space&, std::unique_ptr<Search>, std::unique_ptr<CostModel>, Describe, Legal, uint64_t seed,
           double explore);

  // Measurements of other tasks, or of a model file: the model starts from them. Before the first batch.
  void start_from(const Samples& earlier);
  void start_from(const std::string& model_bytes);

  // Indices from `first` to `last` only. Before the first batch.
  void limit(uint64_t first, uint64_t last);

  // The next batch: at most `count` distinct legal candidates that were not told yet, fewer only at the end of the
  // space. Those under way, of which nothing is known yet, are not proposed again, nor is what is like them.
  std::vector<uint64_t> propose(size_t count, uint64_t batch, std::span<const uint64_t> under_way = {});
  void tell(uint64_t index, double seconds);                 // infinity for a failure
  void exclude(uint64_t index) { measured_.insert(index); }  // measured without a verdict

  const Description* description_of(uint64_t index);  // null for a refused one
  size_t refused() const { return refused_.size(); }
  // Met and not proposed: their lower bound exceeds the best time; their loops are those of a measured one.
  size_t pruned() const { return pruned_.size(); }
  size_t alike() const { return alike_.size(); }
  // Of the last batch: the ranking had none that should beat the best measured one.
  bool expects_no_gain() const { return expects_no_gain_; }
  // What the model has learned from all that was told and from where it started; empty without a model.
  std::string model_bytes();

 private:
  std::vector<float> score(const std::vector<uint64_t>&);
  void describe(const std::vector<uint64_t>&);
  bool can_rank() const { return fitted_ || started_ || search_->wants_prior(); }
  void fit();
  std::vector<uint64_t> ranked_pool(size_t count, support::Rng&);
  bool is_acceptable(uint64_t index, const Description&);
  void take(const std::vector<uint64_t>& from, size_t until, size_t least_distance, std::vector<uint64_t>& batch,
            std::unordered_set<uint64_t>& taken);
  void leave_out(uint64_t index, std::unordered_set<uint64_t>& reason);
  void forget_descriptions();

  const Space& space_;
  std::unique_ptr<Search> search_;
  std::unique_ptr<CostModel> model_;
  Describe describe_;
  Legal legal_;
  uint64_t seed_;
  double explore_;
  SearchState state_;
  std::vector<std::pair<uint64_t, double>> told_;
  std::unordered_map<uint64_t, std::optional<Description>> descriptions_;
  std::unordered_set<uint64_t> nests_;  // hashes of what was told or stands in the batch
  double best_ = INFINITY;
  bool fitted_ = false, started_ = false, expects_no_gain_ = false;
  std::unordered_set<uint64_t> measured_, refused_, pruned_, alike_;
  size_t left_out_ = 0;  // by this batch
};

}  // namespace tw::autotune
