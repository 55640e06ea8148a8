// Turns of barriers that copies of boxes have, in the walk of sync_check.

#include <utility>

#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/lower/sync_launch.h"
#include "src/lower/sync_roles.h"

namespace tw::lower {

using namespace ir;

void LaunchCheck::of_turn(const AsyncCall& call, const Stmt& s, const Place& place) {
  if (between_blocks_) return;
  if (!call.turn) {
    turns_.makes_or_ends(call);
    arrivals_[call.ring.buffer.id()] = call.arrivals;
    const Var each("barrier");
    return touch(call.ring.buffer, {call.ring.at[0] + Expr(each)}, {}, true, s, place.with_own(each, Expr(call.slots)));
  }
  if (!of_roles_.empty()) {
    if (call.op == AsyncOp::kLoad) expect_only_boxes(call, s);
    return touch(call.ring.buffer, {call.ring.at[0] + floormod(call.turn, Expr(call.slots))}, {}, false, s, place);
  }
  if (call.op == AsyncOp::kArrive) return on_its_way(call, s, "nobody waits for those who arrive in a role of his own");
  turn_ = {simplify(value(call.turn, place), bounds_), call.ring.buffer.id(), call.op == AsyncOp::kWait};
  on_its_way(call, s, turns_.not_made(turn_));
  if (call.op == AsyncOp::kExpect) {
    on_its_way(call, s, turns_.brings_all(turn_));
    on_its_way(call, s, turns_.begins(turn_, call.bytes, bounds_));
  }
  if (call.op == AsyncOp::kLoad) {
    box(call, s, place);
  } else {
    touch(call.ring.buffer, {call.ring.at[0] + floormod(turn_.number, Expr(call.slots))}, {}, !turn_.waits, s, place);
  }
  if (turn_.waits) is_over(call, s);
  turn_ = {};
}

void LaunchCheck::on_its_way(const AsyncCall& call, const Stmt& s, const std::string& why) {
  if (!why.empty()) report({Kind::kOnItsWay, call.ring.buffer.name(), line_of(s), line_of(s), why});
}

bool LaunchCheck::is_of(const Touched& a, const TurnOf& turn) const {
  return !a.turn ? !turn.number : !!turn.number && a.ring == turn.ring && equal(a.turn, turn.number);
}

void LaunchCheck::is_over(const AsyncCall& call, const Stmt& s) {
  on_its_way(call, s, turns_.brings_all(turn_));
  const size_t came = std::erase_if(open_, [&](const Touched& a) { return a.behind && is_of(a, turn_); });
  if (came == 0 && quiet_ == 0) on_its_way(call, s, "nothing is seen to come with turn " + to_string(turn_.number));
}

void LaunchCheck::expect_only_boxes(const AsyncCall& call, const Stmt& s) {
  if (changing_.contains(call.from.buffer.id()))
    report({Kind::kOnItsWay, call.from.buffer.name(), line_of(s), line_of(s), "the launch writes what the box reads"});
  if (stored_.contains(call.to.buffer.id()))
    report({Kind::kOnItsWay, call.to.buffer.name(), line_of(s), line_of(s),
            "threads store there too, without a fence between the two ways to memory"});
}

void LaunchCheck::box(const AsyncCall& call, const Stmt& s, const Place& place) {
  expect_only_boxes(call, s);
  on_its_way(call, s, turns_.brings(turn_, bytes_in_block(call, indices_)));
  std::vector<Expr> at = call.to.at;
  Place of_box = place;
  const std::vector<Expr>& shape = declared_.at(call.to.buffer.id()).shape();
  int64_t elements = elements_of(call);  // of the dimensions that are left
  for (size_t d = at.size(); d-- > 0 && elements > 1;) {
    const int64_t extent = at.size() == 1 ? elements : as_int(shape[d]).value_or(elements);
    const Var each("e" + std::to_string(d));
    of_box = of_box.with_own(each, Expr(extent));
    at[d] = at[d] + Expr(each);
    elements /= extent;
  }
  later_ = true;
  touch(call.to.buffer, at, {}, true, s, of_box);
  later_ = false;
}

}  // namespace tw::lower
