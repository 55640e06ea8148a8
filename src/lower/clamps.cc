#include "src/lower/clamps.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "src/ir/equal.h"
#include "src/ir/interval.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

// A remainder of which most is the dividend itself, less whole turns.
struct Turned {
  Expr inside;
  int64_t below, above;  // how far it reaches beyond the divisor's range
};
std::optional<Turned> turns_of(const Binary& b, const Bounds& bounds) {
  constexpr int64_t kMostOutside = 4;  // a quarter of what is inside
  const auto by = b.op == BinOp::kFloorMod ? as_int(b.b) : std::nullopt;
  if (!by || *by <= 0 || has_load(b.a)) return std::nullopt;
  const Interval all = interval_of(b.a, bounds);
  if (!all.bounded()) return std::nullopt;
  const int64_t outside = *by / kMostOutside, turns = floor_div(all.lo + outside, *by) * *by;
  const int64_t below = std::max<int64_t>(0, turns - all.lo), above = std::max<int64_t>(0, all.hi - turns - *by + 1);
  if (below > outside || above > outside) return std::nullopt;
  return Turned{turns == 0 ? b.a : b.a - Expr(turns), below, above};
}

// A subscript without its limits, and where it is the same.
class Unlimited {
 public:
  explicit Unlimited(const Bounds& bounds) : bounds_(bounds) {}

  std::vector<Expr> of(const std::vector<Expr>& at) {
    std::vector<Expr> out;
    for (const Expr& e : at) out.push_back(of(e));
    return out;
  }
  const std::vector<Expr>& holds() const { return holds_; }

 private:
  Expr of(const Expr& e) {
    const auto* b = as<Binary>(e);
    if (!b || !e.type().is_index()) return e;
    switch (b->op) {
      case BinOp::kMin:
      case BinOp::kMax:
        if (varies(b->a) == varies(b->b) || has_load(e)) return e;
        return within(varies(b->a) ? b->a : b->b, varies(b->a) ? b->b : b->a, b->op == BinOp::kMin);
      case BinOp::kFloorMod:
        return wrapped(e, *b);
      case BinOp::kAdd:
      case BinOp::kSub:
      case BinOp::kMul: {
        const Expr x = of(b->a), y = of(b->b);
        return x.same_as(b->a) && y.same_as(b->b) ? e : binary(b->op, x, y);
      }
      default:
        return e;
    }
  }

  bool varies(const Expr& e) const {
    const auto used = used_vars(e);
    return std::any_of(used.begin(), used.end(), [&](uint64_t id) { return bounds_.contains(id); });
  }

  Expr within(const Expr& value, const Expr& limit, bool above) {
    const Expr inside = of(value);
    holds_.push_back(above ? inside <= limit : limit <= inside);
    return inside;
  }

  Expr wrapped(const Expr& e, const Binary& b) {
    if (!varies(b.a)) return e;
    const auto turned = turns_of(b, bounds_);
    if (!turned) return e;
    if (turned->below > 0) holds_.push_back(Expr(0) <= turned->inside);
    if (turned->above > 0) holds_.push_back(turned->inside < b.b);
    return of(turned->inside);
  }

  const Bounds& bounds_;  // of the loops' variables
  std::vector<Expr> holds_;
};

// Of all loops, and of what is named in them.
Bounds bounds_of(const Stmt& body) {
  Bounds bounds;
  walk(body, [&](const Stmt& s) {
    if (const auto* f = as<For>(s)) {
      const auto extent = as_int(f->extent);
      bounds[f->var.id()] = {0, extent ? std::max<int64_t>(*extent - 1, 0) : Interval::kPosInf};
    }
    if (const auto* l = as<LetStmt>(s); l && l->var.type().is_index())
      bounds[l->var.id()] = interval_of(l->value, bounds);
    return true;
  });
  return bounds;
}

// Whether `plain` is `limited` without some of its limits, and where it is the same then.
bool is_without(const Expr& plain, const Expr& limited, std::vector<Expr>& holds) {
  if (equal(plain, limited)) return true;
  const auto *b = as<Binary>(limited), *same = as<Binary>(plain);
  if (!b || !limited.type().is_index()) return false;
  const auto within = [&](const Expr& value, const Expr& limit) {
    if (!is_without(plain, value, holds)) return false;
    holds.push_back(b->op == BinOp::kMin ? plain <= limit : limit <= plain);
    return true;
  };
  if (b->op == BinOp::kMin || b->op == BinOp::kMax) return within(b->a, b->b) || within(b->b, b->a);
  const Expr turned = b->op == BinOp::kFloorMod ? simplify(b->a - plain) : Expr(1);
  const bool turns = as_int(turned) && as_int(b->b).value_or(0) > 0 && *as_int(turned) % *as_int(b->b) == 0;
  if (b->op == BinOp::kFloorMod && (turns || is_without(plain, b->a, holds))) {
    holds.push_back(Expr(0) <= plain);
    holds.push_back(plain < b->b);
    return true;
  }
  return same && same->op == b->op && is_without(same->a, b->a, holds) && is_without(same->b, b->b, holds);
}

