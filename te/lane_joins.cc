// Halves of partial results, added to halves.
#include "te/lane_joins.h"

#include "src/ir/walk.h"
#include "te/statements.h"

namespace tw::te {

std::vector<LaneJoin> lane_joins(int64_t lanes) {
  std::vector<LaneJoin> joins;
  for (int64_t distance; lanes > 1; lanes = distance) {
    distance = (lanes + 1) / 2;
    joins.push_back({lanes - distance, distance});
  }
  return joins;
}

ir::Stmt join_lanes(const ir::Reduce& reduce, const std::vector<ir::Buffer>& partial, const std::vector<ir::Expr>& at,
                    int64_t lanes, ir::ForKind kind) {
  const auto place = [&](const ir::Expr& lane) {
    std::vector<ir::Expr> whole = at;
    whole.push_back(lane);
    return whole;
  };
  std::vector<ir::Stmt> steps;
  for (const LaneJoin& join : lane_joins(lanes)) {
    const ir::Var var("lane");
    const ir::Expr lane = join.lanes == 1 ? ir::Expr(0) : ir::Expr(var);
    const ir::Expr up = join.lanes == 1 ? ir::Expr(join.distance) : lane + ir::Expr(join.distance);
    std::vector<ir::Expr> left, right;
    for (const ir::Buffer& buffer : partial) {
      left.push_back(ir::load(buffer, place(lane)));
      right.push_back(ir::load(buffer, place(up)));
    }
    const ir::Stmt one = store_all(partial, place(lane), ir::combine(reduce, left, right));
    steps.push_back(join.lanes == 1 ? one : ir::loop(var, join.lanes, one, kind));
  }
  return ir::seq(std::move(steps));
}

}  // namespace tw::te
