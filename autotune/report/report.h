// What a log, or a tuning that has just ended, shows people: one self-contained HTML page, or parts of it for a
// notebook.
//
//   Subject   one computation on one target with one thread count: its trials in order, and what can be drawn of them.
//   A log has no computations in it. Where the task is given, or its name and args are those of a stock operator, the
//   schedule is shown as Python and as C, and each candidate gets its own place in the roofline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autotune/log/record.h"
#include "autotune/model/roofline.h"

namespace tw::autotune {

// A candidate in the roofline: operations for each byte that it moves from memory, and operations a second.
struct RooflinePoint {
  double intensity = 0, rate = 0;
  bool best = false;
};

struct Subject {
  std::string call;              // dense(257, 513, 1025)
  std::string target, hardware;  // as text
  int threads = 1;
  Roofline roofline;          // flops is 0 where the computation is not known; no roofs for another machine's records
  std::vector<Trial> trials;  // in order of measurement, each configuration once
  std::optional<Trial> best;  // by the confirmations, where there are some
  int pruned = 0, damaged = 0;
  std::vector<RooflinePoint> points;
  std::string python, c;    // the best schedule; `c` is CUDA C++ where a GPU is tuned
  std::string account;      // of a GPU: what each launch of the best takes, by schedule/device_account.h
  std::string why_no_code;  // where these are empty

  double rate(double seconds) const { return seconds > 0 ? roofline.flops / seconds : 0; }
};

Subject subject_of(const Task&, const TuneResult&, const MachineDescription&);

// One for each (computation, target, thread count) of the log, in order of appearance; with a task, only its own. Those
// of the machine's hardware have roofs. Throws LogError, and NoRecord where nothing is left.
std::vector<Subject> subjects_of(const std::string& log, const MachineDescription&, const Task* task = nullptr);

std::string html_report(const std::vector<Subject>&, const std::string& title);
std::string html_summary(const Subject&);  // a table and the curve, for a notebook's cell

}  // namespace tw::autotune
