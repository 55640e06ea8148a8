// Features: what a cost model sees of a candidate. Analytic, from the loop nest, without lowering: tens of microseconds
// each.
//
// A vector of fixed length per task: numbers of the whole program, the same block for each of its two most expensive
// stages, then the knobs themselves. Counts and bytes are logarithms (log2(1 + x)); shares and flags are as they are.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/machine.h"
#include "tensorwright/autotune.h"

namespace tw::autotune {

using schedule::Machine;

std::vector<float> nest_features(const schedule::Schedule&, const Machine&);
const std::vector<std::string>& nest_feature_names();  // as many as nest_features gives

// A split: its numbers, whether it divides, its tail. A knob: the number, or its position. Orders and annotations: each
// axis.
void append_knob_features(const Space&, uint64_t index, std::vector<float>& out);

// Floating-point and integer operations of the computation as declared: one per arithmetic node and iteration.
double arithmetic_of(const std::vector<te::Tensor>& outputs);

}  // namespace tw::autotune
