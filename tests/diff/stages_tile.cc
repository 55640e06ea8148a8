// Stages whose innermost loops are those of a tensor intrinsic, for the Step tensorize.
#include <algorithm>

#include "src/ir/warp_products.h"
#include "tensorwright/te_functions.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

// C[i, j] = sum over k of A[i, k] * B[j, k] over 16 columns of 4 (or 8 of 4, 16 of 2), or B[k, j] over 16 columns.
bool tensor_tile(Maker& m, const Tensor&) {
  struct Shape {
    int64_t columns, group;
    Type a, b, c;
  };
  static const Shape kShapes[] = {
      {16, 4, Type::u(8), Type::i(8), Type::i(32)},     {8, 4, Type::u(8), Type::i(8), Type::i(32)},
      {16, 4, Type::i(8), Type::i(8), Type::i(32)},     {8, 4, Type::i(8), Type::i(8), Type::i(32)},
      {16, 2, Type::bf16(), Type::bf16(), Type::f(32)}, {16, 0, Type::f(32), Type::f(32), Type::f(32)}};
  const Shape& shape = kShapes[m.random().below(std::ssize(kShapes))];
  const int64_t depth = shape.group > 0 ? shape.group : 1 + m.random().below(5);
  const Facts small{4, 1, 0};
  const Tensor a = m.placeholder({Expr(), depth}, shape.a, small);
  const std::vector<Expr> sides = {shape.columns, depth};
  const Tensor b = m.placeholder(shape.group > 0 ? sides : std::vector<Expr>{depth, shape.columns}, shape.b, small);
  const IterVar k = te::reduce_axis(0, depth, "k");
  const Facts facts = sum_of(mul(m.facts(a), m.facts(b)), depth, shape.c);
  return m.define({a.shape()[0], shape.columns}, facts, [&](const Vars& v) {
    const Expr left = a(Expr(v[0]), Expr(k));
    const Expr right = shape.group > 0 ? b(Expr(v[1]), Expr(k)) : b(Expr(k), Expr(v[1]));
    const std::string out = to_string(shape.c);
    return te::sum(te::astype(left, out) * te::astype(right, out), {k});
  });
}

// C[i, j] = sum over k and p of A[i, k, p] * B[k, j, p], 16 of each but of p, or some more; of rows 12 or 28, too, and
// of terms 12 or 5 groups.
bool whole_tiles(Maker& m, const Tensor&) {
  struct Shape {
    int64_t packed;
    Type a, b, c;
  };
  static const Shape kShapes[] = {{4, Type::u(8), Type::i(8), Type::i(32)},
                                  {4, Type::i(8), Type::i(8), Type::i(32)},
                                  {2, Type::bf16(), Type::bf16(), Type::f(32)}};
  const Shape& shape = kShapes[m.random().below(3)];
  const auto some = [&] { return 16 * m.random().one_of<int64_t>({1, 1, 2}); };
  const int64_t rows = m.random().one_of<int64_t>({16, 28, 32, 12, 16}), columns = some(),
                whole = shape.packed == 2 ? some() : 16,
                groups = m.random().one_of<int64_t>({whole, whole, whole, 12, 5});
  const Facts small{4, 1, 0};
  const Tensor a = m.placeholder({rows, groups, shape.packed}, shape.a, small);
  const Tensor b = m.placeholder({groups, columns, shape.packed}, shape.b, small);
  const IterVar k = te::reduce_axis(0, groups, "k"), p = te::reduce_axis(0, shape.packed, "p");
  const Facts facts = sum_of(mul(m.facts(a), m.facts(b)), groups * shape.packed, shape.c);
  return m.define({rows, columns}, facts, [&](const Vars& v) {
    const std::string out = to_string(shape.c);
    const Expr left = a(Expr(v[0]), Expr(k), Expr(p)), right = b(Expr(k), Expr(v[1]), Expr(p));
    return te::sum(te::astype(left, out) * te::astype(right, out), {k, p});
  });
}

