// The elements outside that are read are the solutions of a system of inequalities over axes and sizes; without the
// axes, it says for which sizes there are any.
//
//   A: n, read as A[i + 1] below i in 0..m      { i >= 0, m - 1 - i >= 0, i + 1 - n >= 0 }
//   without i                                   { m - 1 >= 0, m - n >= 0 }
//   required                                    m + 1 <= n or m == 0
#include "te/read_bounds.h"

#include <algorithm>
#include <unordered_set>

#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/index_cases.h"

namespace tw::te {
namespace {

constexpr size_t kLargestExpression = 300;  // nodes of a subscript or condition that is looked into, as a tree
constexpr size_t kMostAlternatives = 4;     // inequalities of one requirement
constexpr size_t kMostRequirements = 4;     // of one subscript
constexpr int64_t kLargestFactor = 64;      // all factors of an inequality together

size_t tree_size(const Expr& e, size_t limit) {
  size_t size = 1;
  for (const Expr& child : ir::children(e)) {
    if (size >= limit) break;
    size += tree_size(child, limit - size);
  }
  return size;
}

bool small(const Expr& e) { return tree_size(e, kLargestExpression) < kLargestExpression; }

// -n >= 0 of a size that is not negative.
bool says_empty(const Polynomial& p, const IndexCases& cases) {
  if (p.terms().size() != 1 || p.constant() != 0 || p.terms().begin()->second >= 0) return false;
  return cases.unknowns()[static_cast<size_t>(p.terms().begin()->first[0])].not_negative;
}

// p >= 0 as it reads: what is subtracted stands on the left.
Expr inequality(const Polynomial& p, const IndexCases& cases) {
  if (says_empty(p, cases)) return ir::binary(ir::BinOp::kEq, cases.variable(p.terms().begin()->first[0]), 0);
  Expr left, right;
  const auto add = [](Expr& to, const Expr& e) { to = to ? to + e : e; };
  for (const auto& [monomial, factor] : p.terms()) {
    const Expr v = cases.variable(monomial[0]);
    const int64_t times = std::abs(factor);
    add(factor > 0 ? right : left, times == 1 ? v : v * Expr(times));
  }
  const int64_t c = p.constant();
  if (c < 0 || (c > 0 && !right)) {
    if (c < 0) add(left, Expr(-c));
    if (c > 0) add(right, Expr(c));
  } else if (c > 0) {
    add(right, Expr(c));
  }
  if (!left) left = 0;
  if (!right) right = 0;
  return left <= right;
}

// Affine, with numbers so small that no sum of sizes overflows.
bool can_be_checked(const std::vector<Polynomial>& inequalities) {
  return std::all_of(inequalities.begin(), inequalities.end(), [](const Polynomial& p) {
    int64_t factors = 0;
    for (const auto& [monomial, factor] : p.terms()) factors += std::min(std::abs(factor), kLargestFactor);
    return p.is_affine() && factors < kLargestFactor && std::abs(p.constant()) < ir::kLargestExtent;
  });
}

class Judge {
 public:
  Judge(const ReadPlace& place, const std::vector<Expr>& shape, size_t dimension)
      : place_(place), shape_(shape), dimension_(dimension), cases_(place.ranges) {}

  // Sufficient; necessary where nothing around the read depends on data.
  std::vector<Expr> not_empty() {
    declare();
    for (const IndexCase& where : around(Expr(0)))
      for (const IndexValue& extent : cases_.value(shape_[dimension_], where)) {
        Inequalities system = extent.in.known;
        system.add(-extent.value);
        const Inequalities left = system.projected(cases_.unknowns());
        if (left.impossible(cases_.unknowns())) continue;
        unproved_ = !can_be_checked(left.all());
        if (!unproved_) require(left.all());
        if (unproved_) return {Expr(1) <= shape_[dimension_]};
      }
    if (cases_.too_many()) return {Expr(1) <= shape_[dimension_]};
    return required_;
  }

  ReadVerdict of(const Expr& at, Side side) {
    if (!small(at)) return {Reading::kUnproved};
    declare();
    for (const IndexCase& where : around(at))
      for (const IndexValue& index : cases_.value(at, where))
        for (const IndexValue& extent : cases_.value(shape_[dimension_], index.in)) {
          look_at(extent.in, side == Side::kStart ? -index.value - 1 : index.value - extent.value);
        }
    if (cases_.too_many()) return {Reading::kUnproved};
    return verdict();
  }

