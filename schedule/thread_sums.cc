#include "schedule/thread_sums.h"

#include <algorithm>

#include "schedule/conditions.h"
#include "src/ir/simplify.h"
#include "src/ir/warp_products.h"
#include "te/lane_joins.h"
#include "te/statements.h"

namespace tw::schedule {

namespace {

std::vector<ir::Expr> loads(const std::vector<ir::Buffer>& from, const std::vector<ir::Expr>& at) {
  std::vector<ir::Expr> values;
  for (const ir::Buffer& buffer : from) values.push_back(ir::load(buffer, at));
  return values;
}

AxisId summed_along(const StageNest& stage, const StageBounds& bounds, Annotation index) {
  for (AxisId leaf : stage.leaves)
    if (stage.axes[leaf].reduction && stage.axes[leaf].annotation == index && bounds.loop[leaf]) return leaf;
  return kNone;
}

}  // namespace

ThreadSums thread_sums(const StageNest& stage, const StageBounds& bounds, int outermost,
                       const std::vector<DeviceIndex>& indices, const std::vector<ir::Buffer>& to) {
  ThreadSums made;
  std::vector<ir::Expr> slots;
  for (const DeviceIndex& index : indices) {
    if (!is_thread(index.kind)) continue;
    if (const AxisId leaf = summed_along(stage, bounds, index.kind); leaf != kNone) {
      made.summed.push_back(static_cast<int>(slots.size()));
      made.terms.push_back(bounds.extent[leaf].value());
      if (index.kind == Annotation::kThreadX && index.extent == made.terms.back() &&
          made.terms.back() % ir::kLanesOfWarp == 0)
        made.lanes = made.summed.back();
    }
    slots.push_back(index.extent.expr());
    made.slot.emplace_back(index.var);
  }
  if (made.summed.empty()) return {};
  if (std::ranges::any_of(to, [](const ir::Buffer& buffer) { return buffer.element().is_packed(); }))
    made.lanes = kNone;
  made.within_warp = made.lanes != kNone && made.summed.size() == 1 && made.terms[0] == ir::kLanesOfWarp;
  std::vector<ir::Expr> shape;
  for (int position = outermost; position < static_cast<int>(stage.leaves.size()); ++position) {
    const AxisId leaf = stage.leaves[position];
    if (stage.axes[leaf].reduction || is_bound(stage.axes[leaf].annotation) || !bounds.loop[leaf]) continue;
    shape.push_back(bounds.extent[leaf].expr());
    made.at.emplace_back(bounds.loop[leaf]);
  }
  if (shape.empty()) {
    shape.emplace_back(1);
    made.at.emplace_back(0);
  }
  for (const ir::Buffer& buffer : to) {
    made.own.emplace_back(buffer.name() + ".part", buffer.element(), shape, Scope::kLocal);
    made.parts.emplace_back(buffer.name() + ".parts", buffer.element(), slots, Scope::kShared);
  }
  return made;
}

namespace {

constexpr size_t kJoinsAtOnce = 3;                       // of 8 parts that a thread reads at once
constexpr int64_t kRegisters = (1 << kJoinsAtOnce) - 2;  // for each level but the last its own

// How many of the joins from `from` on halve what is left; at most kJoinsAtOnce, and one otherwise.
size_t joins_at_once(const std::vector<te::LaneJoin>& joins, size_t from) {
  size_t n = 0;
  while (n < kJoinsAtOnce && from + n < joins.size() && joins[from + n].lanes == joins[from + n].distance) ++n;
  return std::max<size_t>(n, 1);
}

struct Tree {
  std::vector<ir::Stmt> steps;   // in registers, but for the last join,
  std::vector<ir::Expr> values;  // which gives these
};

std::vector<ir::Buffer> join_registers(const ThreadSums& all) {
  std::vector<ir::Buffer> made;
  for (const ir::Buffer& parts : all.parts)
    made.emplace_back(parts.name() + ".joined", parts.element(), std::vector<ir::Expr>{kRegisters}, Scope::kLocal);
  return made;
}

// What a thread joins by itself: the parts at `slot`, and so many up of it along its index `along`.
Tree tree(const ThreadSums& all, const ir::Reduce& reduce, const std::vector<ir::Buffer>& registers,
          const std::vector<ir::Expr>& slot, int along, int64_t apart, size_t joins) {
  Tree made;
  int64_t from = 0, to = 0;  // registers of the parts of the last level, and of this one
  for (int64_t half = int64_t{1} << (joins - 1); half >= 1; half /= 2) {
    const bool in_registers = half < int64_t{1} << (joins - 1);
    const auto value = [&](const ir::Expr& which) {
      if (in_registers) return loads(registers, {ir::simplify(which + ir::Expr(from))});
      std::vector<ir::Expr> at = slot;
      at[along] = ir::simplify(at[along] + which * ir::Expr(apart));
      return loads(all.parts, at);
    };
    const auto joined = [&](const ir::Expr& which) {
      return ir::combine(reduce, value(which), value(ir::simplify(which + ir::Expr(half))));
    };
    if (half == 1) {
      made.values = joined(0);
    } else {
      const ir::Var part("part");
      made.steps.push_back(
          ir::loop(part, half, te::store_all(registers, {ir::simplify(part + ir::Expr(to))}, joined(part))));
    }
    from = to;
    to += half;
  }
  return made;
}

// The first of the joins along an index of which the lanes of a warp have all parts; the rest of them are exchanges.
size_t joins_of_block(const ThreadSums& all, int along, const std::vector<te::LaneJoin>& joins) {
  if (along != all.lanes) return joins.size();
  size_t n = 0;
  while (n < joins.size() && joins[n].lanes + joins[n].distance > ir::kLanesOfWarp) ++n;
  return n;
}

// Each lane gets what that one has, in place `to` of its own.
std::vector<ir::Stmt> exchanged(const ThreadSums& all, const std::vector<ir::Buffer>& from, const ir::Expr& to,
                                const ir::Expr& lane) {
  std::vector<ir::Stmt> calls;
  for (size_t n = 0; n < from.size(); ++n)
    calls.push_back(ir::evaluate(ir::call_extern(
        ir::Type::i(32), std::string(ir::kShuffle),
        {ir::address_of(from[n], {to}, false, true), ir::address_of(all.own[n], all.at, true, false), lane}, false)));
  return calls;
}

// The joins from `first` on, by the lanes of whole warps; all of them come to it.
ir::Stmt joined_by_lanes(const ThreadSums& all, const ir::Reduce& reduce, const std::vector<te::LaneJoin>& joins,
                         size_t first) {
  const auto exchanges = static_cast<int64_t>(joins.size() - first + (all.within_warp ? 1 : 0));
  std::vector<ir::Buffer> from;
  for (const ir::Buffer& own : all.own)
    from.emplace_back(own.name() + ".from", own.element(), std::vector<ir::Expr>{exchanges}, Scope::kLocal);
  const ir::Expr& lane = all.slot[all.lanes];
  std::vector<ir::Stmt> steps;
  int64_t to = 0;
  for (size_t j = first; j < joins.size(); ++j, ++to) {
    const ir::Expr other = ir::floormod(lane + ir::Expr(joins[j].distance), ir::Expr(ir::kLanesOfWarp));
    std::ranges::copy(exchanged(all, from, to, other), std::back_inserter(steps));
    ir::Stmt join = te::store_all(all.own, all.at, ir::combine(reduce, loads(all.own, all.at), loads(from, {to})));
    // Where they halve what is left, nobody reads the others again.
    if (joins[j].lanes != joins[j].distance) join = ir::if_then(lane < ir::Expr(joins[j].lanes), join);
    steps.push_back(join);
  }
  if (all.within_warp) {
    std::ranges::copy(exchanged(all, from, to, 0), std::back_inserter(steps));
    steps.push_back(te::store_all(all.own, all.at, loads(from, {to})));
  }
  ir::Stmt out = ir::seq(std::move(steps));
  for (const ir::Buffer& buffer : from) out = ir::allocate(buffer, out);
  return out;
}

// Whether exchanges follow the joins of the block along this of the indices.
bool lanes_go_on(const ThreadSums& all, size_t summed) {
  if (all.summed[summed] == all.lanes) return true;
  return summed + 1 < all.summed.size() && all.summed[summed + 1] == all.lanes &&
         joins_of_block(all, all.lanes, te::lane_joins(all.terms[summed + 1])) == 0;
}

ir::Expr are_first(const ThreadSums& all, size_t of_summed) {
  ir::Expr first;
  for (size_t n = 0; n < of_summed; ++n) first = both(first, all.slot[all.summed[n]] < ir::Expr(1));
  return first;
}

ir::Stmt where(const ir::Expr& cond, const ir::Stmt& s) { return cond ? ir::if_then(cond, s) : s; }

}  // namespace

ir::Stmt joined(const ThreadSums& all, const ir::Reduce& reduce, bool again, bool for_first) {
  if (all.within_warp) return joined_by_lanes(all, reduce, te::lane_joins(all.terms[0]), 0);
  const ir::Stmt meet = ir::sync(ir::SyncOp::kBlock);
  std::vector<ir::Stmt> steps;
  if (again) steps.push_back(meet);
  steps.push_back(te::store_all(all.parts, all.slot, loads(all.own, all.at)));
  steps.push_back(meet);
  for (size_t n = 0; n < all.summed.size(); ++n) {
    const int along = all.summed[n];
    const std::vector<te::LaneJoin> joins = te::lane_joins(all.terms[n]);
    const size_t of_block = joins_of_block(all, along, joins);
    for (size_t j = 0, at_once = 0; j < of_block; j += at_once) {
      at_once = std::min(joins_at_once(joins, j), of_block - j);
      const int64_t left = joins[j + at_once - 1].distance;
      const std::vector<ir::Buffer> registers = at_once > 1 ? join_registers(all) : std::vector<ir::Buffer>();
      Tree one = tree(all, reduce, registers, all.slot, along, left, at_once);
      one.steps.push_back(te::store_all(all.parts, all.slot, one.values));
      ir::Stmt join = ir::seq(std::move(one.steps));
      for (const ir::Buffer& buffer : registers) join = ir::allocate(buffer, std::move(join));
      const ir::Expr joins_here = all.slot[along] < ir::Expr(joins[j + at_once - 1].lanes);
      steps.push_back(ir::if_then(both(are_first(all, n), joins_here), std::move(join)));
      // Who goes on alone, or by exchanges, reads what it has stored itself, and what all have met behind.
      const bool alone = joins[j + at_once - 1].lanes == 1 && j + at_once < joins.size();
      if (!alone && !(j + at_once == of_block && lanes_go_on(all, n))) steps.push_back(meet);
    }
    if (of_block < joins.size()) {
      ir::Expr of_warp;
      if (of_block > 0) of_warp = all.slot[along] < ir::Expr(ir::kLanesOfWarp);
      steps.push_back(
          where(both(are_first(all, n), of_warp), ir::seq({te::store_all(all.own, all.at, loads(all.parts, all.slot)),
                                                           joined_by_lanes(all, reduce, joins, of_block)})));
      if (!for_first) {
        steps.push_back(ir::if_then(is_first(all), te::store_all(all.parts, all.slot, loads(all.own, all.at))));
        steps.push_back(meet);
      }
    }
  }
  if (for_first && all.lanes == kNone && steps.size() > (again ? 3 : 2)) steps.pop_back();
  return ir::seq(std::move(steps));
}

std::vector<ir::Expr> sums(const ThreadSums& all, bool for_first) {
  if (all.within_warp || (for_first && all.lanes != kNone)) return loads(all.own, all.at);
  std::vector<ir::Expr> at = all.slot;
  for (int along : all.summed) at[along] = 0;
  return loads(all.parts, at);
}

ir::Expr is_first(const ThreadSums& all) { return are_first(all, all.summed.size()); }

}  // namespace tw::schedule
