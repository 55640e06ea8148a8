// Convolutions of planes, whose pixels lie side by side and not their channels, of what tensor cores multiply.
#include "src/ir/warp_products.h"
#include "tensorwright/te_functions.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

// C[c, y, x] = sum over q, r, s of D[q, y * stride + r, x * stride + s] * W[c, q, r, s], of D with zeros around it or
// without; in two groups of channels where there are rows of a product for each.
bool planes(Maker& m, const Tensor&) {
  const ir::WarpProduct& product = ir::warp_products()[static_cast<size_t>(m.random().below(4))];
  const bool rounds = product.operand == product.sum;  // tf32
  const int64_t groups = m.random().chance(25) ? 2 : 1, taps = m.random().one_of<int64_t>({1, 2, 3}),
                stride = m.random().chance(25) ? 2 : 1, around = m.random().chance(50) ? taps / 2 : 0;
  const int64_t in = product.k / m.random().one_of<int64_t>({1, 1, 2}) + m.random().below(3),
                out = groups > 1 ? groups * product.m : 6 + m.random().below(16);
  const auto side = [&](int64_t count) { return (count - 1) * stride + taps; };
  const int64_t height = side(1 + m.random().below(3)), width = side(m.random().one_of<int64_t>({4, 7, 8, 11}));
  if (height <= 2 * around || width <= 2 * around) return false;
  const Facts small{4, 1, 0}, long_ones{8191, 1, 0};  // of 13 bits
  Tensor image = m.placeholder({groups * in, height - 2 * around, width - 2 * around}, product.operand,
                               rounds ? long_ones : small);
  const Facts facts = m.facts(image);
  if (around > 0) {
    const std::vector<Expr> lies = image.shape();
    const bool made = m.define({groups * in, height, width}, facts, [&](const Vars& v) {
      const Expr y = Expr(v[1]) - Expr(around), x = Expr(v[2]) - Expr(around);
      const Expr inside = te::all({y >= Expr(0), y < lies[1], x >= Expr(0), x < lies[2]});
      return te::if_then_else(inside, image(Expr(v[0]), y, x), constant(0, product.operand));
    });
    if (!made) return false;
    image = m.last();
  }
  const Tensor weights = m.placeholder({out, in, taps, taps}, product.operand, small);
  const IterVar q = te::reduce_axis(0, in, "q"), r = te::reduce_axis(0, taps, "r"), s = te::reduce_axis(0, taps, "s");
  const Facts left = rounds ? Facts{8192, 1, 0} : facts;
  return m.define(
      {out, (height - taps) / stride + 1, (width - taps) / stride + 1},
      sum_of(mul(left, m.facts(weights)), in * taps * taps, product.sum), [&](const Vars& v) {
        const auto factor = [&](const Expr& e) { return rounds ? te::tf32(e) : te::astype(e, to_string(product.sum)); };
        const Expr first = groups > 1 ? ir::floordiv(v[0], out / groups) * Expr(in) : Expr(0);
        const Expr pixel =
            image(first + Expr(q), Expr(v[1]) * Expr(stride) + Expr(r), Expr(v[2]) * Expr(stride) + Expr(s));
        return te::sum(factor(pixel) * factor(weights(Expr(v[0]), Expr(q), Expr(r), Expr(s))), {q, r, s});
      });
}

}  // namespace tw::diff
