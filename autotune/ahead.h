// The trials of a tuning whose runs are elsewhere, from when they are begun, or read from a log, until they count.
//
// Batch b is proposed and built while batch b - 1 runs: from the batches before that one, and from nothing that has
// arrived since. So a batch counts as a whole, one batch late, and neither the order in which runs end nor where a run
// was killed decides anything. A trial's number is its batch and its place in what was proposed.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "autotune/measure/measure.h"

namespace tw::autotune {

// Thread-safe: runs arrive from their slots.
class Ahead {
 public:
  explicit Ahead(size_t batch) : batch_(static_cast<int64_t>(batch)) {}

  struct Arrival {
    int64_t number = 0;
    Built built;
    bool measured = false;  // by this tuning, and not read from a log
  };

  void read(int64_t number, Trial);
  // The number of the trial at `place` of a batch: where a log has another of this number, the next free one.
  int64_t begin(size_t batch, size_t place);
  void arrives(int64_t number, Built);

  bool has(uint64_t index) const;               // a trial that has arrived
  size_t arrived(size_t batch) const;           // trials of it
  bool complete(size_t batch) const;            // all that it can have
  bool under_way(size_t batch) const;           // begun, and not all arrived
  bool reaches(size_t batch) const;             // into this batch, or past it
  std::vector<uint64_t> indices(size_t) const;  // of those of a batch that have arrived
  double first_time() const;                    // of the lowest number that has one; 0: none has
  size_t size() const;                          // begun, read and arrived
  std::vector<Trial> trials() const;            // that have arrived
  std::vector<Arrival> take(size_t batch);      // those of a batch, in order: they count now

 private:
  using Trials = std::map<int64_t, Arrival>;
  std::pair<Trials::const_iterator, Trials::const_iterator> of(size_t batch) const;
  int64_t first_of(size_t batch) const { return static_cast<int64_t>(batch) * batch_; }

  const int64_t batch_;
  mutable std::mutex mutex_;
  Trials arrived_;
  std::set<int64_t> begun_;  // and have not arrived
};

}  // namespace tw::autotune
