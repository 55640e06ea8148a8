// Stages that read outside of a tensor unless somebody sees to it: clamps and requirements of sizes.
#include "src/ir/simplify.h"
#include "te/promote.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

namespace {

Expr data(te::Tensor t, const ir::Var& at) { return t(at); }

}  // namespace

// Subscripts that are data and mostly outside.
bool wild_gather(Maker& m, const Tensor& t) {
  if (t.rank() == 0 || m.most_elements(t) == 0) return false;
  const size_t d = m.dimension(t);
  std::vector<Expr> shape = t.shape();
  const bool keeps = m.random().chance(50);  // the extent, so that the tensor is empty where nothing is read
  if (!keeps) shape[d] = m.random().below(9) + 1;
  if (!keeps && !Maker::size(t, d)) return false;
  if (!keeps && *Maker::size(t, d) == 0) return false;
  const Tensor index = m.placeholder({shape[d]}, Type::i(32), {40, 1, 0});
  const bool wraps = m.random().chance(40);
  return m.define(shape, m.facts(t), [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    const Expr value = data(index, v[d]);
    at[d] = wraps ? te::arith(ir::BinOp::kMul, value * value, constant(1'000'003, Type::i(32)) * value) : value;
    return t(at);
  });
}

// Subscripts that are products of what has no number.
bool unproved(Maker& m, const Tensor& t) {
  if (t.rank() == 0) return false;
  const size_t d = m.dimension(t);
  if (Maker::size(t, d)) return false;
  const int64_t form = m.random().below(4);
  return m.define(t.shape(), m.facts(t), [&](const Vars& v) {
    std::vector<Expr> at = exprs(v);
    const Expr i = v[d], n = t.shape()[d], other = v[v.size() - 1 - d];
    at[d] = form == 0   ? i * i
            : form == 1 ? i * n - i
            : form == 2 ? i * other * i - i
                        : ir::floordiv(i * i * i - n, i + 1);
    return t(at);
  });
}

// As many elements as some other tensor has: sizes decide.
bool required(Maker& m, const Tensor& t) {
  if (t.rank() == 0) return false;
  const size_t d = m.dimension(t);
  const Tensor other = m.placeholder({Expr()}, m.type());
  if (Maker::size(t, d) && Maker::size(other, 0)) return false;
  std::vector<Expr> shape = t.shape();
  shape[d] = other.shape()[0];
  const int64_t form = m.random().below(5);
  try {
    return m.define(shape, m.facts(t), [&](const Vars& v) {
      std::vector<Expr> at = exprs(v);
      const Expr i = v[d];
      at[d] = form == 0 ? i * 2 : form == 1 ? i + 1 : form == 2 ? ir::floordiv(i, Expr(2)) : i;
      return t(at);
    });
  } catch (const Error&) {  // outside for all sizes
    return false;
  }
}

}  // namespace tw::diff