 private:
  void declare() {
    for (const IterVar& a : place_.axes) cases_.declare_inner(a.var, ir::as_int(a.min).value_or(-1) >= 0);
    for (const IterVar& a : place_.axes)
      if (const auto* v = ir::as<ir::VarRef>(a.extent)) cases_.declare_not_negative(v->var);  // a loop runs
    for (const Var& v : place_.extents) cases_.declare_not_negative(v);
  }

  std::vector<IndexCase> around(const Expr& at) {
    std::unordered_set<uint64_t> used = ir::used_vars(at);
    for (const Expr& extent : shape_) used.merge(ir::used_vars(extent));  // of memory allocated within a loop
    for (const auto& [test, holds] : place_.conditions) used.merge(ir::used_vars(test));
    for (const IterVar& a : place_.axes) {
      used.merge(ir::used_vars(a.min));
      used.merge(ir::used_vars(a.extent));
    }
    std::vector<IndexCase> in = {IndexCase{}};
    for (const IterVar& a : place_.axes) {
      std::vector<IndexCase> next;
      for (const IndexCase& one : in)
        for (const IndexValue& min : cases_.value(a.min, one))
          for (IndexValue& extent : cases_.value(a.extent, min.in)) {
            IndexCase& inside = extent.in;
            if (used.contains(a.var.id())) {
              const Polynomial v = cases_.value(a.var, inside)[0].value;
              inside.known.add(v - min.value);
              inside.known.add(min.value + extent.value - 1 - v);
            }
            inside.known.add(extent.value - 1);
            next.push_back(std::move(inside));
          }
      in = std::move(next);
    }
    for (const auto& [test, holds] : place_.conditions) {
      if (small(test)) {
        in = cases_.assume(test, holds, in);
      } else {
        for (IndexCase& one : in) one.known.set_inexact();
      }
    }
    return in;
  }

  void look_at(const IndexCase& where, const Polynomial& outside) {
    Inequalities system = where.known;
    system.add(outside);
    if (outside.overflow()) {
      unproved_ = true;
      return;
    }
    Inequalities left = system.projected(cases_.unknowns());
    if (left.impossible(cases_.unknowns())) return;
    const std::vector<Polynomial> all = left.all();
    if (left.exact() && holds_for_all_sizes(all)) outside_ = true;
    unproved_ = unproved_ || !left.exact() || !can_be_checked(all);
    if (!unproved_) require(all);
  }

  // Wherever no extent is 0.
  bool holds_for_all_sizes(const std::vector<Polynomial>& inequalities) {
    Inequalities sizes;
    const auto add = [&](const Expr& extent) {
      const std::vector<IndexValue> one = cases_.value(extent, IndexCase{});
      if (one.size() == 1 && one[0].in.quotients.empty()) sizes.add(one[0].value - 1);
    };
    for (const IterVar& a : place_.axes) add(a.extent);
    for (const Expr& extent : shape_) add(extent);
    return std::all_of(inequalities.begin(), inequalities.end(), [&](const Polynomial& p) {
      Inequalities otherwise = sizes;
      otherwise.add(-p - 1);
      return otherwise.impossible(cases_.unknowns());
    });
  }

  bool impossible(const Polynomial& a, const Polynomial& b) const {
    Inequalities both;
    both.add(a);
    both.add(b);
    return both.impossible(cases_.unknowns());
  }

  // That one of the inequalities does not hold. What follows from another alternative adds nothing to it.
  void require(const std::vector<Polynomial>& inequalities) {
    std::vector<Polynomial> broken;
    for (const Polynomial& p : inequalities) {
      const Polynomial not_p = -p - 1;
      if (!impossible(not_p, 0)) broken.push_back(not_p);
    }
    const auto rank = [&](const Polynomial& p) { return says_empty(p, cases_) ? 0 : p.terms().size(); };
    std::stable_sort(broken.begin(), broken.end(),
                     [&](const Polynomial& a, const Polynomial& b) { return rank(a) > rank(b); });
    for (size_t i = broken.size(); i-- > 0;)
      for (size_t j = 0; j < broken.size(); ++j)
        if (i != j && impossible(broken[i], -broken[j] - 1)) {
          broken.erase(broken.begin() + static_cast<std::ptrdiff_t>(i));
          break;
        }
    Expr any;
    for (const Polynomial& p : broken) any = any ? any || inequality(p, cases_) : inequality(p, cases_);
    unproved_ = unproved_ || !any || broken.size() > kMostAlternatives;
    if (any) required_.push_back(any);
  }

