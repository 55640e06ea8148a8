#include "schedule/warp_tile.h"

#include <algorithm>

#include "src/ir/simplify.h"
#include "src/lower/lanes_alike.h"

namespace tw::schedule {

using ir::Fragment;

namespace {

// Elements of a fragment that stand side by side in the matrix, along its columns or, of the right operand, its rows.
int beside(const ir::WarpProduct& product, Fragment which) {
  return which == Fragment::kSum ? 2 : 32 / product.operand.bits;
}

ir::Substitution at_element(const WarpTile& tile, Fragment which, const ir::Expr& lane, const ir::Expr& element) {
  const auto [row, column] = ir::place_of(ir::lane_map(*tile.product, which), lane, element);
  switch (which) {
    case Fragment::kSum:
      return {{tile.loops.m.id(), row}, {tile.loops.n.id(), column}};
    case Fragment::kLeft:
      return {{tile.loops.m.id(), row}, {tile.loops.k.id(), column}};
    case Fragment::kRight:
      return {{tile.loops.k.id(), row}, {tile.loops.n.id(), column}};
  }
  return {};
}

// What is to hold of an element.
struct Under {
  std::function<ir::Expr(const ir::Expr& element)> condition;  // empty: it always does
  ir::Bounds ranges;
};

// `one` for each element of a fragment, in groups of those that stand side by side: in memory too, they are a vector.
ir::Stmt for_each_element(const WarpTile& tile, Fragment which, bool vectors,
                          const std::function<ir::Stmt(const ir::Expr& element)>& one, const Under& under = {}) {
  const int width = beside(*tile.product, which), groups = ir::elements_of(*tile.product, which) / width;
  const ir::Var group("r"), lane("v");
  const ir::Expr element = ir::Expr(group) * ir::Expr(width) + ir::Expr(lane);
  const ir::ForKind all =
      tile.product->lanes > ir::kLanesOfWarp ? ir::ForKind::kSerial : ir::ForKind::kUnrolled;  // which are many
  if (width == 1) return ir::loop(group, groups, one(group), all);
  const auto of_group = [&](const ir::Stmt& each) {
    return ir::loop(lane, width, each, vectors ? ir::ForKind::kVectorized : ir::ForKind::kUnrolled);
  };
  if (!under.condition) return ir::loop(group, groups, of_group(one(element)), all);
  ir::Bounds ranges = under.ranges;
  ranges[group.id()] = {0, groups - 1};
  const ir::Expr holds = under.condition(element), of_all = lower::of_all_lanes(holds, lane, width, ranges);
  return ir::loop(group, groups,
                  of_all ? ir::if_then(of_all, of_group(one(element))) : of_group(ir::if_then(holds, one(element))),
                  all);
}

std::vector<ir::Expr> sum_at(const WarpTile& tile, const ir::Expr& element) {
  std::vector<ir::Expr> at = tile.at;
  at.push_back(element);
  return at;
}

ir::Bounds with_lanes(ir::Bounds ranges, const WarpTile& tile) {
  if (const auto* lane = ir::as<ir::VarRef>(tile.lane)) ranges[lane->var.id()] = {0, tile.product->lanes - 1};
  return ranges;
}

// Whether elements that stand side by side, from a multiple of `width` along the loop on, are neighbours in a row.
bool are_neighbours(const std::vector<ir::Expr>& at, const ir::Var& along, int width, ir::Bounds ranges) {
  const ir::Var group("group"), next("next");
  ranges[group.id()] = {0, ir::Interval::kPosInf};
  ranges[next.id()] = {0, width - 1};
  const ir::Expr first = ir::Expr(group) * ir::Expr(width);
  for (size_t d = 0; d < at.size(); ++d) {
    const ir::Expr moved =
        ir::substitute(at[d], {{along.id(), first + ir::Expr(next)}}) - ir::substitute(at[d], {{along.id(), first}});
    const ir::Expr wanted = d + 1 == at.size() ? ir::Expr(next) : ir::Expr(0);
    if (!ir::is_int(ir::simplify(moved - wanted, ranges), 0)) return false;
  }
  return true;
}

// Whether rows of so many elements, from multiples of `width` along the loop on, lie in memory one after the other from
// multiples of 16 bytes on: in the last dimension, whose rows are multiples of that too.
bool are_rows(const ir::Load& load, const ir::Var& along, int width, ir::Bounds ranges) {
  if (!are_neighbours(load.at, along, width, ranges)) return false;
  const ir::Var group("group");
  ranges[group.id()] = {0, ir::Interval::kPosInf};
  const ir::Expr first = ir::substitute(load.at.back(), {{along.id(), ir::Expr(group) * ir::Expr(width)}});
  const auto is_multiple = [&](const ir::Expr& e) {
    return ir::is_int(ir::simplify(ir::floormod(e, ir::Expr(width)), ranges), 0);
  };
  if (!is_multiple(first)) return false;
  const std::vector<ir::Expr>& strides = load.buffer.strides();
  if (strides.empty()) return is_multiple(load.buffer.shape().back());
  return ir::is_int(strides.back(), 1) && std::all_of(strides.begin(), strides.end() - 1, is_multiple);
}

// Where a fragment is kept, one for each of some loops, and what it is loaded from.
struct Held {
  Fragment which;
  ir::Expr value;
  ir::Buffer buffer;
  std::vector<WarpTile::Loop> loops;

