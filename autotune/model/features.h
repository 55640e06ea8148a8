// Features: what a cost model sees of a candidate, made from the facts of its nest (nest_facts.h).
//
// A vector of one length for all tasks, so that what was learned on one helps with another: numbers of the whole
// program, then the same block for each of its three dearest stages. Counts, bytes and times are logarithms; shares and
// flags are as they are. Most blocks are relative to the work, so that they mean the same for other sizes.
#pragma once

#include <string>
#include <vector>

#include "autotune/model/nest_facts.h"

namespace tw::autotune {

// Of the meaning of the vector: what was learned from features of another version is refused.
inline constexpr int kFeatureVersion = 4;

std::vector<float> nest_features(const schedule::Schedule&, const Machine&);
const std::vector<std::string>& nest_feature_names();  // as many as nest_features gives

// What the prior thinks of a candidate with these features: log2 of its throughput, up to a constant.
float prior_of_features(const std::vector<float>& features);

// All that is known of a candidate without lowering it, in one pass.
struct Description {
  std::vector<float> features;
  double estimate = 0;  // seconds, of the prior
  double bound = 0;     // no run takes less
  uint64_t hash = 0;    // of the nest: equal ones lower to the same loops
};
Description description_of(const schedule::Schedule&, const Machine&);

// Floating-point and integer operations of the computation as declared: one per arithmetic node and iteration, none for
// a conversion.
double arithmetic_of(const std::vector<te::Tensor>& outputs);

}  // namespace tw::autotune
