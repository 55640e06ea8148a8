// Gradient-boosted trees over the features of a candidate. The only file that sees XGBoost's headers.
//
// Scores are regressed rather than ranked: with a few dozen rows, ranking has too few pairs per group to learn scale
// from, and the scores are normalised throughputs already. One thread: the result must not depend on how sums are
// split.
#include "autotune/xgboost_model.h"

#include <xgboost/c_api.h>

#include <string>

#include "autotune/knobs.h"

namespace tw::autotune {

namespace {

constexpr int kRounds = 60;

void check(int code) {
  if (code != 0) tune_error(std::string("the learned model failed: ") + XGBGetLastError());
}

class Matrix {
 public:
  explicit Matrix(const FeatureMatrix& m) {
    check(XGDMatrixCreateFromMat_omp(m.values.data(), m.rows(), m.width, -1e30f, &handle_, 1));
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  DMatrixHandle get() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

class XgboostModel final : public CostModel {
 public:
  explicit XgboostModel(uint64_t seed) : seed_(seed & 0x7fffffff) {}
  ~XgboostModel() override { release(); }

  void fit(const FeatureMatrix& features, std::span<const float> scores) override {
    release();
    Matrix train(features);
    check(XGDMatrixSetFloatInfo(train.get(), "label", scores.data(), scores.size()));
    const DMatrixHandle matrices[] = {train.get()};
    check(XGBoosterCreate(matrices, 1, &booster_));
    const std::pair<const char*, std::string> parameters[] = {{"objective", "reg:squarederror"},
                                                              {"tree_method", "exact"},
                                                              {"nthread", "1"},
                                                              {"verbosity", "0"},
                                                              {"eta", "0.2"},
                                                              {"max_depth", "5"},
                                                              {"min_child_weight", "1"},
                                                              {"lambda", "0.5"},
                                                              {"gamma", "0.00001"},
                                                              {"base_score", "0.5"},
                                                              {"seed", std::to_string(seed_)}};
    for (const auto& [name, value] : parameters) check(XGBoosterSetParam(booster_, name, value.c_str()));
    for (int round = 0; round < kRounds; ++round) check(XGBoosterUpdateOneIter(booster_, round, train.get()));
  }

  std::vector<float> predict(const FeatureMatrix& features) override {
    TW_CHECK(booster_ != nullptr, "predict before fit");
    if (features.rows() == 0) return {};
    Matrix rows(features);
    bst_ulong length = 0;
    const float* scores = nullptr;
    check(XGBoosterPredict(booster_, rows.get(), 0, 0, 0, &length, &scores));
    return {scores, scores + length};
  }

 private:
  void release() {
    if (booster_ != nullptr) XGBoosterFree(booster_);
    booster_ = nullptr;
  }

  uint64_t seed_;
  BoosterHandle booster_ = nullptr;
};

}  // namespace

std::unique_ptr<CostModel> make_xgboost_model(uint64_t seed) { return std::make_unique<XgboostModel>(seed); }

}  // namespace tw::autotune
