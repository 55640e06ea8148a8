// What statements touch, and what of that was touched before.

#include <algorithm>
#include <utility>

#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/lower/sync_launch.h"
#include "src/lower/sync_tried.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int64_t kPairsOfAnAccess = 25;  // what it takes

}  // namespace

void LaunchCheck::reads(const Expr& e, const Stmt& s, const Place& place) {
  ir::walk(e, [&](const Expr& x) {
    if (const auto* l = as<Load>(x)) touch(l->buffer, l->at, l->pred, false, s, place);
    if (const auto* c = as<CallExtern>(x); c && !c->pure)
      report({Kind::kForeignCall, {}, line_of(s), {}, "nobody knows what it touches"});
    if (const auto* sel = as<Select>(x)) {
      reads(sel->cond, s, place);
      reads(sel->yes, s, where(sel->cond, place));
      reads(sel->no, s, where(logical_not(sel->cond), place));
      return false;
    }
    if (const auto* let = as<Let>(x)) {
      reads(let->value, s, place);
      reads(let->body, s, with_let(let->var, let->value, place));
      return false;
    }
    return true;
  });
}

Place LaunchCheck::with_let(const Var& var, const Expr& e, const Place& place) const {
  return has_load(e) ? place.with_own(var, {}) : place.with(var, value(e, place));
}

Place LaunchCheck::where(const Expr& condition, const Place& place) const {
  if (condition.type().is_scalar()) return place.under(condition);
  return place.with_own(lane_, Expr(condition.type().lanes)).under(lane_of(value(condition, place), lane_));
}

Access LaunchCheck::with_conditions(const Place& place) const {
  Access out;
  out.own = place.own;
  out.conditions = required_;
  for (const Expr& condition : place.conditions) out.conditions.push_back(value(condition, place));
  return out;
}

void LaunchCheck::touch(const Buffer& buffer, const std::vector<Expr>& at, const Expr& pred, bool writes, const Stmt& s,
                        const Place& place) {
  if (buffer.scope() == Scope::kLocal) touch_registers(buffer, s);
  if (!changing_.contains(buffer.id()) || of_roles_.contains(buffer.id())) return;
  Touched access{with_conditions(place), {}, {}, 0};
  if (later_) access.behind = 0;
  access.of_group = of_group_;
  access.unfenced = writes && !turn_.number && operands_.contains(buffer.id());
  access.turn = turn_.number;
  access.ring = turn_.ring;
  access.waits = turn_.waits;
  access.buffer = declared_.at(buffer.id());
  access.writes = writes;
  access.statement = s;
  const Scope scope = access.buffer.scope();
  if (scope == Scope::kLocal || (between_blocks_ && scope == Scope::kShared)) return;
  int lanes = 1;
  for (const Expr& subscript : at) {
    lanes = std::max<int>(lanes, subscript.type().lanes);
    access.at.push_back(straightened(lane_of(value(subscript, place), lane_), access.own, bounds_));
  }
  const auto is_lane = [&](const OwnVariable& v) { return v.var == lane_; };
  if (lanes > 1 && std::ranges::none_of(access.own, is_lane)) access.own.push_back({lane_, Expr(lanes)});
  if (pred) access.conditions.push_back(lane_of(value(pred, place), lane_));
  AccessForms::reduce(access);
  access.form = forms_.of(access, bounds_);
  access.number = ++met_;
  pairs_ += static_cast<int64_t>(open_.size()) + kPairsOfAnAccess;
  const bool known =
      std::ranges::any_of(open_, [&](const Touched& a) { return a.form == access.form && alike(a, access); });
  if (!between_blocks_ && quiet_ == 0) {
    if (writes && !known) compare(access, access, Apart::kThreads);
    for (const Touched& earlier : open_) {
      if (earlier.over)
        expect_fenced(earlier, access);
      else if (!known || earlier.behind)
        compare(earlier, access, earlier.behind ? Apart::kNothing : Apart::kThreads);
    }
  }
  if (!known) open_.push_back(std::move(access));
}

void LaunchCheck::compare(const Touched& a, const Touched& b, Apart apart) {
  if (a.buffer != b.buffer || !(a.writes || b.writes)) return;
  if (b.waits && !!a.turn) return;  // what it waits for
  const Kind kind = apart == Apart::kNothing ? Kind::kOnItsWay
                    : a.writes && b.writes   ? Kind::kWriteAfterWrite
                    : a.writes               ? Kind::kReadAfterWrite
                                             : Kind::kWriteAfterRead;
  const std::tuple both(kind, a.statement.get(), b.statement.get(), a.buffer.id());
  if (reported_.contains(both)) return;
  const Verdict& verdict = known_.of(a, b, indices_, apart, changing_);
  if (verdict.apart()) return;
  reported_.insert(both);
  report({kind, a.buffer.name(), line_of(a.statement), line_of(b.statement), verdict.why, verdict.certain});
}

void LaunchCheck::expect_fenced(const Touched& store, const Touched& now) {
  if (store.buffer != now.buffer || !now.of_group) return;
  const std::tuple both(Kind::kOnItsWay, store.statement.get(), now.statement.get(), store.buffer.id());
  if (reported_.contains(both)) return;
  const Verdict& verdict = known_.of(store, now, indices_, Apart::kNothing, changing_);
  if (verdict.apart()) return;
  reported_.insert(both);
  report({Kind::kOnItsWay, store.buffer.name(), line_of(store.statement), line_of(now.statement),
          "threads store there, and no fence.async stands between that and the barrier", verdict.certain});
}

}  // namespace tw::lower
