// What the interpreter finds in the programs of a device before anybody runs them: races, barriers that not all threads
// reach, memory that was not written, subscripts outside.
//
// Candidates that differ in their factors only have one structure, and are judged by the first of them, at small sizes
// (small_sizes.h). It shares no code with sync_check, which proves each of them at its own size.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <string>

#include "tensorwright/autotune.h"

namespace tw::autotune {

// Of a lowered program, on some numbers; empty where there is nothing, or where that is not known: after `most_steps`
// stores, of millions of elements, or of arrays of any size.
std::string interpreters_finding(const ir::Program&, int64_t most_steps);

// Thread-safe.
class Verdicts {
 public:
  explicit Verdicts(const Target& target) : target_(target) {}

  // `loops`: the candidate's program before it is lowered. The finding, or empty; who asks for a structure that is
  // being judged waits.
  std::string of(const Scheduled& candidate, const ir::Program& loops);

  int structures() const;                        // that were asked for
  int at_small_sizes() const { return small_; }  // of these; the others are judged as they are

 private:
  std::string judge(const Scheduled&, const ir::Program& loops);

  const Target& target_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_future<std::string>> known_;
  std::atomic<int> small_ = 0;
};

}  // namespace tw::autotune
