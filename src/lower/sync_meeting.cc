#include "src/lower/sync_meeting.h"

#include <algorithm>
#include <array>
#include <bit>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

using Sum = IntegerSystem::Sum;
using Rows = IntegerSystem::Rows;

constexpr size_t kMostAlternatives = 16;
constexpr int64_t kMostExclusive = 1 << 20;

Sum constant(int64_t value) { return {{}, value, false}; }
Sum difference(const Sum& a, const Sum& b, int64_t plus = 0) {
  Sum out = a;
  out.add(b, -1);
  out.add(constant(plus), 1);
  return out;
}

}  // namespace

Expr element_offset(const Access& access) {
  const Buffer& buffer = access.buffer;
  if (access.at.size() != buffer.rank()) return access.at[0];
  Expr sum = 0;
  for (size_t d = 0; d < access.at.size(); ++d)
    sum = buffer.strides().empty() ? sum * buffer.shape()[d] + access.at[d] : sum + access.at[d] * buffer.strides()[d];
  return sum;
}

Meeting::Meeting(const Access& a, const Access& b, const LaunchIndices& launch,
                 const std::unordered_set<uint64_t>& changing)
    : a_(a), b_(b), launch_(launch), changing_(changing), exact_(!a.unsure && !b.unsure) {
  for (const auto* variables : {&launch.blocks, &launch.threads, &a.own, &b.own})
    for (const OwnVariable& v : *variables)
      if (v.extent) {
        const int64_t last = interval_of(v.extent, bounds_).hi;
        const Interval range{0, last == Interval::kPosInf ? last : std::max<int64_t>(last - 1, 0)};
        const auto [known, fresh] = bounds_.emplace(v.var.id(), range);
        if (!fresh) known->second = join(known->second, range);  // lanes: each access has a number of its own
      }
  for (const Access* access : {&a, &b})
    for (const Expr& condition : access->conditions) note_least(condition);
}

Verdict Meeting::run(Apart apart) {
  if (lie_apart()) return {};
  prepare(apart);
  equal_elements();
  if (apart != Apart::kNothing) differ(apart == Apart::kThreads ? launch_.threads : launch_.blocks);
  const IntegerSystem::Outcome outcome = system_.solve();
  if (outcome.answer == IntegerSystem::Answer::kNone) return {{}, false, outcome.rows};
  if (outcome.answer == IntegerSystem::Answer::kUnknown || !exact_) return {kNotSeen, false, outcome.rows};
  return {who_meet(place(outcome.values, kFirst), place(outcome.values, kSecond)), true, outcome.rows};
}

bool Meeting::within(const Expr& part, const Expr& extent) {
  prepare(Apart::kThreads);
  const Sum value = sum_of(part, kSecond), end = sum_of(extent, kSecond);
  system_.require_one_of({{{difference(constant(-1), value), false}}, {{difference(value, end), false}}});
  return system_.solve().answer == IntegerSystem::Answer::kNone;
}

void Meeting::prepare(Apart apart) {
  for (const OwnVariable& v : launch_.threads) make_own(v.var);
  if (apart == Apart::kBlocks)
    for (const OwnVariable& v : launch_.blocks) make_own(v.var);
  const auto has = [](const Access& access, const Var& var) {
    return std::ranges::any_of(access.own, [&](const OwnVariable& v) { return v.var == var; });
  };
  for (const OwnVariable& v : a_.own) make_own(v.var, has(b_, v.var));
  for (const OwnVariable& v : b_.own) make_own(v.var, has(a_, v.var));
  for (const OwnVariable& v : launch_.threads) limit(v, {kFirst, kSecond});
  for (const OwnVariable& v : launch_.blocks) limit(v, {kFirst, kSecond});
  for (const OwnVariable& v : a_.own) limit(v, {kFirst});
  for (const OwnVariable& v : b_.own) limit(v, {kSecond});
  for (const Expr& condition : a_.conditions) require(condition, kFirst);
  for (const Expr& condition : b_.conditions) require(condition, kSecond);
}

bool Meeting::is_own(const Expr& e) const {
  for (const uint64_t id : used_vars(e))
    if (own_.contains(id)) return true;
  return reads_what_changes(e);
}

// Whether it may be another number for each of both.
bool Meeting::differs(const Var& var) const {
  const auto is_it = [&](const auto* variables) {
    return std::ranges::any_of(*variables, [&](const OwnVariable& own) { return own.var == var; });
  };
  return std::ranges::any_of(std::array{&launch_.blocks, &launch_.threads, &a_.own, &b_.own}, is_it);
}

