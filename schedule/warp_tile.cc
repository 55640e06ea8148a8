#include "schedule/warp_tile.h"

#include "src/ir/simplify.h"

namespace tw::schedule {

using ir::Fragment;

namespace {

// Elements of a fragment that stand side by side in the matrix, along its columns or, of the right operand, its rows.
int beside(const ir::WarpProduct& product, Fragment which) {
  return which == Fragment::kSum ? 2 : 32 / product.operand.bits;
}

ir::Substitution at_element(const WarpTile& tile, Fragment which, const ir::Expr& element) {
  const auto [row, column] = ir::place_of(ir::lane_map(*tile.product, which), tile.lane, element);
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

// `one` for each element of a fragment, in groups of those that stand side by side: in memory too, they are a vector.
ir::Stmt for_each_element(const WarpTile& tile, Fragment which, bool vectors,
                          const std::function<ir::Stmt(const ir::Expr& element)>& one) {
  const int width = beside(*tile.product, which), groups = ir::elements_of(*tile.product, which) / width;
  const ir::Var group("r"), lane("v");
  const ir::Expr element = ir::Expr(group) * ir::Expr(width) + ir::Expr(lane);
  if (width == 1) return ir::loop(group, groups, one(group), ir::ForKind::kUnrolled);
  return ir::loop(group, groups,
                  ir::loop(lane, width, one(element), vectors ? ir::ForKind::kVectorized : ir::ForKind::kUnrolled),
                  ir::ForKind::kUnrolled);
}

std::vector<ir::Expr> sum_at(const WarpTile& tile, const ir::Expr& element) {
  std::vector<ir::Expr> at = tile.at;
  at.push_back(element);
  return at;
}

ir::Bounds with_lanes(ir::Bounds ranges, const WarpTile& tile) {
  if (const auto* lane = ir::as<ir::VarRef>(tile.lane)) ranges[lane->var.id()] = {0, ir::kLanesOfWarp - 1};
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

}  // namespace

WarpTile warp_tile(const StageNest& stage, const StageBounds& bounds, int outermost, const BoundIntrin& intrin,
                   const std::vector<DeviceIndex>& indices, const ir::Buffer& to) {
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
  tile.sums = ir::Buffer(to.name() + ".part", to.element(), shape, Scope::kLocal);
  return tile;
}

ir::Stmt multiplied(const WarpTile& tile, const ir::Bounds& ranges, const ir::Expr& left, const ir::Expr& right) {
  const ir::WarpProduct& product = *tile.product;
  std::vector<ir::Expr> args = {ir::address_of(tile.sums, sum_at(tile, 0), true, true)};
  std::vector<ir::Stmt> steps;
  std::vector<ir::Buffer> fragments;
  for (const auto& [which, value] : {std::pair{Fragment::kLeft, left}, std::pair{Fragment::kRight, right}}) {
    const auto& load = *ir::as<ir::Load>(value);
    const ir::Buffer held(load.buffer.name() + ".part", product.operand, {ir::Expr(ir::elements_of(product, which))},
                          Scope::kLocal);
    steps.push_back(for_each_element(
        tile, which, are_neighbours(load.at, tile.loops.k, beside(product, which), ranges),
        [&](const ir::Expr& e) { return ir::store(held, {e}, ir::substitute(value, at_element(tile, which, e))); }));
    args.push_back(ir::address_of(held, {0}, true, false));
    fragments.push_back(held);
  }
  steps.push_back(ir::evaluate(ir::call_extern(ir::Type::i(32), std::string(product.name), std::move(args))));
  ir::Stmt all = ir::seq(std::move(steps));
  for (const ir::Buffer& fragment : fragments) all = ir::allocate(fragment, all);
  return ir::simplify(all, with_lanes(ranges, tile));
}

ir::Stmt begun(const WarpTile& tile, const ir::Expr& identity) {
  return for_each_element(tile, Fragment::kSum, true,
                          [&](const ir::Expr& e) { return ir::store(tile.sums, sum_at(tile, e), identity); });
}

ir::Stmt finished(const WarpTile& tile, const ir::Bounds& ranges, const std::vector<ir::Expr>& to,
                  const std::function<ir::Stmt(const ir::Expr& sum)>& store) {
  const bool vectors = are_neighbours(to, tile.loops.n, beside(*tile.product, Fragment::kSum), ranges);
  const ir::Stmt all = for_each_element(tile, Fragment::kSum, vectors, [&](const ir::Expr& e) {
    return ir::substitute(store(ir::load(tile.sums, sum_at(tile, e))), at_element(tile, Fragment::kSum, e));
  });
  return ir::simplify(all, with_lanes(ranges, tile));
}

}  // namespace tw::schedule
