// Stages with several outputs: reductions of tuples, and a compute that gives two values.
#include <cmath>

#include "te/promote.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

namespace {

using ir::BinOp;

// The place and the value of the largest (or smallest) element, the first of them.
te::Reducer arg_extreme(bool largest, Type value) {
  te::Reducer reducer;
  const BinOp better = largest ? BinOp::kGt : BinOp::kLt;
  reducer.combine = [=](const Vars& x, const Vars& y) -> std::vector<Expr> {
    const Expr first = te::all({te::arith(BinOp::kEq, x[1], y[1]), te::arith(BinOp::kLt, x[0], y[0])});
    const Expr left = te::any({te::arith(better, x[1], y[1]), first});
    return {te::select(left, x[0], y[0]), te::select(left, x[1], y[1])};
  };
  reducer.identity = [=](const std::vector<Type>&) -> std::vector<Expr> {
    const std::string name = to_string(value);
    return {te::max_value("int32"), largest ? te::min_value(name) : te::max_value(name)};
  };
  reducer.name = largest ? "argmax" : "argmin";
  return reducer;
}

te::Reducer sum_and_max(Type type) {
  te::Reducer reducer;
  reducer.combine = [](const Vars& x, const Vars& y) -> std::vector<Expr> {
    return {Expr(x[0]) + Expr(y[0]), te::max(Expr(x[1]), Expr(y[1]))};
  };
  reducer.identity = [=](const std::vector<Type>&) -> std::vector<Expr> {
    return {constant(0, type), te::min_value(to_string(type))};
  };
  reducer.name = "sum_and_max";
  return reducer;
}

// Each part of the result needs both old ones.
te::Reducer complex_product(Type type) {
  te::Reducer reducer;
  reducer.combine = [](const Vars& x, const Vars& y) -> std::vector<Expr> {
    return {Expr(x[0]) * Expr(y[0]) - Expr(x[1]) * Expr(y[1]), Expr(x[0]) * Expr(y[1]) + Expr(x[1]) * Expr(y[0])};
  };
  reducer.identity = [=](const std::vector<Type>&) -> std::vector<Expr> {
    return {constant(1, type), constant(0, type)};
  };
  reducer.name = "complex_product";
  return reducer;
}

// Of x + i x: the absolute value of a product is that of its factors.
Facts product_of_diagonals(const Facts& x, int64_t terms, Type type) {
  return prod_of({std::sqrt(2) * x.bound, x.grid, x.error}, terms, type);
}

}  // namespace

bool tuple_reduction(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (t.rank() == 0 || type.is_bool() || !m.facts(t).exact()) return false;
  const size_t d = m.dimension(t);
  if (type.is_float() && Maker::size(t, d).value_or(0) == 0) return false;  // the ends of the type
  const IterVar r = te::reduce_axis(0, t.shape()[d], "r");
  std::vector<Expr> shape = t.shape();
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
  const int kind = static_cast<int>(m.random().below(4));
  const bool some = m.random().chance(20);  // the elements at even places only: the first is always among them
  const int64_t terms = m.most(t.shape()[d]);
  const bool may_be_empty = Maker::size(t, d).value_or(0) == 0;
  const Facts x = m.facts(t), ends{1e300, 1, 0}, place{static_cast<double>(terms), 1, 0};
  std::vector<Facts> facts(2, may_be_empty ? ends : x);
  if (kind < 2 && !may_be_empty) facts[0] = place;
  if (kind == 2) facts[0] = sum_of(x, terms, type);
  if (kind == 3) facts.assign(2, product_of_diagonals(x, terms, type));
  return m.define_tuple(shape, facts, [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(d), Expr(r));
    const Expr where = some ? te::arith(BinOp::kEq, ir::floormod(Expr(r), Expr(2)), Expr(0)) : Expr();
    if (kind == 3) return complex_product(type)({t(at), t(at)}, {r}, where);
    if (kind == 2) return sum_and_max(type)({t(at), t(at)}, {r}, where);
    return arg_extreme(kind == 0, type)({te::astype(Expr(r), "int32"), t(at)}, {r}, where);
  });
}

bool two_values(Maker& m, const Tensor& t) {
  if (t.dtype().is_bool()) return false;
  const Facts x = m.facts(t), one{1, 1, 0};
  return m.define_tuple(t.shape(), {add(x, one), mul(x, x)}, [&](const Vars& v) -> std::vector<Expr> {
    const Expr a = t(exprs(v));
    return {a + constant(1, t.dtype()), a * a};
  });
}

}  // namespace tw::diff