// That a size is not negative says what it leaves as a rest.
void Meeting::note_least(const Expr& condition) {
  const auto* c = as<Binary>(condition);
  const auto* v = c && c->op == BinOp::kLe ? as<VarRef>(c->b) : nullptr;
  const auto least = v ? as_int(c->a) : std::nullopt;
  if (!least || differs(v->var)) return;
  bounds_.emplace(v->var.id(), Interval{*least, Interval::kPosInf});
}

// Whether all that the one may touch lies before all that the other may, wherever both are made.
bool Meeting::lie_apart() const {
  if (a_.at.empty() || a_.at.size() != b_.at.size() || a_.buffer.element().is_packed()) return false;
  Bounds known = bounds_;
  for (const Access* access : {&a_, &b_}) {
    for (const Expr& condition : access->conditions) {
      const auto* c = as<Binary>(condition);
      const auto* v = c && c->op == BinOp::kLt ? as<VarRef>(c->a) : nullptr;
      const auto end = v ? as_int(c->b) : std::nullopt;
      if (!end || differs(v->var)) continue;
      Interval& range = known.try_emplace(v->var.id(), Interval::everything()).first->second;
      range.hi = std::min(range.hi, *end - 1);
    }
  }
  for (size_t d = 0; d < a_.at.size(); ++d) {
    const Interval first = interval_of(a_.at[d], known), second = interval_of(b_.at[d], known);
    if (first.hi < second.lo || second.hi < first.lo) return true;
  }
  return false;
}

void Meeting::make_own(const Var& var, bool of_both) {
  if (own_.contains(var.id())) return;
  const auto found = bounds_.find(var.id());
  const Interval range = found == bounds_.end() ? Interval::everything() : found->second;
  own_[var.id()] = {system_.variable(range), of_both ? system_.variable(range - range) : -1};
}

void Meeting::limit(const OwnVariable& v, std::initializer_list<Side> sides) {
  if (!v.extent) return;
  for (const Side side : sides) {
    const Sum value = sum_of(v.var, side);
    system_.require({{value, false}, {difference(sum_of(v.extent, side), value, -1), false}});
  }
}

bool Meeting::reads_what_changes(const Expr& e) const {
  bool found = false;
  walk(e, [&](const Expr& x) {
    const auto* l = as<Load>(x);
    found = found || (l && (changing_.contains(l->buffer.id()) || is_private(l->buffer.scope())));
    return !found;
  });
  return found;
}

Sum Meeting::sum_of(const Expr& e, Side side) {
  const Linear form = decompose(simplify(e, bounds_));
  Sum out = constant(form.constant);
  out.overflow = form.overflow;
  for (const Term& t : form.terms) out.add(atom(t.atom, side), t.factor);
  return out;
}

Sum Meeting::atom(const Expr& e, Side side) {
  if (const auto* v = as<VarRef>(e)) {
    const auto own = own_.find(v->var.id());
    if (own != own_.end()) {
      Sum out{{{own->second.base, 1}}, 0, false};
      if (side == kFirst && own->second.distance >= 0) out.terms[own->second.distance] = 1;
      return out;
    }
  }
  const auto* b = as<Binary>(e);
  const auto divisor = b ? as_int(b->b) : std::nullopt;
  if (b && divisor.value_or(0) > 0 && (b->op == BinOp::kFloorDiv || b->op == BinOp::kFloorMod)) {
    const Division parts = divided(b->a, *divisor, sum_of(b->a, side), side);
    return b->op == BinOp::kFloorDiv ? parts.quotient : parts.rest;
  }
  if (b && (b->op == BinOp::kFloorDiv || b->op == BinOp::kFloorMod)) return of_fused(*b, side);
  if (b && (b->op == BinOp::kMin || b->op == BinOp::kMax)) return extremum(*b, e, side);
  if (b && b->op == BinOp::kBitXor) return exclusive(*b, e, side);
  exact_ = exact_ && as<VarRef>(e);
  return {{{variable(e, side).first, 1}}, 0, false};
}

// The variable that stands for an atom, and whether it is new.
std::pair<int, bool> Meeting::variable(const Expr& e, Side side) {
  const std::optional<Side> whose = is_own(e) ? std::optional(side) : std::nullopt;
  for (const Known& known : known_)
    if (known.side == whose && equal(known.atom, e) && !reads_what_changes(e)) return {known.variable, false};
  known_.push_back({e, whose, system_.variable(interval_of(e, bounds_))});
  return {known_.back().variable, true};
}

