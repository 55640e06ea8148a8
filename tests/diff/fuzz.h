// Pairs of an expression and a schedule by the thousand, in worker processes: what kills a worker is a finding too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/diff/coverage.h"

namespace tw::diff {

struct FuzzOptions {
  uint64_t seed = 1;  // pair i of it has the seed pair_seed(seed, i)
  int64_t from = 0;   // the first of them
  int64_t pairs = 2000;
  double seconds = 0;  // stop after so many; 0: no limit
  int workers = 2;
  int findings = 3;        // stop after so many
  bool minimise = true;    // findings, and write their scripts
  std::string folder;      // where scripts go
  int devices = kDevices;  // percent of the pairs that are to be launches, if they can be
  bool launches = false;   // judge no others
  Judges judges = {};
};

struct Found {
  uint64_t seed = 0;
  int64_t after = 0;  // pairs tried when it was found
  Finding finding;
  std::string report;  // minimised, with the script; empty unless asked for
};

struct FuzzResult {
  Tally tally;
  std::vector<Found> found;
  double seconds = 0;
};

uint64_t pair_seed(uint64_t seed, int64_t i);
// `progress` gets a line now and then, on stderr.
FuzzResult fuzz(const FuzzOptions&, bool progress);

// The failing sample made smaller, who is at fault, and the script that replays it, also written to folder/seed-N.py.
std::string report(const Sample&, const Finding&, const std::string& folder, const Judges&);
// A sample in a process of its own; a crash is a finding of the oracle "crash".
Finding check_isolated(const Sample&, const Judges&);

}  // namespace tw::diff
