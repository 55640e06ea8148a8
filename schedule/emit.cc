// Loops, guards, init and update, allocations.
//
//   C reduces over k, leaves i, k, j.o, j.i; P attached at k; j split unevenly:
//
//     for i:
//       for j.o, j.i: if j.o*f + j.i < n: C[i, j] = identity          // data loops inside the outermost reduction loop
//       for k:
//         alloc P: ... P ...
//         for j.o, j.i: if j.o*f + j.i < n: C[i, j] = C[i, j] op x
//
// A condition stands directly inside the innermost loop that it mentions.
//
//   C reduces over k, vectorized k.i of L; data loops inside stay as above:
//
//     for i:
//       alloc C.lanes[L]: for k.i: C.lanes[k.i] = identity
//       for k.o, k.i: C.lanes[k.i] = k.o*L + k.i < n ? C.lanes[k.i] op x : C.lanes[k.i]
//       join the lanes (te/lane_joins.h); C[i] = init op C.lanes[0]
//
// What threads share of a sum: thread_sums.h; products of a warp: warp_tile.h.
#include "schedule/emit.h"

#include <algorithm>
#include <utility>

#include "schedule/emitter.h"
#include "schedule/pad.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

bool has_parallel_loop(const ir::Stmt& stmt) {
  bool found = false;
  ir::walk(stmt, [&](const ir::Stmt& s) {
    const auto* loop = ir::as<ir::For>(s);
    found |= loop && loop->kind == ir::ForKind::kParallel;
    return !found;
  });
  return found;
}

}  // namespace

Emitter::Emitter(const LoopNest& nest, const Placement& placed, const NestBounds& all, std::vector<Slide> slides,
                 const IndexMaps& layouts, const Arguments& arguments, const std::vector<BoundIntrin>& intrins)
    : nest_(nest),
      placed_(placed),
      all_(all),
      kept_(nest, placed, all, std::move(slides), layouts, arguments),
      launches_(nest, placed, all),
      intrins_(intrins),
      attached_(nest.size()) {
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i)) continue;
    if (placed.parent[i] == kNone) {
      roots_.push_back(i);
    } else {
      attached_[placed.parent[i]].push_back(i);
    }
  }
}

ir::Stmt Emitter::program() {
  ir::Stmt rest = ir::seq({});
  for (size_t i = roots_.size(); i-- > 0;) rest = produce(roots_[i], rest, false);
  return rest;
}

// The stage, then `rest`, which reads it.
ir::Stmt Emitter::produce(int i, ir::Stmt rest, bool in_vector) {
  const ir::Stmt stage = emit_stage(i, in_vector);
  return allocated(
      i, ir::seq({placed_.launch[i] == i ? launches_.around(i, by_roles(i, stage)) : stage, std::move(rest)}));
}

ir::Stmt Emitter::allocated(int i, ir::Stmt both) const { return allocated(kept_.buffers(i), std::move(both)); }

ir::Stmt Emitter::allocated(const std::vector<ir::Buffer>& buffers, ir::Stmt both) {
  for (const ir::Buffer& buffer : buffers) {
    if (buffer.scope() == Scope::kArgument) continue;
    if (is_private(buffer.scope()) && has_parallel_loop(both)) {
      // Threads that share values find them in memory, not in one thread's registers.
      ir::Buffer shared(buffer.name(), buffer.element(), buffer.shape(), Scope::kGlobal, buffer.strides());
      both = ir::allocate(shared, ir::replace_buffers(both, {{buffer.id(), shared}}));
    } else {
      both = ir::allocate(buffer, both);
    }
  }
  return both;
}

ir::Stmt Emitter::emit_stage(int i, bool in_vector) {
  if (const te::Extern* written = nest_.stage(i).op->external()) return by_user(i, *written);
  Emission stage{i, nest_.stage(i), all_.stages[i], {}, 0, in_vector, defined_part(nest_, placed_, all_, i)};
  for (int d = 0; d < stage.nest.data_rank; ++d)
    if (stage.bounds.extent[d] == 0) return ir::seq({});
  stage.first_reduction = static_cast<int>(stage.nest.leaves.size());
  for (int position = stage.first_reduction; position-- > 0;)
    if (stage.nest.axes[stage.nest.leaves[position]].reduction) stage.first_reduction = position;
  stage.partial =
      partial_results(stage.nest, stage.bounds, stage.first_reduction, kept_.buffers(i), placed_.launch[i] != kNone);
  stage.sums = thread_sums(stage.nest, stage.bounds, stage.first_reduction, launches_.indices(i), kept_.buffers(i));
  stage.band = launches_.band(i);
  int innermost = kNone;
  for (int inside : attached_[i]) innermost = std::max(innermost, placed_.level[inside]);
  for (const Condition& condition : stage.conditions) innermost = std::max(innermost, condition.level - 1);
  if (intrins_[i].product)
    stage.warp = warp_tile(stage.nest, stage.bounds, stage.first_reduction, intrins_[i], launches_.indices(i),
                           kept_.buffers(i)[0], innermost);
  find_conditions(nest_, placed_, all_, kept_.slide(i), launches_, innermost, stage);
  return ir::seq({kept_.padding(i), guarded(stage, 0, inside(stage, 0, in_vector))});
}

ir::Stmt Emitter::guarded(const Emission& stage, int level, ir::Stmt body, bool init) const {
  const bool meet = placed_.launch[stage.id] != kNone && meetings_.in(body);
  ir::Expr all, of_each;
  for (const Condition& condition : stage.conditions) {
    if (condition.level != level || (init && !condition.data)) continue;
    const bool each = launches_.differs(condition.holds) || runs_on(stage.id);
    ir::Expr& to = meet && each ? of_each : all;
    to = both(to, condition.holds);
  }
  if (of_each) body = meetings_.guarded(of_each, body);
  return all ? ir::if_then(all, std::move(body)) : body;
}

// Whether a ring that runs on over tiles, or that others or other blocks fill, is in the stage's loops, so that it
// has all of its turns.
bool Emitter::runs_on(int stage) const {
  for (int i = 0; i < nest_.size(); ++i) {
    if (kept_.slide(i).kind != SlideKind::kRing) continue;
    if (!kept_.slide(i).tiles && !has_roles(i) && !launches_.cluster(i)) continue;
    for (int at = placed_.parent[i]; at != kNone; at = placed_.parent[at])
      if (at == stage) return true;
  }
  return false;
}

ir::Stmt emit(const LoopNest& nest, const Placement& placed, const NestBounds& all, const std::vector<Slide>& slides,
              const IndexMaps& layouts, const Arguments& arguments, const std::vector<BoundIntrin>& intrins) {
  return Emitter(nest, placed, all, slides, layouts, arguments, intrins).program();
}

}  // namespace tw::schedule
