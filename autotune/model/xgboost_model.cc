// Gradient-boosted trees over the features of a candidate. The only file that sees XGBoost's headers.
//
// Pairs are ranked: which of two candidates of one task is faster, not how fast they are. The trees start from the
// prior's opinion and learn where it errs, so that few measurements suffice. One thread: the result must not depend on
// how sums are split.
#include "autotune/model/xgboost_model.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>

#include "autotune/space/knobs.h"

namespace tw::autotune {

namespace {

constexpr int kRounds = 50, kMaxRounds = 200;
constexpr float kMissing = -1e30f;
constexpr float kPriorWeight = 1.5f;  // of a factor of 2 in the prior's time, in the units of the trees

void check(int code) {
  if (code != 0) tune_error(std::string("the learned model failed: ") + XGBGetLastError());
}

class Matrix {
 public:
  explicit Matrix(const Candidates& c) : Matrix() {  // which has made it: what fails from here on frees it
    check(XGDMatrixCreateFromMat_omp(c.features.values.data(), c.features.rows(), c.features.width, kMissing, &handle_,
                                     1));
    std::vector<float> margins;
    for (float p : c.prior) margins.push_back(kPriorWeight * p);
    check(XGDMatrixSetFloatInfo(handle_, "base_margin", margins.data(), margins.size()));
  }
  ~Matrix() {
    if (handle_ != nullptr) XGDMatrixFree(handle_);
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  DMatrixHandle get() const { return handle_; }

 private:
  Matrix() = default;

  DMatrixHandle handle_ = nullptr;
};

// Times that differ by less than the noise of measuring are no pair: throughput in steps of 3 %, failures below all.
std::vector<float> grades(const std::vector<float>& scores) {
  std::vector<float> out;
  for (float s : scores) out.push_back(s > 0 ? std::max(1.0f, 160 + std::floor(23 * std::log2(s))) : 0);
  return out;
}

class XgboostModel final : public CostModel {
 public:
  explicit XgboostModel(uint64_t seed) : seed_(seed & 0x7fffffff) {}
  ~XgboostModel() override { release(); }

  void fit(const Samples& samples) override {
    release();
    Matrix train(samples.candidates);
    const std::vector<float> labels = grades(samples.scores);
    check(XGDMatrixSetFloatInfo(train.get(), "label", labels.data(), labels.size()));
    check(XGDMatrixSetUIntInfo(train.get(), "group", samples.groups.data(), samples.groups.size()));
    const DMatrixHandle matrices[] = {train.get()};
    create(matrices, 1);
    const int rounds = std::clamp(static_cast<int>(labels.size() / 4), kRounds, kMaxRounds);
    for (int round = 0; round < rounds; ++round) check(XGBoosterUpdateOneIter(booster_, round, train.get()));
  }

  std::vector<float> predict(const Candidates& candidates) override {
    if (candidates.features.rows() == 0) return {};
    if (booster_ == nullptr) create(nullptr, 0);
    Matrix rows(candidates);
    bst_ulong length = 0;
    const float* scores = nullptr;
    check(XGBoosterPredict(booster_, rows.get(), 1, 0, 0, &length, &scores));  // 1: margins
    return {scores, scores + length};
  }

  std::string bytes() const override {
    if (booster_ == nullptr) return base_;
    bst_ulong length = 0;
    const char* data = nullptr;
    check(XGBoosterSaveModelToBuffer(booster_, R"({"format": "ubj"})", &length, &data));
    return {data, length};
  }

  void start_from(std::string bytes) override {
    base_ = std::move(bytes);
    release();
    create(nullptr, 0);  // a damaged one is refused here
  }

 private:
  void create(const DMatrixHandle* matrices, bst_ulong count) {
    check(XGBoosterCreate(matrices, count, &booster_));
    if (!base_.empty()) check(XGBoosterLoadModelFromBuffer(booster_, base_.data(), base_.size()));
    const std::pair<const char*, std::string> parameters[] = {
        {"objective", "rank:pairwise"},
        {"num_pairsample", "8"},
        {"tree_method", "exact"},
        {"nthread", "1"},
        {"verbosity", "0"},
        {"eta", "0.15"},
        {"max_depth", "4"},
        {"min_child_weight", "0.5"},
        {"lambda", "1"},
        {"colsample_bytree", "0.6"},
        {"seed_per_iteration", "1"},  // not of a process's earlier models
        {"seed", std::to_string(seed_)}};
    for (const auto& [name, value] : parameters) check(XGBoosterSetParam(booster_, name, value.c_str()));
  }

  void release() {
    if (booster_ != nullptr) XGBoosterFree(booster_);
    booster_ = nullptr;
  }

  uint64_t seed_;
  std::string base_;
  BoosterHandle booster_ = nullptr;
};

}  // namespace

std::unique_ptr<CostModel> make_xgboost_model(uint64_t seed) { return std::make_unique<XgboostModel>(seed); }

}  // namespace tw::autotune
