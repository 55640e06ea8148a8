// Conversions of 8-bit floats.

#include "src/lower/float8.h"

#include "src/ir/walk.h"
#include "src/lower/math/float8_bits.h"
#include "src/lower/math/half_bits.h"

namespace tw::lower {

using namespace ir;

namespace {

// A float32 that rounds to a float8 as `value` would.
Expr source(const Expr& value) {
  const Type from = value.type(), f32 = Type::f(32, from.lanes), f64 = Type::f(64, from.lanes);
  const bool exact = from.is_bool() || from.is_half() || (from.is_integer() && from.bits <= 16);
  if (from == f32) return value;
  return exact ? cast(f32, value) : math::to_odd_float32(cast(f64, value));
}

Expr converted(const Expr& e) {
  const auto* c = as<Cast>(e);
  if (!c) return e;
  const Type to = e.type(), from = c->value.type();
  if (!to.is_float8() && !from.is_float8()) return e;
  const Expr wide = from.is_float8() ? math::widen_float8(c->value) : source(c->value);
  return to.is_float8() ? math::narrow_float8(to, wide) : cast(to, wide);
}

}  // namespace

Program float8(const Program& p, const Target&) {
  Program out = p;
  out.body = rewrite(p.body, [](const Stmt& s) { return s; }, converted);
  return out;
}

}  // namespace tw::lower
