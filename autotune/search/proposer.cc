// Batches.
#include "autotune/search/proposer.h"

#include <algorithm>
#include <cmath>

#include "autotune/model/device_prior.h"
#include "src/support/deep_stack.h"
#include "src/support/in_parallel.h"

namespace tw::autotune {

namespace {

constexpr float kUnwanted = -1e9f;
constexpr size_t kMaxDescriptions = 50'000;

float prior_of(const Description& d) { return d.estimate > 0 ? static_cast<float>(-std::log2(d.estimate)) : 0; }

size_t distance(const Digits& a, const Digits& b) {
  size_t differing = 0;
  for (size_t k = 0; k < a.size(); ++k) differing += a[k] != b[k];
  return differing;
}

}  // namespace

Proposer::Proposer(const Space& space, std::unique_ptr<Search> search, std::unique_ptr<CostModel> model,
                   Describe describe, Legal legal, uint64_t seed, double explore)
    : space_(space),
      search_(std::move(search)),
      model_(std::move(model)),
      describe_(std::move(describe)),
      legal_(std::move(legal)),
      seed_(seed),
      explore_(explore) {
  state_.space = &space_;
  state_.end = space_.size();
}

void Proposer::start_from(const Samples& earlier) {
  if (!model_ || earlier.scores.empty()) return;
  model_->fit(earlier);
  model_->start_from(model_->bytes());
  started_ = true;
}

void Proposer::start_from(const std::string& model_bytes) {
  if (!model_) return;
  model_->start_from(model_bytes);
  started_ = true;
}

std::string Proposer::model_bytes() {
  if (!fitted_) fit();
  return model_ ? model_->bytes() : std::string();
}

const Description* Proposer::description_of(uint64_t index) {
  auto at = descriptions_.find(index);
  if (at == descriptions_.end()) at = descriptions_.emplace(index, describe_(index)).first;
  if (at->second) return &*at->second;
  leave_out(index, refused_);
  return nullptr;
}

// Most of a proposal's time goes here.
void Proposer::describe(const std::vector<uint64_t>& indices) {
  std::vector<uint64_t> fresh;
  for (const uint64_t index : indices)
    if (!descriptions_.contains(index)) fresh.push_back(index);
  std::vector<std::optional<Description>> made(fresh.size());
  support::in_parallel(fresh.size(), support::threads_for_work(), [&](size_t i) { made[i] = describe_(fresh[i]); });
  for (size_t i = 0; i < fresh.size(); ++i) descriptions_.emplace(fresh[i], std::move(made[i]));
}

void Proposer::leave_out(uint64_t index, std::unordered_set<uint64_t>& reason) {
  reason.insert(index);
  left_out_ += state_.excluded.insert(index).second;
}

// Of candidates that were met and not told; a long run meets millions.
void Proposer::forget_descriptions() {
  if (descriptions_.size() < kMaxDescriptions) return;
  std::unordered_map<uint64_t, std::optional<Description>> kept;
  for (const auto& [index, seconds] : told_) {
    if (auto at = descriptions_.find(index); at != descriptions_.end()) kept.insert(std::move(*at));
  }
  descriptions_ = std::move(kept);
}

void Proposer::limit(uint64_t first, uint64_t last) {
  state_.first = first;
  state_.end = last + 1;
}

void Proposer::tell(uint64_t index, double seconds) {
  told_.emplace_back(index, seconds);
  measured_.insert(index);
  best_ = std::min(best_, seconds);
  fitted_ = false;
}

// Scores are throughputs relative to the best: failures are 0, the best is 1.
void Proposer::fit() {
  state_.measured.clear();
  nests_.clear();
  Samples samples;
  for (const auto& [index, seconds] : told_) {
    const float score = std::isfinite(seconds) ? static_cast<float>(best_ / seconds) : 0.0f;
    state_.measured.emplace_back(index, score);
    const Description* d = description_of(index);
    if (d == nullptr) continue;
    nests_.insert(d->hash);
    samples.candidates.features.add(d->features);
    samples.candidates.prior.push_back(prior_of(*d));
    samples.scores.push_back(score);
  }
  fitted_ = model_ && !samples.scores.empty() && std::isfinite(best_);
  if (!fitted_) return;
  samples.groups = {static_cast<unsigned>(samples.scores.size())};
  model_->fit(samples);
}

// By the model, or by the prior while there is none; refused ones and those that cannot win come last.
std::vector<float> Proposer::score(const std::vector<uint64_t>& indices) {
  std::vector<float> out(indices.size(), kUnwanted);
  Candidates candidates;
  std::vector<size_t> at;
  describe(indices);
  for (size_t i = 0; i < indices.size(); ++i) {
    const Description* d = description_of(indices[i]);
    if (d == nullptr || d->bound > best_ || (d->hash != 0 && nests_.contains(d->hash))) continue;
    candidates.features.add(d->features);
    candidates.prior.push_back(prior_of(*d));
    at.push_back(i);
  }
  const std::vector<float> scores = fitted_ || started_ ? model_->predict(candidates) : candidates.prior;
  for (size_t i = 0; i < at.size(); ++i) out[at[i]] = scores[i];
  return out;
}

// Best first. Notes whether any should beat what was measured.
std::vector<uint64_t> Proposer::ranked_pool(size_t count, support::Rng& rng) {
  Search::Score scores_of;
  if (can_rank()) scores_of = [this](const std::vector<uint64_t>& i) { return score(i); };
  const std::vector<uint64_t> pool = search_->pool(state_, count, scores_of, rng);
  expects_no_gain_ = false;
  if (!scores_of) return pool;
  const std::vector<float> scores = score(pool);
  std::vector<size_t> order(pool.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<uint64_t> sorted;
  for (size_t i : order) sorted.push_back(pool[i]);
  if (fitted_ && !order.empty()) {
    const auto best = std::find_if(told_.begin(), told_.end(), [&](const auto& t) { return t.second == best_; });
    const Description* d = description_of(best->first);
    if (d != nullptr) {
      Candidates one;
      one.features.add(d->features);
      one.prior.push_back(prior_of(*d));
      expects_no_gain_ = scores[order[0]] <= model_->predict(one)[0];
    }
  }
  return sorted;
}

// Not what cannot win, what is a measured one under another name, and what the schedule's rules or the device refuse.
bool Proposer::is_acceptable(uint64_t index, const Description& d) {
  std::unordered_set<uint64_t>* reason = nullptr;
  if (d.bound > best_)
    reason = &pruned_;
  else if (d.hash != 0 && nests_.contains(d.hash))
    reason = &alike_;
  else if (d.estimate >= kNever || refused_.contains(index) || !legal_(index))
    reason = &refused_;
  if (reason == nullptr) return true;
  leave_out(index, *reason);
  return false;
}

// Fills the batch from `from`, leaving out what differs from one that stands in it by fewer knobs than asked.
void Proposer::take(const std::vector<uint64_t>& from, size_t until, size_t least_distance,
                    std::vector<uint64_t>& batch, std::unordered_set<uint64_t>& taken) {
  for (uint64_t i : from) {
    if (batch.size() >= until) return;
    if (state_.excluded.contains(i) || taken.contains(i)) continue;
    const Description* d = description_of(i);
    if (d == nullptr) continue;
    const Digits digits = space_.digits(i);
    const auto near = [&](uint64_t other) { return distance(digits, space_.digits(other)) < least_distance; };
    if (least_distance > 1 && std::any_of(batch.begin(), batch.end(), near)) continue;
    if (!is_acceptable(i, *d)) continue;
    if (d->hash != 0) nests_.insert(d->hash);
    taken.insert(i);
    batch.push_back(i);
  }
}

std::vector<uint64_t> Proposer::propose(size_t count, uint64_t batch_number, std::span<const uint64_t> under_way) {
  return support::with_deep_stack([&] {  // once, and not for each Step that wants one
    support::Rng rng(support::derive_seed(seed_, batch_number));
    forget_descriptions();
    state_.excluded = measured_;  // and not what earlier batches left out, which a run that continues has not met
    state_.excluded.insert(under_way.begin(), under_way.end());
    left_out_ = 0;
    fit();
    for (const uint64_t index : under_way)
      if (const Description* d = description_of(index)) nests_.insert(d->hash);
    const size_t explored = fitted_ ? static_cast<size_t>(std::ceil(explore_ * static_cast<double>(count))) : 0;
    std::vector<uint64_t> batch;
    std::unordered_set<uint64_t> taken;
    const std::vector<uint64_t> pool = ranked_pool(count, rng);
    const size_t apart = can_rank() && space_.knobs().size() >= 4 ? (told_.empty() ? 3 : 2) : 1;
    for (size_t least = apart; least > 0; --least) take(pool, count - explored, least, batch, taken);
    // What the pool did not fill: drawn at random, until the batch is full or the space is exhausted. What is
    // left out is excluded as it is met; a space of which almost nothing is legal stops after many of them.
    constexpr size_t kMaxRefusals = 20'000;
    while (batch.size() < count && left_out_ < kMaxRefusals) {
      const std::vector<uint64_t> more = draw(state_, 4 * count, rng, taken);
      if (more.empty()) break;
      take(more, count, 1, batch, taken);
    }
    return batch;
  });
}

}  // namespace tw::autotune