// x // 16 // 3, of which x // 16 % 3 is the rest, is the quotient that x // 48 is.
Meeting::Division Meeting::divided(const Expr& dividend, int64_t divisor, const Sum& value, Side side) {
  const Expr plain = floordiv(dividend, Expr(divisor)), simple = simplify(plain, bounds_);
  const auto* b = as<Binary>(simple);
  const int q = variable(b && b->op == BinOp::kFloorDiv && as_int(b->b) ? simple : plain, side).first;
  const auto [r, fresh] = variable(floormod(dividend, Expr(divisor)), side);
  if (fresh) {
    const Sum parts{{{q, divisor}, {r, 1}}, 0, false};
    system_.require({{difference(value, parts), true}});
  }
  return {{{{q, 1}}, 0, false}, {{{r, 1}}, 0, false}};
}

// Of two numbers over one that is positive, a quotient or a rest differs where the numbers do.
Sum Meeting::of_fused(const Binary& b, Side side) {
  exact_ = false;
  const auto [q, fresh] = variable(floordiv(b.a, b.b), side);
  const int r = variable(floormod(b.a, b.b), side).first;
  const Sum quotient{{{q, 1}}, 0, false}, rest{{{r, 1}}, 0, false};
  if (fresh && !is_own(b.b)) {
    const Fused one{b.b, sum_of(b.a, side), quotient, rest};
    const auto below = [](const Sum& x, const Sum& y) { return Rows{{difference(y, x, -1), false}}; };
    for (const Fused& other : fused_)
      if (equal(other.divisor, b.b))
        system_.require_one_of({{{difference(one.value, other.value), true}},
                                below(one.quotient, other.quotient),
                                below(other.quotient, one.quotient),
                                below(one.rest, other.rest),
                                below(other.rest, one.rest),
                                {{difference(constant(0), sum_of(b.b, side)), false}}});
    fused_.push_back(one);
    system_.require_one_of(
        {{{difference(sum_of(b.b, side), rest, -1), false}}, {{difference(constant(0), sum_of(b.b, side)), false}}});
  }
  return b.op == BinOp::kFloorDiv ? quotient : rest;
}

Sum Meeting::extremum(const Binary& b, const Expr& e, Side side) {
  const Sum x = sum_of(b.a, side), y = sum_of(b.b, side);
  const auto [v, fresh] = variable(e, side);
  const Sum out{{{v, 1}}, 0, false};
  const auto beyond = [&](const Sum& s) {
    return IntegerSystem::Row{b.op == BinOp::kMin ? difference(s, out) : difference(out, s), false};
  };
  if (fresh) system_.require_one_of({{{difference(x, out), true}, beyond(y)}, {{difference(y, out), true}, beyond(x)}});
  return out;
}

// Of two x ^ y with equal y, the values are equal where the x are. Where one of both is below a power of two, what of
// the other is above that stays.
Sum Meeting::exclusive(const Binary& b, const Expr& e, Side side) {
  for (const bool first : {true, false}) {
    const Expr &low = first ? b.a : b.b, &high = first ? b.b : b.a;
    const Interval range = interval_of(low, bounds_);
    if (range.lo < 0 || range.hi >= kMostExclusive) continue;
    const auto end = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(range.hi) + 1));
    if (interval_of(high, bounds_).hi < end) continue;
    const Expr rest = floormod(high, Expr(end));
    Sum out = sum_of(first ? binary(BinOp::kBitXor, low, rest) : binary(BinOp::kBitXor, rest, low), side);
    out.add(divided(high, end, sum_of(high, side), side).quotient, end);
    return out;
  }
  exact_ = false;
  const Exclusive one{sum_of(b.a, side), sum_of(b.b, side), {{{variable(e, side).first, 1}}, 0, false}};
  const auto below = [](const Sum& p, const Sum& q) { return Rows{{difference(q, p, -1), false}}; };
  for (const Exclusive& other : exclusives_)
    system_.require_one_of({below(one.y, other.y),
                            below(other.y, one.y),
                            below(one.value, other.value),
                            below(other.value, one.value),
                            {{difference(one.x, other.x), true}, {difference(one.value, other.value), true}}});
  exclusives_.push_back(one);
  return one.value;
}

void Meeting::require(const Expr& condition, Side side) {
  std::vector<Rows> alternatives = rows_of(condition, true, side);
  system_.require_one_of(std::move(alternatives));
}

