// Random tensor expressions with random legal schedules, for differential tests: the same seed gives the same sample.
//
// Steps are legal by construction, judged here by the rules of docs/schedule.md and not by asking the schedule; what
// the schedule then refuses is counted, and is a fault of one of the two.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tensorwright/schedule.h"

namespace tw::diff {

struct Sample {
  uint64_t seed = 0;
  std::vector<te::Tensor> outputs, args;
  std::vector<schedule::Step> steps;
  std::set<std::string> features;  // "split", "tail mask", "compute_at", "uneven", ...: what the counts are made of
  bool exact = true;               // integers: results must agree bit for bit
  int proposed = 0, refused = 0;
  std::vector<std::string> refusals;
};

Sample draw(uint64_t seed);

// The expression and the Steps, enough to replay the sample by hand.
std::string describe(const Sample&);

// One block of bytes per argument, in the order of `args`.
using Memory = std::vector<std::vector<std::byte>>;
Memory random_inputs(const Sample&);  // outputs hold a poison

// What differs between two results, or "".
std::string difference(const Sample&, const Memory& expected, const Memory& got);

// Runs a program over a copy of `inputs` in the interpreter.
Result<Memory> interpret(const ir::Program&, const Memory& inputs);

// The sample with the fewest Steps, taken away one by one, for which `fails` still holds.
Sample minimise(const Sample&, const std::function<bool(const Sample&)>& fails);

}  // namespace tw::diff
