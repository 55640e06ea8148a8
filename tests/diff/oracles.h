// Who must agree on a sample. oracles.cc is a table; one line each says what is compared with what.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/diff/sampler.h"

namespace tw::diff {

struct Finding {
  std::string oracle, text;
  bool wrong() const { return !oracle.empty(); }
};

// How many samples each oracle has judged, and how long it took.
struct Usage {
  int64_t count = 0;
  double seconds = 0;
};
using Usages = std::map<std::string, Usage>;

// Counts the sizes of samples at which the loop program takes too long to be judged.
inline constexpr const char* kLeftOut = "left out";

const std::vector<std::string>& oracle_names();

// One finding per sample: the first oracle that disagrees. Programs of several samples are compiled together.
std::vector<Finding> check(std::span<const Sample>, Usages&);
Finding check(const Sample&);

// The first pass after which the interpreter does not give the definition's result any more; "to_ir" or "code
// generation" where no pass is at fault.
std::string culprit(const Sample&);

}  // namespace tw::diff
