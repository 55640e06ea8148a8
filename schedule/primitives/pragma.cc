//   for i in 0..n:    # auto_unroll_max_step = 8
//     for j in 0..4:                for i in 0..n:
//       body(i, j)        ==>         body(i, 0) ... body(i, 3)
//
// auto_unroll_max_step: loops at and inside the axis are unrolled as long as that makes at most so many copies of a
// body. unroll_explicit = 0: leave the unrolling that auto_unroll_max_step asks for to the code generator's own
// judgement.

#include <algorithm>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/support/environment.h"

namespace tw::schedule::primitives {

namespace {

// What does here what a pragma of tvm's does there.
struct Replaced {
  std::string_view key, by;
};
constexpr Replaced kReplaced[] = {
    {"auto_unroll_max_depth", "auto_unroll_max_step alone says how far: loops are unrolled from the inside out"},
    {"auto_unroll_max_extent", "auto_unroll_max_step alone says how far, counted in statements"},
    {"unroll", "unroll(axis) repeats the body of a loop"},
    {"vectorize", "vectorize(axis) computes a loop in vector lanes"},
    {"parallel", "parallel(axis) spreads a loop over the threads"},
    {"parallel_launch_point", "parallel(axis) launches its threads itself, as far out as it stands"},
    {"parallel_stride_pattern", "parallel(axis, chunk=n) gives a thread n neighbouring iterations at a time"},
    {"parallel_barrier_when_finish", "threads wait for each other at the end of a parallel loop in any case"},
    {"loop_partition_hint",
     "tails and padding conditions leave loops by themselves; split(..., tail=\"peel\") asks for it"},
    {"prefetch_scope", "prefetch(tensor, axis, offset) fetches what later iterations read"},
    {"double_buffer_scope", "double_buffer() keeps two buffers that take turns"},
    {"storage_alignment", "storage_align(axis, factor, offset) lays out the stage"},
    {"import_c", "te.call_extern calls a C function, of a library that is loaded or given by te.register_extern"},
    {"import_llvm", "te.call_extern calls a C function, of a library that is loaded or given by te.register_extern"},
    {"debug_skip_region", "compute_root or compute_inline leave nothing of a stage inside of another's loops"},
    {"tensor_core", "tensorize(axis, \"mma.m16n8k16.bf16\") makes the loops of a tile a product of a warp"},
};

Diagnostic refuse_key(const Pragma& step) {
  Diagnostic d = refuse(step.kName, "key must be auto_unroll_max_step or unroll_explicit, not " + step.key);
  for (const Replaced& replaced : kReplaced)
    if (replaced.key == step.key) return std::move(d) << std::string(replaced.by);
  return with_hint(std::move(d), step.key, {"auto_unroll_max_step", "unroll_explicit"});
}

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const Pragma& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  TW_TRY(AxisId axis, leaf(nest.stage(stage), step.kName, step.axis));
  if (step.key != "auto_unroll_max_step" && step.key != "unroll_explicit") return refuse_key(step);
  if (step.value < 0) return refuse(step.kName, step.key + " must not be negative, not " + std::to_string(step.value));
  if (step.key == "auto_unroll_max_step" && step.value > support::max_unroll())
    return refuse(step.kName, "auto_unroll_max_step must be at most " + std::to_string(support::max_unroll()) +
                                  ", not " + std::to_string(step.value))
           << "TW_MAX_UNROLL lifts the limit";
  LoopNest next = nest;
  std::vector<PragmaNote>& pragmas = next.edit(stage).pragmas;
  std::erase_if(pragmas, [&](const PragmaNote& note) { return note.axis == axis && note.key == step.key; });
  pragmas.push_back({axis, step.key, step.value});
  return next;
}

}  // namespace tw::schedule::primitives
