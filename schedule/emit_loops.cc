// A stage's loops, from the outside in, and what is computed inside of each.
#include <algorithm>
#include <utility>

#include "schedule/emitter.h"
#include "schedule/tiles_of_block.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

constexpr int64_t kMostInBatch = 16;  // iterations of a loop that are written out

// Products that are under way at once stand one after the other, or an assembler waits for each.
bool is_of_batch(const Emission& stage, AxisId leaf) {
  return stage.warp.batch != kNone && stage.nest.position(leaf) >= stage.warp.batch &&
         stage.bounds.extent[leaf].value_or(kMostInBatch + 1) <= kMostInBatch;
}

// The tail of the last uneven split that the loop came from.
Tail tail_of(const Emission& stage, AxisId leaf) {
  Tail tail = Tail::kNone;
  for (const Relation& relation : stage.nest.relations) {
    const auto* split = std::get_if<SplitRelation>(&relation);
    if (!split || !is_uneven(stage.bounds, *split) || is_shifted(stage.nest, stage.bounds, *split)) continue;
    if (split->parent == stage.nest.persistent.whole) continue;
    auto leaves = leaves_from(stage.nest, split->parent);
    if (std::find(leaves.begin(), leaves.end(), leaf) == leaves.end()) continue;
    tail = split->tail;
    if (tail == Tail::kPad) tail = Tail::kAuto;  // nobody knows that it came out even
    if (tail != Tail::kShiftInward) continue;
    const bool fewer_than_one_part = stage.bounds.extent[split->parent].known();
    tail = fewer_than_one_part ? Tail::kGuard : Tail::kAuto;
  }
  return tail;
}

}  // namespace

// What stands inside the first `level` loops of the stage.
ir::Stmt Emitter::inside(const Emission& stage, int level, bool in_vector) {
  if (level == stage.band.begin) return shared_out(stage, in_vector);
  if (stage.warp.product && level == stage.warp.level) return by_warp(stage);
  if (level != intrins_[stage.id].level) return by_loops(stage, level, in_vector);
  const ir::Stmt at_once = by_intrin(stage, in_vector);
  const ir::Expr whole = both(intrins_[stage.id].whole_data, intrins_[stage.id].whole_reduction);
  return whole ? ir::if_then(whole, at_once, by_loops(stage, level, in_vector)) : at_once;
}

ir::Stmt Emitter::by_loops(const Emission& stage, int level, bool in_vector) {
  bool innermost = level == static_cast<int>(stage.nest.leaves.size());
  ir::Stmt body = innermost ? element(stage) : open_loop(stage, level, in_vector);
  if (level == stage.warp.batch) body = as_batch(body, batches_under_way(stage));
  if (level == stage.first_reduction && stage.warp.product) {
    body = across_lanes_of_warp(stage, level, body);
  } else if (level == stage.first_reduction && stage.sums.shares()) {
    body = across_threads(stage, level, body);
  } else if (level == stage.first_reduction && stage.partial.position != kNone) {
    body = across_lanes(stage, level, body, in_vector);
  } else if (level == stage.first_reduction && stage.nest.is_reduction()) {
    const BoundIntrin& intrin = intrins_[stage.id];
    const bool at_once = intrin.level != kNone && level < intrin.level;
    body = ir::seq({init_part(stage, level, in_vector, at_once), body});
  }
  return body;
}

// The stages that are computed inside the loop at `level`, producers first.
std::vector<int> Emitter::attached_at(const Emission& stage, int level) const {
  std::vector<int> here;
  for (int i : attached_[stage.id])
    if (placed_.level[i] == level) here.push_back(i);
  return here;
}

ir::Stmt Emitter::open_loop(const Emission& stage, int level, bool in_vector) {
  const AxisId leaf = stage.nest.leaves[level];
  const std::vector<int> here = attached_at(stage, level);
  const ir::Stmt body = one_iteration(stage, level, here, in_vector);
  ir::Stmt loop = with_pragmas(stage, leaf, loop_around(stage, leaf, body, in_vector));
  for (size_t i = here.size(); i-- > 0;) loop = around_slide(here[i], loop);
  loop = around_rings(stage, level, loop);
  if (leaf == stage.nest.persistent.tiles)
    for (const std::vector<int>& rings : std::exchange(over_tiles_, {})) loop = around_ring(rings, false, loop);
  return loop;
}

