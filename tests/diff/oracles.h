// Who must agree on a sample. Tables, of which a line each says what is compared with what, stand in
// oracles_interpreted.cc and oracles.cc.
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

// How many samples each oracle has judged, and how long it took: of processors, whoever else has them too.
struct Usage {
  int64_t count = 0;
  double seconds = 0;
};
using Usages = std::map<std::string, Usage>;

class Clock {
 public:
  Clock(Usages& usages, const char* of, int64_t count) : usage_(usages[of]) { usage_.count += count; }
  ~Clock() { usage_.seconds += processor_seconds() - begin_; }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

 private:
  static double processor_seconds();  // of this process, and of those that it has waited for

  Usage& usage_;
  const double begin_ = processor_seconds();
};

// Counts the sizes of samples at which the loop program takes too long to be judged.
inline constexpr const char* kLeftOut = "left out";
inline constexpr const char* kDrawing = "drawing";  // of samples, before they are judged

// Who is asked.
struct Judges {
  std::vector<std::string> oracles;  // by name; empty: all but "aarch64", which runs under an emulator
  std::vector<std::string> cpus;     // that it emulates, by turns (emulated.h)
  bool each_cpu = false;             // each pair on all of them
};
Judges on_aarch64();  // that oracle alone, on all of its CPUs

// Pairs that are emulated together, on one CPU.
inline constexpr int64_t kEmulatedBatch = 64;

// Those asked that this machine has what they need for, and those that they cannot do without.
std::vector<std::string> oracle_names(const Judges&);
std::vector<std::string> all_oracle_names();

// One finding per sample: the first oracle that disagrees. Programs of several samples are compiled together.
std::vector<Finding> check(std::span<const Sample>, const Judges&, Usages&);
Finding check(const Sample&, const Judges&);

// The first pass after which the interpreter does not give the definition's result any more; "to_ir" or "code
// generation" where no pass is at fault.
std::string culprit(const Sample&);

}  // namespace tw::diff
