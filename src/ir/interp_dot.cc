// Dot products of the interpreter.
//
// kDotBF16, as vdpbf16ps does it: denormals of c, a and b count as zero; c takes the product of the odd pair and then
// that of the even pair, each with one rounding to nearest; a result that is denormal becomes a zero of its sign.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "src/ir/interp_value.h"
#include "src/ir/typing.h"

namespace tw::ir::interp {
namespace {

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

}  // namespace

Value dot(Fn fn, Value c, const Value* a, const Value* b) {
  if (fn == Fn::kDotBF16) {
    float sum = flushed(c.f);
    for (int j : {1, 0}) sum = flushed(std::fma(flushed(a[j].f), flushed(b[j].f), sum));
    Value out{};
    out.f = sum;
    return out;
  }
  int64_t sum = c.i;
  for (int j = 0; j < dot_form(fn).group; j += 2) {
    const int64_t both = a[j].i * b[j].i + a[j + 1].i * b[j + 1].i;
    sum += fn == Fn::kDotU8I8Sat ? std::clamp<int64_t>(both, INT16_MIN, INT16_MAX) : both;
  }
  Value out{};
  out.i = static_cast<int32_t>(static_cast<uint32_t>(sum));
  return out;
}

}  // namespace tw::ir::interp
