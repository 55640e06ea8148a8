// Cost models: predict how good a candidate is from its features, learning from what was measured.
//
// A model is used by one thread. The same updates in the same order give the same predictions.
#pragma once

#include <memory>
#include <span>
#include <string>
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

// Candidates, and what the prior thinks of each: log2 of its throughput. A model learns how the prior errs.
struct Candidates {
  FeatureMatrix features;
  std::vector<float> prior;
};

// Measured ones. Scores compare within a group only, which is a task on a machine; the rows of a group stand together.
struct Samples {
  Candidates candidates;
  std::vector<float> scores;     // throughput relative to the group's best; 0 for failures
  std::vector<unsigned> groups;  // rows of each
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  // All measurements of this task so far. Replaces what an earlier fit learned; what `start_from` brought stays.
  virtual void fit(const Samples&) = 0;
  // One number per row, comparable with each other only; higher is better. REQUIRES: fit or start_from was called.
  virtual std::vector<float> predict(const Candidates&) = 0;
  // What was learned, for a model file; and a beginning from such bytes.
  virtual std::string bytes() const = 0;
  virtual void start_from(std::string bytes) = 0;
};

// "none" gives null, "xgb" the learned model or a TuneError where it was not built in, "auto" the best that there is.
std::unique_ptr<CostModel> make_cost_model(std::string_view name, uint64_t seed);

// A model file: a line of JSON that names the version of file and features, then the model's bytes. Reading one of
// another version, a damaged one or one that is none throws TuneError; writing replaces the file in one step.
std::string read_model_file(const std::string& path);
void write_model_file(const std::string& path, const std::string& bytes);

}  // namespace tw::autotune