// C[i, j] = sum over k of A[i, k] * B[k, j] or B[j, k], of 16 rows, 8 columns and as many terms as a product of a warp
// has, or some more, which need not be whole products: for four warps 64 rows or 128, and columns that no single line
// of 32, 64 or 128 bytes holds. Operands may have terms beside those of the sum.
bool tiles_of_warps(Maker& m, const Tensor&) {
  const ir::WarpProduct& product = ir::warp_products()[static_cast<size_t>(m.random().below(4))];
  const bool rounds = product.operand == product.sum;                                    // tf32
  const bool of_four = m.random().chance(60), whole = of_four || m.random().chance(50);  // of four warps
  const auto some = [&](int64_t n) {
    const int64_t size = n * m.random().one_of<int64_t>({1, 1, 2, 3});
    return whole || m.random().chance(30) ? size : size - m.random().below(n);
  };
  const bool rows_of_terms = m.random().chance(60), wide = of_four && m.random().chance(20);
  const int64_t rows = of_four ? m.random().one_of<int64_t>({64, 64, 128}) : some(product.m);
  const int64_t columns = wide ? 48 : of_four ? product.n * m.random().one_of<int64_t>({1, 2, 3, 4}) : some(product.n);
  const int64_t depth = of_four ? product.k * m.random().one_of<int64_t>({1, 2, 3, 4}) : some(product.k);
  const int64_t before = m.random().chance(of_four ? 5 : 20) ? m.random().below(9) : 0;
  const int64_t all = before + depth + (m.random().chance(of_four ? 5 : 20) ? m.random().below(20) : 0);
  const Facts small{4, 1, 0};
  const Facts long_ones{8191, 1, 0};  // of 13 bits
  const Tensor a = m.placeholder({rows, all}, product.operand, rounds ? long_ones : small);
  const std::vector<Expr> shape = {rows_of_terms ? columns : all, rows_of_terms ? all : columns};
  const Tensor b = m.placeholder(shape, product.operand, small);
  const IterVar k = te::reduce_axis(0, depth, "k");
  const Facts left = rounds ? Facts{8192, 1, 0} : m.facts(a);
  const Facts facts = sum_of(mul(left, m.facts(b)), depth, product.sum);
  return m.define({rows, columns}, facts, [&](const Vars& v) {
    const std::string out = to_string(product.sum);
    const Expr term = before == 0 ? Expr(k) : Expr(k) + Expr(before);
    const Expr right = rows_of_terms ? b(Expr(v[1]), term) : b(term, Expr(v[1]));
    const auto factor = [&](const Expr& e) { return rounds ? te::tf32(e) : te::astype(e, out); };
    return te::sum(factor(a(Expr(v[0]), term)) * factor(right), {k});
  });
}

// C[i] = sum over k of A[i, k] or of A[i, k] * B[k]: the loops of the intrinsics that intrins.cc declares, the whole
// sum as often as a part of it.
bool short_sum(Maker& m, const Tensor&) {
  const Type type = m.random().one_of({Type::f(32), Type::i(32)});
  const int64_t depth = m.random().one_of<int64_t>({2, 4, 8, 2, 4, 8, 6, 11, 16});
  const Facts small{4, 1, 0};
  const Tensor a = m.placeholder({Expr(), depth}, type, small), b = m.placeholder({depth}, type, small);
  const bool product = m.random().chance(50);
  const IterVar k = te::reduce_axis(0, depth, "k");
  const Facts term = product ? mul(m.facts(a), m.facts(b)) : m.facts(a);
  return m.define({a.shape()[0]}, sum_of(term, depth, type), [&](const Vars& v) {
    const Expr x = a(Expr(v[0]), Expr(k));
    return te::sum(product ? x * b(Expr(k)) : x, {k});
  });
}

}  // namespace tw::diff
