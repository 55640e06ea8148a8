// Measures the candidates of a pack on this machine: runs, checks, times, and writes the lines that the tuning reads
// when the log is back where the pack came from.
//
// What the log holds already is not measured again, so that a run that was cut off goes on where it was. The rules are
// the tuner's: no time without a checked output, a lost worker is not the candidate's fault, what takes twice the best
// so far is given up, and the leaders are timed again in rounds.
#pragma once

#include <functional>
#include <string>

#include "rpc/pack.h"

namespace tw::rpc {

struct PackProgress {
  int done = 0, total = 0, failures = 0;
  double best_s = 0;  // 0: none yet
};

struct MeasuredPack {
  PackProgress progress;
  int measured = 0;      // by this call, leaders that were timed again not among them
  bool stopped = false;  // by should_stop
};

struct MeasurePackOptions {
  std::string log;
  std::function<void(const PackProgress&)> on_trial = {};
  std::function<bool()> should_stop = {};  // asked between runs
};

// Throws tw::Error: as request_here (check/checks.h), kLog as the log.
MeasuredPack measure_pack(const Pack&, runtime::Runner&, const MeasurePackOptions&);

}  // namespace tw::rpc
