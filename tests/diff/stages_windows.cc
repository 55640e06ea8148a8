// Windows that slide over a row of whole vectors of channels, each channel by itself: a depthwise convolution or a pool
// of channels that lie side by side.
#include "tests/diff/sample_te.h"

namespace tw::diff {

bool windows(Maker& m, const Tensor&) {
  const Type type = m.random().one_of({Type::f(32), Type::f(32), Type::f(16), Type::bf16(), Type::i(32)});
  const int64_t taps = 2 + m.random().below(2), stride = 1 + m.random().below(2);
  const int64_t count = m.random().one_of<int64_t>({2, 3, 4, 6, 7, 8}),
                channels = 8 * m.random().one_of<int64_t>({1, 2, 3});
  const int64_t around = m.random().chance(40) ? 1 : 0;
  const Facts small{4, 1, 0};
  const Tensor row = m.placeholder({(count - 1) * stride + taps - 2 * around, channels}, type, small);
  if (around > 0 && !m.define({(count - 1) * stride + taps, channels}, m.facts(row), [&](const Vars& v) {
        const Expr inside = te::all({Expr(v[0]) >= Expr(1), Expr(v[0]) < row.shape()[0] + Expr(1)});
        return te::if_then_else(inside, row(Expr(v[0]) - Expr(1), Expr(v[1])), constant(0, type));
      }))
    return false;
  const Tensor from = around > 0 ? m.last() : row;
  const bool weighted = m.random().chance(70);
  std::optional<Tensor> weights;
  if (weighted) weights = m.placeholder({taps, channels}, type, small);
  const IterVar k = te::reduce_axis(0, taps, "k");
  const Facts term = weighted ? settle(mul(m.facts(from), m.facts(*weights)), type) : m.facts(from);
  return m.define({count, channels}, sum_of(term, taps, type), [&](const Vars& v) {
    const Expr x = from(Expr(v[0]) * Expr(stride) + Expr(k), Expr(v[1]));
    return te::sum(weighted ? x * (*weights)(Expr(k), Expr(v[1])) : x, {k});
  });
}

}  // namespace tw::diff
