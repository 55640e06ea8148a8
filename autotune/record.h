// The log: one JSON line per measurement, appended in one write under a lock, each with a checksum.
//
// Losing power or being killed at any moment loses at most the line being written; a damaged line never loses the
// others. Several processes may append to one log.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/autotune.h"

namespace tw::autotune {

constexpr int kSchema = 1;

// What a measurement is of. Records with different keys never meet.
struct RecordKey {
  std::string hash;    // of the computation
  std::string target;  // resolved
  int threads = 1;
  bool operator==(const RecordKey&) const = default;
};

struct Record {
  std::string kind = "trial";  // or "confirm": a leader timed again, interleaved with the others
  RecordKey key;
  std::string name, args;  // of the task, for people
  std::string hardware;
  Trial trial;
  uint64_t seed = 0;
  std::string version, time;  // filled in by to_line
};

std::string to_line(const Record&);  // ends in a newline
Result<Record> parse_line(std::string_view line);

struct Log {
  std::vector<Record> records;
  int damaged = 0;  // lines that were skipped
};
// Throws LogError: missing, not ours, or of a newer schema.
Log load_log(const std::string& path);

// Append-only. Opening checks that the file is ours (or new) and that it can be written.
class Journal {
 public:
  explicit Journal(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  void append(const Record&);

 private:
  std::string path_;
  int fd_ = -1;
};

// The best configuration among `records`, which have one key: a configuration's confirmations count instead of its
// first time.
const Record* best_record(const std::vector<const Record*>& records);

}  // namespace tw::autotune
