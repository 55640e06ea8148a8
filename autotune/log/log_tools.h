// What can be done with logs: look into one, keep the best, check, merge, prune. Measures nothing and needs no tasks.
//
// Files are replaced as a whole or not at all; lines that stay are copied byte by byte. All functions throw LogError
// for a file that is missing, not ours, or of a newer schema.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autotune/log/record.h"

namespace tw::autotune {

// All that a log says about one key.
struct LogGroup {
  RecordKey key;
  std::string name, args;
  double flops = 0, bytes = 0;
  int trials = 0;                       // configurations, each counted once
  int confirmations = 0;                // records of kinds `confirm` and `range`
  std::map<std::string, int> statuses;  // of the trials
  std::optional<Record> best;           // none when every one failed
  std::string first, last;              // when it was measured, by the clocks of those who did
};
// In the order in which the keys occur first.
std::vector<LogGroup> summarise(const Log&);

// The best record of each key that has one, in the order in which the keys occur first.
std::vector<Record> pick_best(const Log&);
// Writes these lines to `output`, which becomes a log of its own; returns how many.
size_t pick_best(const std::string& log, const std::string& output);

// Line by line.
struct LogCheck {
  size_t lines = 0, trials = 0, confirmations = 0;
  size_t repeated = 0;  // trials of a configuration that an earlier line has
  std::vector<SkippedLine> damaged;
  bool ok() const { return damaged.empty(); }
};
LogCheck check_log(const std::string& path);

// What nobody can build from any more: records of a target that this release has none for, and, of stock operators,
// which it can ask, of another computation or with Steps that are refused. Each key once, in the order in which they
// occur first. Templates and tensors are somebody's source: tw freeze --check asks that.
struct StaleGroup {
  RecordKey key;
  std::string name, args, why;
  size_t records = 0;
};
std::vector<StaleGroup> stale_records(const Log&);

// What another log makes of each key: its best there and here.
struct LogChange {
  enum class Kind : uint8_t { kAdded, kRemoved, kSame, kOther };  // kOther: another configuration
  Kind kind = Kind::kSame;
  RecordKey key;
  std::string name, args;
  double before_s = 0, after_s = 0;  // 0: none succeeded
};
// In the order in which the keys occur first, in `before` and then in `after`.
std::vector<LogChange> diff_logs(const Log& before, const Log& after);

struct DroppedLine {
  std::string path;
  SkippedLine line;
};
struct LogEdit {
  size_t kept = 0;
  size_t repeated = 0;               // lines that were there already, byte by byte
  size_t worse = 0;                  // by prune: records that are not among the best
  std::vector<DroppedLine> dropped;  // that say nothing
};

// All valid lines of `paths`, in their order, each once. `output` may be one of them; another file that exists is
// refused, so that nothing is lost.
LogEdit merge_logs(const std::vector<std::string>& paths, const std::string& output);

// Keeps of each key the best `keep` configurations, with their confirmations; 0: the one record that is the best.
// `output` as in merge_logs.
LogEdit prune_log(const std::string& path, const std::string& output, size_t keep = 1);

}  // namespace tw::autotune
