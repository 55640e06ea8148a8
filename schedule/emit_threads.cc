// What the threads of a block or the lanes of a warp compute together: tiles in shared memory, sums, products.
#include <algorithm>
#include <utility>

#include "schedule/emitter.h"
#include "schedule/group_operands.h"
#include "src/ir/group_products.h"
#include "te/statements.h"

namespace tw::schedule {

// The same in a launch. What a block shares is made side by side first, where nothing else here has to be there
// before.
ir::Stmt Emitter::with_producers(const Emission& stage, int level, std::vector<int> here, ir::Stmt body,
                                 bool in_vector) {
  const std::vector<int> rings = rings_at(stage, level);
  std::erase_if(here, [&](int i) { return std::ranges::find(rings, i) != rings.end(); });
  body = with_others(stage, level, std::move(here), body, in_vector);
  if (rings.empty()) return body;
  const Ring ring = ring_of(rings);
  const ir::Expr turn = kept_.slide(rings[0]).turn();
  if (ring.free) return ir::seq({wait_for_turn(ring, turn), body, read_by_role(stage, ring, kept_.slide(rings[0]))});
  if (level + 1 == stage.warp.batch && batches_under_way(stage) > 0)
    return ir::seq({wait_for_turn(ring, turn), body, iteration_behind(ring, part_of(rings), turn)});
  return ir::seq({wait_for_turn(ring, turn), ring_iteration(ring, part_of(rings), turn, body)});
}

ir::Stmt Emitter::with_others(const Emission& stage, int level, std::vector<int> here, ir::Stmt body, bool in_vector) {
  const auto first = std::stable_partition(here.begin(), here.end(), [&](int i) {
    return placed_.scope[i] == Scope::kShared &&
           std::none_of(here.begin(), here.end(), [&](int other) { return needs(i, other); });
  });
  const bool again = launches_.repeats(stage.id, level);
  for (auto i = here.end(); i != first; --i) body = produced({*(i - 1)}, body, again, in_vector);
  return first == here.begin() ? body : produced({here.begin(), first}, body, again, in_vector);
}

// Whether the stage, or one that is computed inside of it, reads `source`.
bool Emitter::needs(int stage, int source) const {
  const auto reads = [&](const Read& read) { return read.source == source; };
  return std::any_of(placed_.reads[stage].begin(), placed_.reads[stage].end(), reads) ||
         std::any_of(attached_[stage].begin(), attached_[stage].end(), [&](int i) { return needs(i, source); });
}

// Stages that do not read each other, all shared or a single one, then `rest`. Nobody reads what threads share before
// all of it is there, or writes it `again` before all have read it.
ir::Stmt Emitter::produced(const std::vector<int>& stages, const ir::Stmt& rest, bool again, bool in_vector) {
  const bool shared = placed_.scope[stages[0]] == Scope::kShared;
  const ir::Stmt meet = shared ? ir::sync(ir::SyncOp::kBlock) : ir::seq({});
  std::vector<ir::Stmt> all;
  if (again) all.push_back(meet);
  for (int i : stages) {
    all.push_back(emit_stage(i, in_vector));
    if (placed_.together[i] != Team::kNone) meetings_.add(all.back());
  }
  if (shared && std::ranges::any_of(stages, [&](int i) { return is_group_operand(nest_, placed_, i); }))
    all.push_back(fence_of_stores());
  all.push_back(meet);
  all.push_back(rest);
  ir::Stmt whole = ir::seq(std::move(all));
  for (size_t i = stages.size(); i-- > 0;) whole = allocated(stages[i], whole);
  return whole;
}

// Between what threads store and a barrier behind which the device reads it by itself.
ir::Stmt Emitter::fence_of_stores() {
  ir::GroupCall fence;
  fence.op = ir::GroupOp::kAsyncFence;
  const ir::Stmt out = ir::group_stmt(fence);
  meetings_.add(out);
  return out;
}

// The loops that the threads of a block share, as one.
ir::Stmt Emitter::shared_out(const Emission& stage, bool in_vector) {
  const Band& band = stage.band;
  if (band.begin == band.end) return shared(stage, by_loops(stage, band.begin, in_vector));
  const int last = band.end - 1;
  ir::Stmt body = one_iteration(stage, last, attached_at(stage, last), in_vector);
  for (int level = last; level > band.begin; --level) body = guarded(stage, level, body);
  return shared(stage, body);
}

ir::Stmt Emitter::shared(const Emission& stage, const ir::Stmt& body) const {
  return cooperative(stage.nest, stage.bounds, stage.band, all_.ranges, body);
}

// The reduction's loops over what each thread has of it: first the identity, and in the end the sum of all, joined
// with what the reduction begins with.
ir::Stmt Emitter::across_threads(const Emission& stage, int level, const ir::Stmt& update) const {
  const auto& reduce = *ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
  const ThreadSums& parts = stage.sums;
  const int innermost = static_cast<int>(stage.nest.leaves.size());
  const ir::Stmt identity = te::store_all(parts.own, parts.at, ir::identity_of(reduce));
  const bool for_first = placed_.scope[stage.id] != Scope::kLocal;
  std::vector<ir::Expr> result = sums(parts, for_first);
  if (!reduce.init.empty()) result = ir::combine(reduce, rewrite(stage, reduce.init), result);
  ir::Stmt end = stored(stage, result);
  if (for_first) end = ir::if_then(is_first(parts), end);
  const bool again = launches_.repeats(stage.id, level - 1) || !ir::is_int(parts.at[0], 0);
  end = ir::seq({joined(parts, reduce, again, for_first), end});
  const ir::Stmt all = ir::seq({ir::refresh(init_loops(stage, level, innermost, identity, false)), update,
                                ir::refresh(init_loops(stage, level, innermost, end, false))});
  const ir::Stmt whole = allocated(parts.own, all);
  return parts.within_warp ? whole : allocated(parts.parts, whole);
}

// Products of a warp; where the whole reduction is one, with the sums around it.
ir::Stmt Emitter::by_warp(const Emission& stage) const {
  const WarpOperands& operands = stage.warp.loops;
  const bool of_group = stage.warp.batch != kNone;
  const std::vector<ir::Expr> loads = rewrite(stage, {operands.left, operands.right}, !of_group);
  ir::Stmt product = ir::refresh(multiplied(stage.warp, all_.ranges, loads[0], loads[1]));
  const int level = stage.warp.level;
  if (stage.warp.batch == level) product = as_batch(product, batches_under_way(stage));
  return stage.first_reduction >= level ? across_lanes_of_warp(stage, level, product) : product;
}

// The reduction's loops over what each lane of a warp has of it: first the identity, and in the end the sums where
// they belong, joined with what the reduction begins with.
ir::Stmt Emitter::across_lanes_of_warp(const Emission& stage, int level, const ir::Stmt& update) const {
  const auto& reduce = *ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
  const int inside = intrins_[stage.id].level;
  const ir::Stmt end = finished(stage.warp, all_.ranges, subscripts(stage), stage.stored, [&](const ir::Expr& sum) {
    if (reduce.init.empty()) return stored(stage, {sum});
    return stored(stage, ir::combine(reduce, rewrite(stage, reduce.init), {sum}));
  });
  const ir::Stmt begin = begun(stage.warp, ir::identity_of(reduce)[0]);
  return ir::allocate(stage.warp.sums, ir::seq({ir::refresh(init_loops(stage, level, inside, begin, false)), update,
                                                ir::refresh(init_loops(stage, level, inside, end, false))}));
}

}  // namespace tw::schedule
