// Cost models: predict how good a candidate is from its features, learning from what was measured.
//
// A model is used by one thread. The same updates in the same order give the same predictions.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tensorwright/error.h"

namespace tw::autotune {

// Rows of equal width, row-major.
struct FeatureMatrix {
  size_t width = 0;
  std::vector<float> values;
  size_t rows() const { return width == 0 ? 0 : values.size() / width; }
  void add(std::span<const float> row) {
    width = row.size();
    values.insert(values.end(), row.begin(), row.end());
  }
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  // All measurements so far: one score per row, higher is better. Replaces what was learned before.
  virtual void fit(const FeatureMatrix&, std::span<const float> scores) = 0;
  // One number per row, comparable with each other only; higher is better. REQUIRES: fit was called.
  virtual std::vector<float> predict(const FeatureMatrix&) = 0;
};

// "none" gives null, "xgb" the learned model or a TuneError where it was not built in, "auto" the best that there is.
std::unique_ptr<CostModel> make_cost_model(std::string_view name, uint64_t seed);

}  // namespace tw::autotune