  std::vector<ir::Expr> at(const ir::Expr& element) const {
    std::vector<ir::Expr> out;
    for (const WarpTile::Loop& loop : loops) out.emplace_back(loop.var);
    out.push_back(element);
    return out;
  }
};

// The fragments of two iterations of the last loop lie side by side: one load brings both.
bool come_in_pairs(const Held& held, int matrices) {
  const auto extent = held.loops.empty() ? std::nullopt : ir::as_int(held.loops.back().extent);
  return matrices == 2 && extent && *extent % 2 == 0;
}

// By ldmatrix: the lane names a row of 16 bytes, of elements along `along` at some element of the fragment; empty where
// they do not lie so. The last of the loops is halved where one load brings two of its fragments.
ir::Stmt by_matrices(const WarpTile& tile, Held& held, const ir::Bounds& ranges) {
  const auto& load = *ir::as<ir::Load>(held.value);
  const ir::WarpProduct& product = *tile.product;
  const int bits = product.operand.bits, row = 8 * ir::kMatrixRowBytes / bits, word = 32 / bits;
  if (load.buffer.scope() != Scope::kShared || bits > 32) return {};
  const ir::Var& other = held.which == Fragment::kLeft ? tile.loops.m : tile.loops.n;
  const bool plain = are_rows(load, tile.loops.k, row, ranges);
  if (!plain && (bits != 16 || !are_rows(load, other, row, ranges))) return {};
  const int matrices = ir::elements_of(product, held.which) / word;
  const ir::Expr in_matrix = ir::floormod(tile.lane, ir::Expr(ir::kMatrixRows));
  const ir::Expr matrix =
      ir::floormod(ir::floordiv(tile.lane, ir::Expr(ir::kMatrixRows)), ir::Expr(matrices)) * ir::Expr(word);
  // The first lane of a group of four has the first elements of the row; transposed, rows count along k.
  ir::Substitution at = plain ? at_element(tile, held.which, in_matrix * ir::Expr(4), matrix)
                              : at_element(tile, held.which, ir::Expr(0), matrix);
  if (!plain) at[tile.loops.k.id()] = at[tile.loops.k.id()] + in_matrix;
  std::vector<ir::Expr> to = held.at(0);
  const bool pairs = come_in_pairs(held, matrices);
  if (pairs) {
    WarpTile::Loop& last = held.loops.back();
    const ir::Expr first = ir::Expr(last.var) * ir::Expr(2);
    const ir::Expr of_lane = ir::floordiv(tile.lane, ir::Expr(matrices * ir::kMatrixRows));
    at[last.var.id()] = first + of_lane;
    to[to.size() - 2] = first;
    last.extent = *ir::as_int(last.extent) / 2;
  }
  std::vector<ir::Expr> from;
  for (const ir::Expr& subscript : load.at) from.push_back(ir::substitute(subscript, at));
  const std::string name = std::string("ldmatrix.x") + (pairs || matrices == 4 ? "4" : "2") + (plain ? "" : ".trans");
  return ir::evaluate(ir::call_extern(ir::Type::i(32), name,
                                      {ir::address_of(held.buffer, std::move(to), false, true),
                                       ir::address_of(load.buffer, std::move(from), true, false)}));
}

// A lane's fragments.
ir::Stmt loaded(const WarpTile& tile, Held held, const ir::Bounds& ranges) {
  const auto& load = *ir::as<ir::Load>(held.value);
  ir::Stmt all = by_matrices(tile, held, ranges);
  if (!all) {
    const bool vectors = are_neighbours(load.at, tile.loops.k, beside(*tile.product, held.which), ranges);
    all = for_each_element(tile, held.which, vectors, [&](const ir::Expr& e) {
      return ir::store(held.buffer, held.at(e), ir::substitute(held.value, at_element(tile, held.which, tile.lane, e)));
    });
  }
  for (auto loop = held.loops.rbegin(); loop != held.loops.rend(); ++loop) all = ir::loop(loop->var, loop->extent, all);
  return ir::refresh(all);
}

}  // namespace

WarpTile warp_tile(const StageNest& stage, const StageBounds& bounds, int outermost, const BoundIntrin& intrin,
                   const std::vector<DeviceIndex>& indices, const ir::Buffer& to, int innermost) {
  if (!intrin.product) return {};
  WarpTile tile;
  tile.product = intrin.product;
  tile.loops = intrin.operands;
  for (const DeviceIndex& index : indices)
    if (index.kind == Annotation::kThreadX) tile.lane = index.var;
  std::vector<ir::Expr> shape;
  for (int position = outermost; position < intrin.level; ++position) {
    const AxisId leaf = stage.leaves[position];
    if (stage.axes[leaf].reduction || is_bound(stage.axes[leaf].annotation) || !bounds.loop[leaf]) continue;
    shape.push_back(bounds.extent[leaf].expr());
    tile.at.emplace_back(bounds.loop[leaf]);
  }
  shape.emplace_back(ir::elements_of(*tile.product, Fragment::kSum));
  if (tile.product->lanes > ir::kLanesOfWarp) tile.batch = std::max(outermost, innermost + 1);
  tile.level = intrin.level;
  for (; tile.level > std::max(outermost, innermost + 1); --tile.level) {
    const Axis& axis = stage.axes[stage.leaves[tile.level - 1]];
    if (axis.reduction || is_bound(axis.annotation)) break;
  }
  for (int position = tile.level; position < intrin.level; ++position)
    if (const AxisId leaf = stage.leaves[position]; bounds.loop[leaf])
      tile.inner.push_back({bounds.loop[leaf], bounds.extent[leaf].expr()});
  tile.sums = ir::Buffer(to.name() + ".part", to.element(), shape, Scope::kLocal);
  return tile;
}

ir::Stmt wait_for_batches(int64_t under_way) {
  ir::GroupCall out;
  out.op = ir::GroupOp::kWait;
  out.count = under_way;
  return ir::group_stmt(out);
}

ir::Stmt as_batch(const ir::Stmt& products, int64_t under_way) {
  const auto call = [](ir::GroupOp op) {
    ir::GroupCall out;
    out.op = op;
    return ir::group_stmt(out);
  };
  return ir::seq({call(ir::GroupOp::kFence), products, call(ir::GroupOp::kCommit), wait_for_batches(under_way)});
}

namespace {

ir::Stmt multiplied_in_place(const WarpTile& tile, const ir::Bounds& ranges, const ir::Expr& left,
                             const ir::Expr& right) {
  ir::GroupCall call;
  call.op = ir::GroupOp::kProduct;
  call.product = tile.product;
  call.sums = {tile.sums, sum_at(tile, 0), true, true};
  const ir::Substitution first = {{tile.loops.m.id(), 0}, {tile.loops.n.id(), 0}, {tile.loops.k.id(), 0}};
  const auto operand = [&](const ir::Expr& value, ir::GroupOperand lies) {
    const auto& load = *ir::as<ir::Load>(value);
    std::vector<ir::Expr> at;
    for (const ir::Expr& subscript : load.at) at.push_back(ir::substitute(subscript, first));
    lies.at = {load.buffer, std::move(at), true, false};
    return lies;
  };
  call.left = operand(left, tile.loops.left_lies);
  call.right = operand(right, tile.loops.right_lies);
  ir::Stmt all = ir::group_stmt(call);
  for (auto loop = tile.inner.rbegin(); loop != tile.inner.rend(); ++loop)
    all = ir::loop(loop->var, loop->extent, all, ir::ForKind::kUnrolled);
  return ir::simplify(all, with_lanes(ranges, tile));
}

}  // namespace

ir::Stmt multiplied(const WarpTile& tile, const ir::Bounds& ranges, const ir::Expr& left, const ir::Expr& right) {
  const ir::WarpProduct& product = *tile.product;
  if (product.lanes > ir::kLanesOfWarp) return multiplied_in_place(tile, ranges, left, right);
  std::vector<ir::Expr> args = {ir::address_of(tile.sums, sum_at(tile, 0), true, true)};
  std::vector<ir::Stmt> steps;
  std::vector<ir::Buffer> fragments;
  for (const auto& [which, value] : {std::pair{Fragment::kLeft, left}, std::pair{Fragment::kRight, right}}) {
    Held held{which, value, {}, {}};
    std::vector<ir::Expr> shape;
    for (const WarpTile::Loop& loop : tile.inner) {
      if (!ir::uses_var(value, loop.var)) continue;
      shape.push_back(loop.extent);
      held.loops.push_back(loop);
    }
    shape.emplace_back(ir::elements_of(product, which));
    held.buffer = {ir::as<ir::Load>(value)->buffer.name() + ".part", product.operand, shape, Scope::kLocal};
    args.push_back(ir::address_of(held.buffer, held.at(0), true, false));
    fragments.push_back(held.buffer);
    steps.push_back(loaded(tile, std::move(held), ranges));
  }
  ir::Stmt all = ir::evaluate(ir::call_extern(ir::Type::i(32), std::string(product.name), std::move(args)));
  for (auto loop = tile.inner.rbegin(); loop != tile.inner.rend(); ++loop) all = ir::loop(loop->var, loop->extent, all);
  steps.push_back(all);
  all = ir::seq(std::move(steps));
  for (const ir::Buffer& fragment : fragments) all = ir::allocate(fragment, all);
  return ir::simplify(all, with_lanes(ranges, tile));
}

ir::Stmt begun(const WarpTile& tile, const ir::Expr& identity) {
  return for_each_element(tile, Fragment::kSum, true,
                          [&](const ir::Expr& e) { return ir::store(tile.sums, sum_at(tile, e), identity); });
}

ir::Stmt finished(const WarpTile& tile, const ir::Bounds& ranges, const std::vector<ir::Expr>& to,
                  const ir::Expr& where, const std::function<ir::Stmt(const ir::Expr& sum)>& store) {
  const bool vectors = are_neighbours(to, tile.loops.n, beside(*tile.product, Fragment::kSum), ranges);
  Under under{{}, with_lanes(ranges, tile)};
  if (where)
    under.condition = [&](const ir::Expr& e) {
      return ir::substitute(where, at_element(tile, Fragment::kSum, tile.lane, e));
    };
  const auto stored = [&](const ir::Expr& e) {
    return ir::substitute(store(ir::load(tile.sums, sum_at(tile, e))), at_element(tile, Fragment::kSum, tile.lane, e));
  };
  const ir::Stmt all = for_each_element(tile, Fragment::kSum, vectors, stored, under);
  return ir::simplify(all, with_lanes(ranges, tile));
}

}  // namespace tw::schedule