  ReadVerdict verdict() {
    if (outside_) return {Reading::kOutside};
    std::vector<Expr> distinct;
    for (const Expr& r : required_)
      if (!follows(r, distinct, place_.extents)) distinct.push_back(r);
    if (unproved_ || distinct.size() > kMostRequirements) return {Reading::kUnproved};
    return distinct.empty() ? ReadVerdict{} : ReadVerdict{Reading::kConditional, std::move(distinct)};
  }

  const ReadPlace& place_;
  const std::vector<Expr>& shape_;
  const size_t dimension_;
  IndexCases cases_;
  std::vector<Expr> required_;
  bool outside_ = false, unproved_ = false;
};

}  // namespace

ReadVerdict judge_read(const Expr& at, const std::vector<Expr>& shape, size_t dimension, const ReadPlace& place,
                       Side side) {
  return Judge(place, shape, dimension).of(at, side);
}

std::vector<Expr> not_empty(const std::vector<Expr>& shape, size_t dimension, const ReadPlace& place) {
  return Judge(place, shape, dimension).not_empty();
}

bool follows(const Expr& condition, const std::vector<Expr>& others, const std::vector<Var>& extents) {
  const ir::Bounds none;
  IndexCases cases(none);
  for (const Var& v : extents) cases.declare_not_negative(v);
  std::vector<IndexCase> in = {IndexCase{}};
  for (const Expr& other : others) in = cases.assume(other, true, in);
  in = cases.assume(condition, false, in);
  return !cases.too_many() && std::all_of(in.begin(), in.end(),
                                          [&](const IndexCase& one) { return one.known.impossible(cases.unknowns()); });
}

bool depends_on_loops(const Expr& size, const ReadPlace& place) {
  return std::ranges::any_of(place.axes, [&](const IterVar& a) { return ir::uses_var(size, a.var); });
}

ReadVerdict judge_assuming_sizes(const Expr& at, const std::vector<Expr>& shape, size_t dimension,
                                 const ReadPlace& place, Side side) {
  for (const Expr& size : shape)
    if (depends_on_loops(size, place)) return {Reading::kUnproved};
  ReadPlace with_sizes = place;
  std::vector<Expr> assumed;
  const auto add = [&](const Expr& extent) {
    ir::walk(extent, [&](const Expr& e) {
      const auto* v = ir::as<ir::VarRef>(e);
      const auto is_it = [&](const Var& known) { return v->var == known; };
      if (v && std::none_of(with_sizes.extents.begin(), with_sizes.extents.end(), is_it)) {
        with_sizes.extents.push_back(v->var);
        assumed.push_back(Expr(0) <= Expr(v->var));
      }
      return true;
    });
  };
  for (const IterVar& a : place.axes) add(a.extent);
  for (const Expr& size : shape) add(size);
  const Expr& extent = shape[dimension];
  if (ir::as_int(extent)) {
    if (assumed.empty()) return {Reading::kUnproved};
  } else {
    const std::vector<Expr> needed = not_empty(shape, dimension, with_sizes);
    assumed.insert(assumed.end(), needed.begin(), needed.end());
    with_sizes.conditions.emplace_back(Expr(1) <= extent, true);
  }
  ReadVerdict verdict = judge_read(at, shape, dimension, with_sizes, side);
  if (verdict.reading == Reading::kInside) verdict.reading = Reading::kConditional;
  if (verdict.reading != Reading::kConditional) return {Reading::kUnproved};
  verdict.required.insert(verdict.required.end(), assumed.begin(), assumed.end());
  return verdict;
}

bool outside_early(const Expr& at, const Expr& extent, const Var& t, Side side) {
  const Expr past = side == Side::kStart ? Expr(t) - at - 1 : at + Expr(t) - extent;
  return ir::as_int(ir::simplify(past)).value_or(-1) >= 0;
}

}  // namespace tw::te
