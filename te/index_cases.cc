#include "te/index_cases.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"

namespace tw::te {

using ir::BinOp;
using ir::Expr;

namespace {

constexpr size_t kMostCases = 128;

bool same(const Expr& a, const Expr& b) { return a.hash() == b.hash() && ir::equal(a, b); }

bool whole_number(ir::Type t) { return t.is_scalar() && (t.is_int() || (t.is_uint() && t.bits < 64)); }

void within(const Polynomial& value, const ir::Interval& range, Inequalities& known) {
  if (range.lo != ir::Interval::kNegInf) known.add(value - range.lo);
  if (range.hi != ir::Interval::kPosInf) known.add(Polynomial(range.hi) - value);
}

template <class T>
void append(std::vector<T>& to, std::vector<T> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

void IndexCases::declare_inner(const ir::Var& v, bool not_negative) {
  numbers_[v.id()] = fresh({false, not_negative}, v);
}

void IndexCases::declare_not_negative(const ir::Var& size) {
  unknowns_[static_cast<size_t>(number_of(size))].not_negative = true;
}

int IndexCases::fresh(Unknown unknown, ir::Var v) {
  unknowns_.push_back(unknown);
  variables_.push_back(std::move(v));
  return static_cast<int>(unknowns_.size()) - 1;
}

int IndexCases::number_of(const ir::Var& v) {
  const auto known = numbers_.find(v.id());
  return known != numbers_.end() ? known->second : numbers_[v.id()] = fresh({true, false}, v);
}

bool IndexCases::not_negative(const Polynomial& p) const {
  return !p.overflow() && p.constant() >= 0 && std::all_of(p.terms().begin(), p.terms().end(), [&](const auto& term) {
    return term.second > 0 && std::all_of(term.first.begin(), term.first.end(),
                                          [&](int v) { return unknowns_[static_cast<size_t>(v)].not_negative; });
  });
}

template <class List>
List IndexCases::limited(List list) {
  std::erase_if(list, [](const auto& item) {
    if constexpr (requires { item.in; }) {
      return item.in.known.contradictory();
    } else {
      return item.known.contradictory();
    }
  });
  too_many_ = too_many_ || list.size() > kMostCases;
  if (list.size() > kMostCases) list.resize(1, list[0]);
  return list;
}

IndexCases::Values IndexCases::value(const Expr& e, const IndexCase& in) {
  if (too_many_) return {{in, 0}};
  if (!e.type().is_index() || !e.type().is_scalar()) return whole_number(e.type()) ? data(e, in) : opaque(e, in);
  if (const auto* c = ir::as<ir::IntImm>(e)) return {{in, c->value}};
  if (const auto* v = ir::as<ir::VarRef>(e)) return {{in, Polynomial::variable(number_of(v->var))}};
  if (const auto* c = ir::as<ir::Cast>(e); c && whole_number(c->value.type())) return data(c->value, in);
  if (const auto* s = ir::as<ir::Select>(e)) {
    Values out;
    for (const bool holds : {true, false})
      for (const IndexCase& arm : assume(s->cond, holds, in)) append(out, value(holds ? s->yes : s->no, arm));
    return limited(std::move(out));
  }
  const auto* b = ir::as<ir::Binary>(e);
  if (!b) return opaque(e, in);
  Values out;
  for (const IndexValue& x : value(b->a, in))
    for (const IndexValue& y : value(b->b, x.in)) {
      switch (b->op) {
        case BinOp::kAdd:
          out.push_back({y.in, x.value + y.value});
          break;
        case BinOp::kSub:
          out.push_back({y.in, x.value - y.value});
          break;
        case BinOp::kMul:
          out.push_back({y.in, x.value * y.value});
          break;
        case BinOp::kMin:
        case BinOp::kMax: {
          const bool smaller = b->op == BinOp::kMin;
          IndexCase first = y.in, second = y.in;
          first.known.add(smaller ? y.value - x.value : x.value - y.value);
          second.known.add((smaller ? x.value - y.value : y.value - x.value) - 1);
          out.push_back({first, x.value});
          out.push_back({second, y.value});
          break;
        }
        case BinOp::kFloorDiv:
        case BinOp::kFloorMod:
          append(out, divided(e, b->op == BinOp::kFloorMod, x.value, y.value, y.in));
          break;
        case BinOp::kTruncDiv:
        case BinOp::kTruncMod:
          append(out, truncated(e, *b, x.value, y.value, y.in));
          break;
        default:
          append(out, opaque(e, y.in));
      }
    }
  return limited(std::move(out));
}

// a // b and a % b: of a positive divisor by a quotient, of 0 both are 0, of a negative one unknown.
IndexCases::Values IndexCases::divided(const Expr& e, bool remainder, const Polynomial& a, const Polynomial& b,
                                       const IndexCase& in) {
  Values out;
  IndexCase positive = in, zero = in, negative = in;
  positive.known.add(b - 1);
  zero.known.add_zero(b);
  negative.known.add(-b - 1);
  if (!positive.known.contradictory()) {
    const auto& operands = *ir::as<ir::Binary>(e);
    const Expr key = ir::binary(BinOp::kFloorDiv, operands.a, operands.b);
    int q = -1;
    for (const auto& [known, number] : positive.quotients)
      if (same(known, key)) q = number;
    if (q < 0) {
      q = fresh({false, not_negative(a)});
      positive.quotients.emplace_back(key, q);
      const Polynomial below = b * Polynomial::variable(q);
      positive.known.add(a - below);
      positive.known.add(below + b - 1 - a);
      within(Polynomial::variable(q), ir::interval_of(key, ranges_), positive.known);
    }
    const Polynomial quotient = Polynomial::variable(q);
    out.push_back({std::move(positive), remainder ? a - b * quotient : quotient});
  }
  if (!zero.known.contradictory()) out.push_back({std::move(zero), 0});
  const bool never = b.terms().size() == 1 && b.constant() >= 0 && b.terms().begin()->second > 0 &&
                     b.terms().begin()->first.size() == 1 &&
                     unknowns_[static_cast<size_t>(b.terms().begin()->first[0])].not_negative;
  if (!never && !negative.known.contradictory()) append(out, opaque(e, std::move(negative)));
  return out;
}

// As floor division where nothing is negative, else unknown but for what its interval says.
IndexCases::Values IndexCases::truncated(const Expr& e, const ir::Binary& op, const Polynomial& a, const Polynomial& b,
                                         const IndexCase& in) {
  const bool remainder = op.op == BinOp::kTruncMod;
  IndexCase natural = in, negative = in;
  natural.known.add(a);
  negative.known.add(-a - 1);
  Values out;
  if (!natural.known.contradictory()) out = divided(e, remainder, a, b, natural);
  if (!negative.known.contradictory()) append(out, opaque(e, std::move(negative)));
  return out;
}

IndexCases::Values IndexCases::opaque(const Expr& e, IndexCase in) {
  in.known.set_inexact();
  int number = -1;
  for (const auto& [known, n] : opaque_)
    if (same(known, e)) number = n;
  if (number < 0) {
    number = fresh({false, false});
    opaque_.emplace_back(e, number);
  }
  const Polynomial value = Polynomial::variable(number);
  within(value, ir::interval_of(e, ranges_), in.known);
  return {{std::move(in), value}};
}

// Integer data: a number, an index that fits the type, a wider form of either; all else is unknown.
IndexCases::Values IndexCases::data(const Expr& e, const IndexCase& in) {
  if (const auto* c = ir::as<ir::IntImm>(e)) return {{in, c->value}};
  if (const auto* c = ir::as<ir::Cast>(e); c && (whole_number(c->value.type()) || c->value.type().is_index())) {
    const ir::Interval from = ir::interval_of(c->value, ranges_), all = ir::range_of(e.type());
    if (from.bounded() && from.lo >= all.lo && from.hi <= all.hi) return value(c->value, in);
  }
  return opaque(e, in);
}

std::vector<IndexCase> IndexCases::comparison(const ir::Binary& b, bool holds, const IndexCase& in) {
  std::vector<IndexCase> out;
  const auto with = [&](const IndexCase& known, const Polynomial& at_least_0) {
    out.push_back(known);
    out.back().known.add(at_least_0);
  };
  for (const IndexValue& x : value(b.a, in))
    for (const IndexValue& y : value(b.b, x.in)) {
      const Polynomial less = y.value - x.value - 1, greater = x.value - y.value - 1;
      const bool equal = b.op == BinOp::kEq || b.op == BinOp::kNe;
      if (equal && holds == (b.op == BinOp::kEq)) {
        out.push_back(y.in);
        out.back().known.add_equal(x.value, y.value);
      } else if (equal) {
        with(y.in, less);
        with(y.in, greater);
      } else if (b.op == BinOp::kLt || b.op == BinOp::kLe) {
        with(y.in, !holds ? (b.op == BinOp::kLt ? greater + 1 : greater) : b.op == BinOp::kLt ? less : less + 1);
      } else {
        with(y.in, !holds ? (b.op == BinOp::kGt ? less + 1 : less) : b.op == BinOp::kGt ? greater : greater + 1);
      }
    }
  return limited(std::move(out));
}

std::vector<IndexCase> IndexCases::assume(const Expr& condition, bool holds, const std::vector<IndexCase>& in) {
  std::vector<IndexCase> out;
  for (const IndexCase& one : in) append(out, assume(condition, holds, one));
  return limited(std::move(out));
}

std::vector<IndexCase> IndexCases::assume(const Expr& condition, bool holds, const IndexCase& in) {
  if (too_many_) return {in};
  if (const auto* c = ir::as<ir::IntImm>(condition))
    return (c->value != 0) == holds ? std::vector{in} : std::vector<IndexCase>{};
  if (const auto* n = ir::as<ir::Not>(condition)) return assume(n->a, !holds, in);
  if (const auto* s = ir::as<ir::Select>(condition)) {
    std::vector<IndexCase> out = assume(s->yes, holds, assume(s->cond, true, in));
    append(out, assume(s->no, holds, assume(s->cond, false, in)));
    return limited(std::move(out));
  }
  const auto* b = ir::as<ir::Binary>(condition);
  if (b && (b->op == BinOp::kAnd || b->op == BinOp::kOr)) {
    if (holds == (b->op == BinOp::kAnd)) return assume(b->b, holds, assume(b->a, holds, in));
    std::vector<IndexCase> out = assume(b->a, holds, in);
    append(out, assume(b->b, holds, assume(b->a, !holds, in)));
    return limited(std::move(out));
  }
  const bool compares = b && b->op >= BinOp::kEq && b->op <= BinOp::kGe;
  if (compares && (b->a.type().is_index() || whole_number(b->a.type()))) return comparison(*b, holds, in);
  IndexCase out = in;
  out.known.set_inexact();
  return {std::move(out)};
}

}  // namespace tw::te