// The condition, or its opposite, as one of several lists of rows. What is not about indices may always hold.
std::vector<Rows> Meeting::rows_of(const Expr& e, bool holds, Side side) {
  if (const auto value = as_int(e)) return (*value != 0) == holds ? std::vector<Rows>{{}} : std::vector<Rows>{};
  if (const auto* n = as<Not>(e)) return rows_of(n->a, !holds, side);
  const auto* b = as<Binary>(e);
  if (b && (b->op == BinOp::kAnd || b->op == BinOp::kOr)) {
    const std::vector<Rows> x = rows_of(b->a, holds, side), y = rows_of(b->b, holds, side);
    return (b->op == BinOp::kAnd) == holds ? both(x, y) : either(x, y);
  }
  if (!b || !b->a.type().is_index()) {
    exact_ = false;
    return {{}};
  }
  const Sum x = sum_of(b->a, side), y = sum_of(b->b, side);
  const Rows less{{difference(y, x, -1), false}}, greater{{difference(x, y, -1), false}};
  const Rows at_most{{difference(y, x), false}}, at_least{{difference(x, y), false}};
  switch (b->op) {
    case BinOp::kLt:
      return {holds ? less : at_least};
    case BinOp::kLe:
      return {holds ? at_most : greater};
    case BinOp::kGt:
      return {holds ? greater : at_most};
    case BinOp::kGe:
      return {holds ? at_least : less};
    case BinOp::kEq:
    case BinOp::kNe:
      if ((b->op == BinOp::kEq) == holds) return {{{difference(x, y), true}}};
      return {less, greater};
    default:
      exact_ = false;
      return {{}};
  }
}

std::vector<Rows> Meeting::both(const std::vector<Rows>& x, const std::vector<Rows>& y) {
  if (x.size() * y.size() > kMostAlternatives) {
    exact_ = false;
    return x.size() < y.size() ? x : y;
  }
  std::vector<Rows> out;
  for (const Rows& a : x) {
    for (const Rows& b : y) {
      out.push_back(a);
      out.back().insert(out.back().end(), b.begin(), b.end());
    }
  }
  return out;
}

std::vector<Rows> Meeting::either(std::vector<Rows> x, const std::vector<Rows>& y) {
  x.insert(x.end(), y.begin(), y.end());
  if (x.size() <= kMostAlternatives) return x;
  exact_ = false;
  return {{}};
}

// The subscripts are equal, or the bytes that two 4-bit integers share.
void Meeting::equal_elements() {
  if (a_.at.empty()) return;
  const bool packed = a_.buffer.element().is_packed();
  if (a_.at.size() == b_.at.size() && !packed) {
    for (size_t d = 0; d < a_.at.size(); ++d)
      system_.require({{difference(sum_of(a_.at[d], kFirst), sum_of(b_.at[d], kSecond)), true}});
    return;
  }
  Sum first = sum_of(element_offset(a_), kFirst), second = sum_of(element_offset(b_), kSecond);
  if (packed) {
    first = divided(element_offset(a_), 2, first, kFirst).quotient;
    second = divided(element_offset(b_), 2, second, kSecond).quotient;
  }
  system_.require({{difference(first, second), true}});
}

void Meeting::differ(const std::vector<OwnVariable>& indices) {
  std::vector<Rows> alternatives;
  for (const OwnVariable& index : indices)
    for (const int64_t sign : {1, -1})
      alternatives.push_back({{{{{own_.at(index.var.id()).distance, sign}}, -1, false}, false}});
  system_.require_one_of(std::move(alternatives));
}

std::string Meeting::who_meet(const std::string& first, const std::string& second) {
  if (first != second) return "threads (" + first + ") and (" + second + ") meet";
  return (first.empty() ? "a block's only thread" : "thread (" + first + ")") + " meets itself";
}

std::string Meeting::place(const std::vector<int64_t>& values, Side side) const {
  std::string out;
  for (const auto* indices : {&launch_.blocks, &launch_.threads}) {
    for (const OwnVariable& index : *indices) {
      const auto own = own_.find(index.var.id());
      if (own == own_.end()) continue;
      const int64_t base = values[static_cast<size_t>(own->second.base)];
      const int64_t distance = side == kFirst ? values[static_cast<size_t>(own->second.distance)] : 0;
      out += (out.empty() ? "" : ", ") + index.var.name() + " = " + std::to_string(base + distance);
    }
  }
  return out;
}

}  // namespace tw::lower
