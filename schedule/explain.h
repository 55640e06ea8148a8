// What a schedule means for a machine: per loop nest what its loops touch and use again, what moves between the levels
// of memory, and which level bounds it.
//
//   C: output float32[1024, 1024]
//     loop     kind           extent  lanes  touches  fits  reuse
//     j.o      parallel           16          12 MiB    L3   1026
//      i.o     for               171         4.5 MiB    L3    171
//       k      for reduction    1024         282 KiB    L2     16
//        i.i   unrolled            6         2.1 KiB    L1    2.1
//         j.i  vectorized         64     16    576 B    L1    1.3
//     work    2.2 billion operations, 1 run, on 2 cores, 24 sums side by side
//     moves   L1 752 MiB, L2 752 MiB, L3 68 MiB, DRAM 8.2 MiB
//     takes   compute 4.2 ms, L1 770 us, L2 3.1 ms, L3 745 us, DRAM 216 us
//     bound   compute, 4.2 ms
//
// For a device the same tables of loops, by launches, and what each loop, stage and launch takes there: instructions,
// passes through shared memory and their conflicts, L2 and memory, how many blocks a processor holds
// (device_account.h).
//
// From the loop nest alone, without lowering: boxes instead of exact sets of elements, full caches of three quarters,
// and the rates of machine.h. Good for seeing why a schedule is slow, not for predicting its time.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "schedule/device_account.h"
#include "schedule/machine.h"
#include "tensorwright/schedule.h"

namespace tw::schedule {

enum Level { kCompute, kL1, kL2, kL3, kDram, kLevels };
const char* to_string(Level);

struct LoopExplanation {
  std::string name;
  int64_t extent;
  std::string kind;  // for, parallel, vectorized, unrolled; with " reduction" where it is one
  int lanes;         // of a vectorized loop, and of a plain one that lowering gives lanes (src/lower/lanes.h); else 0
  double bytes;      // that one run of the loop touches
  Level fits;        // the smallest cache that holds them
  double reuse;      // how often one run of the loop uses a byte that it touches
  // Of a device: what all runs of the loop take there, and of what is computed inside of it.
  std::optional<LoopAccount> inside = {};
};

struct NestExplanation {
  std::string headline;                // "P: computed float32[8, 8], at C's loop i.o"
  std::vector<std::string> unbounded;  // dimensions that are computed whole there, and why
  std::vector<LoopExplanation> loops;
  double runs = 1;        // how often the loops run: iterations of the loops around the place
  double operations = 0;  // arithmetic, of all runs
  double waste = 1;       // iterations / those that are not past an end
  double cores = 1;       // that have work
  std::string plain;      // why lowering gives no plain loop lanes, where none has any
  double chains = 0;      // of a reduction: sums that grow side by side; too few leave the adder's latency in sight
  std::array<double, kLevels> moved{};    // bytes out of each level towards the core, of all runs; none for kCompute
  std::array<double, kLevels> seconds{};  // that each level would take alone
  Level bound = kCompute;                 // the one that takes longest
};

struct Explanation {
  Machine machine;
  bool assumed = false;                // extents are symbolic, and stand in the numbers as kAssumedExtent (nest_view.h)
  std::vector<NestExplanation> nests;  // producers first; neither placeholders nor inlined stages
  std::vector<std::string> clamps;     // "C: A[i * i]: dimension 0 to 0..16": subscripts that are moved into the tensor
  std::vector<std::string> required;   // "n <= m: compute C reads A[i]": what a call checks
  std::vector<LaunchAccount> launches = {};  // of a device; nests have no times then
  std::vector<int> stages = {};              // of the nests
};

Explanation explain(const Schedule&, const Machine&);
Explanation explain_device(const Schedule&, const Machine&);  // REQUIRES: machine.device
std::string to_string(const Explanation&);

}  // namespace tw::schedule
