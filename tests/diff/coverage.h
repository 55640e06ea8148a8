// What a run has met, and what it should have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/diff/oracles.h"

namespace tw::diff {

struct Tally {
  int64_t pairs = 0, proposed = 0, refused = 0;
  std::map<std::string, int64_t> features;
  Usages oracles;

  void add(const Sample&);
  void add(const Tally&);
};

// Everything that must be met: each Step, tail, dtype, stage kind and oracle, by group.
std::vector<std::pair<std::string, std::vector<std::string>>> expected_coverage();

// The table, and the share of Steps that was refused.
std::string coverage_table(const Tally&, const Judges&);
// Names met less often than 200 times in 100,000 pairs.
std::vector<std::string> rarely_met(const Tally&, const Judges&);

}  // namespace tw::diff
