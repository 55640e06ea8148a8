// What a loop nest will do on a machine, in numbers: the one description from which features (features.h), the estimate
// and the lower bound (prior.h) are made. Analytic, without lowering: microseconds each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/machine.h"
#include "schedule/nest_view.h"
#include "tensorwright/autotune.h"

namespace tw::autotune {

using schedule::Machine;

inline constexpr double kLatency = 4;  // cycles until a sum can take its next term
inline constexpr size_t kMoves = 3;    // what moves into L1 from L2, into L2 from L3, into L3 from memory

// How one operand is met by the innermost loops.
struct AccessFacts {
  bool store = false, along = false, contiguous = false, hoisted = false;
  double instructions = 0;  // loads or stores executed by the stage
  double bytes = 0;         // footprint in the whole stage
  double reuse = 1;         // iterations of the innermost loops that use the same data again
  double distance = 0;      // bytes touched between two such uses
  double conflict = 0;      // lines of the innermost tile that share one set of L1
  double square = 0;        // rows of the squares in which columns are turned in registers; 0: none are
  bool near = false;        // of what stays in the nearest cache where it is computed
  bool aligned = true;      // vectors start at multiples of their size
  bool crosses = false;     // rows of tiles may lie in two lines each
};

// The block of one stage. Times are seconds on the machine's clock of prior.h, over all cores that it uses.
struct StageFacts {
  int stage = 0;
  double points = 0, operations = 0;  // iterations of the body; arithmetic instructions, were each of one element
  double enclosing = 1, waste = 1;
  double lanes = 1, vector_extent = 0, utilisation = 1;  // of the lanes of the vectors that run
  double tensorized = 0;                                 // points of one statement of an intrinsic; 0: none
  double body = 1;                                       // points of the code that is repeated: vectorized and unrolled
  double accumulators = 0, registers = 0;                // vectors that are live in the innermost loop
  double waiting = 0, windows = 1;                       // beside them those of windows; how many of these the body has
  double arithmetic = 0, loads = 0, stores = 0;          // instructions executed
  double joins = 0;                                      // of the arithmetic, what joins the lanes of sums
  double inner_extent = 1, outer_reduction = 1, inner_reduction = 1;
  bool sums_in_a_row = false;  // the innermost loop adds to the sums of the iteration before
  double latency = 0;          // cycles until a sum can take its next term; rows of a tile take theirs one by one
  double entries = 0;          // how often the innermost loop starts
  double parallel_extent = 1, cores = 1, launches = 0;
  double conflict = 0, pages = 0;
  double inner_bytes = 0, reduction_bytes = 0, task_bytes = 0, bytes = 0;
  std::array<double, kMoves> moved = {};
  double asked = 0;         // lines from beyond L2 that no core reads ahead
  double shared = 0;        // bytes that several threads read, once for each of them but one
  double translations = 0;  // of pages
  double at_ends = 1;       // share of the registers that begin or end their line
  double claimed = 0;       // bytes of an output's lines that come from memory because a part of each is stored
  bool root = true, output = false, copies = false, reduces = false, conditional = false;
  bool tiles = false;                 // whole ones are multiplied, behind which the loops' own instructions hide
  std::vector<AccessFacts> accesses;  // loads first, dearest first
  // Times.
  double compute_seconds = 0, load_seconds = 0, latency_seconds = 0, overhead_seconds = 0;
  std::array<double, kMoves> memory_seconds = {};
  double translation_seconds = 0;
  double seconds = 0;
};

struct NestFacts {
  std::vector<StageFacts> stages;  // producers first
  double scratch_bytes = 0;        // intermediates
  double bytes = 0;                // of all that is touched
  uint64_t hash = 0;               // equal for nests that lower to the same loops: steps without effect do not count
};

// `views` are those of the schedule's nest.
NestFacts facts_of(const schedule::Schedule&, const std::vector<schedule::StageView>& views, const Machine&);

}  // namespace tw::autotune
