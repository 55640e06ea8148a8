// The log: one JSON line per measurement, appended in one write under a lock, each with a checksum (docs/tuning.md has
// the fields).
//
// Being killed at any moment loses at most the line being written; a damaged line never loses the others. Several
// processes may append to one log, while another replaces it by a pruned one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/support/line_file.h"
#include "tensorwright/autotune.h"

namespace tw::autotune {

constexpr int kSchema = 1;

// What a measurement is of. Records with different keys never meet.
struct RecordKey {
  std::string hash;    // of the computation: computation_hash.h
  std::string target;  // resolved
  int threads = 1;
  std::string hardware;  // as the Runner describes it
  bool operator==(const RecordKey&) const = default;
};

struct Record {
  Record();
  TW_DECLARE_VALUE(Record);

  // Or "confirm": a leader timed again, interleaved with the others; or "range": one timed at another size, `at`, of
  // the range for which its task's size stands.
  std::string kind = "trial";
  int64_t at = 0;
  RecordKey key;
  std::string name, args;       // of the task, for people
  double flops = 0, bytes = 0;  // arithmetic of one call, size of all arguments; 0: not known
  Trial trial;
  int64_t number = 0;  // of the trial among those of its task, in the order in which they were proposed
  int64_t pruned = 0;  // candidates of its task that this tuning had not built until then: their bound exceeds the best
  uint64_t seed = 0;
  int lag = 0;                      // batches that had begun before it was proposed and had no part in that
  std::optional<Rates> rates = {};  // measured on the machine, by which candidates were proposed; none: its CPU's table
  std::vector<float> features;      // of the candidate: other tasks learn from them; empty: not known to this release
  std::string version, time;        // filled in by to_line
};

std::string to_line(const Record&);  // ends in a newline
// Without the newline.
Result<Record> parse_line(std::string_view line);

// A line that does not count, and why.
struct SkippedLine {
  size_t line = 0;  // from 1
  std::string why;
};

struct Log {
  std::vector<Record> records;
  int damaged = 0;  // lines that were skipped
};
// Throws LogError: missing, not ours, or of a newer schema. With the hash of a computation only lines that say it are
// looked at, which is much faster in the log of many.
Log load_log(const std::string& path, const std::string& hash = "");

// What load_log reads, line by line: `number` from 1, the text without what ends it (of an endless line its first part
// only), and what it says. Lines may be of any length; memory is not. Lines without `containing` are passed over;
// without a visitor all are, and only what is not ours is refused.
using LineVisitor = std::function<void(size_t number, std::string_view text, Result<Record>)>;
void for_each_line(const std::string& path, const LineVisitor&, const std::string& containing = "");

// Append-only. Opening checks that the file is ours (or new) and that it can be written.
class Journal {
 public:
  explicit Journal(const std::string& path);
  // Throws LogError when the disk is full and the like; the log then is as it was.
  void append(const Record&);

 private:
  support::LineFile file_;
};

}  // namespace tw::autotune