// Of a choice between a read and the same without limits: what the limits are; nothing of other choices.
std::optional<std::vector<Expr>> limits_of(const Select& s) {
  const auto *plain = as<Load>(s.yes), *limited = as<Load>(s.no);
  if (!plain || !limited || plain->buffer != limited->buffer || plain->pred.get() || limited->pred.get())
    return std::nullopt;
  std::vector<Expr> holds;
  for (size_t d = 0; d < plain->at.size(); ++d)
    if (!is_without(plain->at[d], limited->at[d], holds)) return std::nullopt;
  return holds.empty() ? std::nullopt : std::optional(std::move(holds));
}

// A read of neighbours that is limited in some lanes, as choices between them and one place, or those a turn away.
class InLanes {
 public:
  InLanes(std::vector<Var> lanes, const Bounds& bounds) : lanes_(std::move(lanes)), bounds_(bounds) {}

  Expr of(const Load& l, const Expr& e) const {
    return l.at.empty() || !l.buffer.strides().empty() ? e : at_last(l, l.at.back());
  }

 private:
  Expr at_last(const Load& l, const Expr& at) const {
    std::vector<Expr> all = l.at;
    all.back() = at;
    Expr read = load(l.buffer, all);
    const auto* b = as<Binary>(at);
    if (!b) return read;
    if (b->op == BinOp::kMin || b->op == BinOp::kMax) {
      const bool first = in_lanes(b->a), above = b->op == BinOp::kMin;
      const Expr &value = first ? b->a : b->b, &limit = first ? b->b : b->a;
      if (first == in_lanes(b->b) || has_load(at)) return read;
      const Expr free = without_other_limit(value, limit, above);
      if (!rises_by_one(free)) return read;
      return select(above ? free <= limit : limit <= free, at_last(l, value), at_last(l, limit));
    }
    const auto turned = turns_of(*b, bounds_);
    if (!turned || !rises_by_one(turned->inside)) return read;
    Expr all_lanes = at_last(l, turned->inside);
    if (turned->below > 0) all_lanes = select(Expr(0) <= turned->inside, all_lanes, at_last(l, turned->inside + b->b));
    if (turned->above > 0) all_lanes = select(turned->inside < b->b, all_lanes, at_last(l, turned->inside - b->b));
    return all_lanes;
  }

  bool in_lanes(const Expr& e) const {
    return std::ranges::any_of(lanes_, [&](const Var& lane) { return uses_var(e, lane); });
  }

  bool rises_by_one(const Expr& e) const {
    return std::ranges::any_of(lanes_, [&](const Var& lane) {
      return uses_var(e, lane) && is_int(simplify(substitute(e, {{lane.id(), Expr(lane) + Expr(1)}}) - e), 1);
    });
  }

  // max(min(v, 9), 0) begins where v does: of a value with another limit, which is no nearer, the value itself.
  Expr without_other_limit(const Expr& value, const Expr& limit, bool above) const {
    const auto* b = as<Binary>(value);
    if (!b || b->op != (above ? BinOp::kMax : BinOp::kMin)) return value;
    const bool first = in_lanes(b->a);
    const Expr& other = first ? b->b : b->a;
    if (in_lanes(other) || !can_prove(above ? other <= limit : limit <= other, bounds_)) return value;
    return first ? b->a : b->b;
  }

  const std::vector<Var> lanes_;
  const Bounds& bounds_;
};

// Of the loops whose iterations become lanes.
std::vector<Var> lanes_of(const Stmt& body) {
  std::vector<Var> lanes;
  walk(body, [&](const Stmt& s) {
    if (const auto* f = as<For>(s); f && f->kind == ForKind::kVectorized) lanes.push_back(f->var);
    return true;
  });
  return lanes;
}

Stmt in_stores(const Stmt& s, const std::function<Expr(const Expr&)>& on_expr) {
  return rewrite(s, [](const Stmt& at) { return at; }, on_expr);
}

}  // namespace

Program clamps(const Program& p, const Target&) {
  const Bounds bounds = bounds_of(p.body);
  Program out = p;
  out.body = in_stores(p.body, [&](const Expr& e) {
    const auto* l = as<Load>(e);
    if (!l || l->pred.get() || !e.type().is_scalar()) return e;
    Unlimited unlimited(bounds);
    std::vector<Expr> at = unlimited.of(l->at);
    return unlimited.holds().empty() ? e : select(conjunction(unlimited.holds()), load(l->buffer, std::move(at)), e);
  });
  return out;
}

bool is_clamped_read(const Select& s) { return limits_of(s).has_value(); }

Stmt with_clamped_reads(const Stmt& body) {
  const Bounds bounds = bounds_of(body);
  const Stmt limited = in_stores(body, [&](const Expr& e) {
    const auto* s = as<Select>(e);
    const auto limits = s && e.type().is_scalar() ? limits_of(*s) : std::nullopt;
    if (!limits) return e;
    const std::vector<Expr> known = conjuncts(s->cond);
    const Bounds there = bounds_where(s->cond, bounds);
    const auto follows = [&](const Expr& limit) {
      return std::ranges::any_of(known, [&](const Expr& c) { return equal(c, limit); }) || can_prove(limit, there);
    };
    return std::ranges::all_of(*limits, follows) ? s->no : e;
  });
  const InLanes in_lanes(lanes_of(body), bounds);
  return in_stores(limited, [&](const Expr& e) {
    const auto* l = as<Load>(e);
    return l && !l->pred && e.type().is_scalar() ? in_lanes.of(*l, e) : e;
  });
}

}  // namespace tw::lower