// Of the loop at `level`; the stages `here` are computed in it.
ir::Stmt Emitter::one_iteration(const Emission& stage, int level, const std::vector<int>& here, bool in_vector) {
  const AxisId leaf = stage.nest.leaves[level];
  if (stage.nest.axes[leaf].annotation == Annotation::kVectorized && stage.bounds.loop[leaf]) in_vector = true;
  bool slides = std::any_of(here.begin(), here.end(), [&](int i) { return kept_.slide(i).kind != SlideKind::kNone; });
  ir::Stmt body = inside(stage, level + 1, in_vector);
  // What a later iteration finds is computed also where this one computes nothing of the stage itself.
  if (slides) body = guarded(stage, level + 1, body);
  if (placed_.launch[stage.id] != kNone) {
    body = with_producers(stage, level, here, body, in_vector);
  } else {
    for (size_t i = here.size(); i-- > 0;) body = with_producer(here[i], body, in_vector);
  }
  if (!slides) body = guarded(stage, level + 1, body);
  return ir::seq({prefetches(stage, level), body});
}

ir::Stmt Emitter::loop_around(const Emission& stage, AxisId leaf, const ir::Stmt& body, bool in_vector) const {
  const ir::Var& var = stage.bounds.loop[leaf];
  if (stage.bounds.extent[leaf] == 0) return ir::seq({});
  if (!var || is_bound(stage.nest.axes[leaf].annotation)) return body;
  ir::ForKind how = kind(stage.nest.axes[leaf].annotation, in_vector);
  if (how == ir::ForKind::kSerial && is_of_batch(stage, leaf)) how = ir::ForKind::kUnrolled;
  const ir::Expr extent =
      leaf == stage.nest.persistent.tiles ? tiles_of_block(stage.nest, stage.bounds) : stage.bounds.extent[leaf].expr();
  return ir::loop(var, extent, body, how, tail_of(stage, leaf));
}

// Inside a vectorized loop of another stage everything is scalars' work.
ir::ForKind Emitter::kind(Annotation annotation, bool in_vector) {
  switch (annotation) {
    case Annotation::kNone:
      return ir::ForKind::kSerial;
    case Annotation::kUnrolled:
    case Annotation::kVirtual:
      return ir::ForKind::kUnrolled;
    case Annotation::kVectorized:
      return in_vector ? ir::ForKind::kSerial : ir::ForKind::kVectorized;
    case Annotation::kParallel:
      return in_vector ? ir::ForKind::kSerial : ir::ForKind::kParallel;
    default:
      TW_CHECK(false, "a loop of the device's where it stands");
  }
  return ir::ForKind::kSerial;
}

ir::Stmt Emitter::with_pragmas(const Emission& stage, AxisId leaf, ir::Stmt loop) const {
  if (placed_.launch[stage.id] != kNone && meetings_.in(loop)) return loop;  // its statements are known by their place
  int64_t limit = 0;
  bool explicitly = true;
  for (const PragmaNote& note : stage.nest.pragmas) {
    if (note.axis != leaf) continue;
    if (note.key == "auto_unroll_max_step") limit = note.value;
    if (note.key == "unroll_explicit") explicitly = note.value != 0;
  }
  return limit > 0 && explicitly ? auto_unroll(loop, limit) : loop;
}

ir::Stmt Emitter::prefetches(const Emission& stage, int level) const {
  std::vector<ir::Stmt> all;
  for (const PrefetchNote& note : stage.nest.prefetches) {
    if (note.axis != stage.nest.leaves[level] || stage.in_vector) continue;
    const int source = nest_.find_stage(note.source), of = nest_.find_stage(note.of);
    all.push_back(prefetch(nest_, placed_, all_,
                           {stage.id, level, source, of, from_of(nest_, note), note.offset, note.second},
                           kept_.buffers(source)));
  }
  return ir::seq(std::move(all));
}

// One iteration, with what it needs of a stage that is computed in it.
ir::Stmt Emitter::with_producer(int i, const ir::Stmt& body, bool in_vector) {
  const Slide& slide = kept_.slide(i);
  if (slide.kind == SlideKind::kNone) return produce(i, body, in_vector);
  if (slide.kind == SlideKind::kRolling) return ir::seq({emit_stage(i, in_vector), body});
  ir::Expr next = ir::Expr(slide.loop) + ir::Expr(1);
  return ir::seq({ir::if_then(next < slide.trips, iteration(i, next)), body});
}

// The loop, with the memory that outlives its iterations.
ir::Stmt Emitter::around_slide(int i, const ir::Stmt& loop) {
  const Slide& slide = kept_.slide(i);
  if (slide.kind == SlideKind::kNone || slide.kind == SlideKind::kRing) return loop;
  if (slide.kind == SlideKind::kRolling) return allocated(i, loop);
  ir::Stmt first = iteration(i, 0);
  if (!ir::as_int(slide.trips)) first = ir::if_then(slide.trips > ir::Expr(0), first);
  return allocated(i, ir::seq({first, loop}));
}

ir::Stmt Emitter::iteration(int i, const ir::Expr& of) {
  return ir::refresh(ir::simplify(ir::substitute(emit_stage(i, false), kept_.slide(i).in_turn(of)), all_.ranges));
}

}  // namespace tw::schedule
