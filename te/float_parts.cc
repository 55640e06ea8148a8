// The signs, exponents and digits of floats: copysign, nextafter, ldexp.
#include "te/float_parts.h"

#include "te/dtype.h"
#include "te/promote.h"
#include "te/refuse.h"
#include "tensorwright/te_functions.h"

namespace tw::te {

using ir::BinOp;

namespace {

Type pattern_type(Type type) { return Type::i(type.bits); }

Expr clamped(const Expr& n, int64_t low, int64_t high) { return ir::max(whole(low), ir::min(whole(high), n)); }

// An exponent may take three steps. One downwards leaves 53 bits above the denormals, so that nothing is rounded before
// the last step.
Expr ldexp_of_float64(Expr x, Expr n) {
  for (int step = 0; step < 2; ++step) {
    const Expr up = n > whole(1023), down = n < whole(-1022);
    x = x * ir::select(up, real(0x1p1023), ir::select(down, real(0x1p-969), real(1)));
    n = n - ir::select(up, whole(1023), ir::select(down, whole(-969), whole(0)));
  }
  return x * power_of_two(clamped(n, -1022, 1023));
}

}  // namespace

void expect_float(const std::string& function, const Expr& e) {
  if (e.type().is_float()) return;
  refuse(ErrorKind::kDType, function + ": expected a float, not " + short_text(e) + " of " + dtype_name(e.type()),
         {"e.astype(\"float32\") converts"});
}

void promote_floats(const std::string& function, Expr& a, Expr& b) {
  promote(a, b);
  if (a.type().is_float()) return;
  refuse(ErrorKind::kDType, function + ": expected floats, not " + dtype_name(a.type()),
         {"e.astype(\"float32\") converts"});
}

Expr pattern(const Expr& x) { return ir::reinterpret(pattern_type(x.type()), x); }
Expr bit_and(const Expr& a, const Expr& b) { return ir::binary(BinOp::kBitAnd, a, b); }
Expr bit_or(const Expr& a, const Expr& b) { return ir::binary(BinOp::kBitOr, a, b); }

Expr power_of_two(const Expr& n) {
  return ir::reinterpret(Type::f(64), ir::binary(BinOp::kShl, n + whole(1023), whole(52)));
}

Expr with_sign_of(const Expr& size, const Expr& sign) {
  const Type bits = pattern_type(size.type());
  const Expr highest = ir::type_min(bits);
  return ir::reinterpret(size.type(),
                         bit_or(bit_and(pattern(size), ir::type_max(bits)), bit_and(pattern(sign), highest)));
}

Expr copysign(Expr x, Expr y) {
  promote_floats("copysign", x, y);
  return with_sign_of(x, y);
}

// The patterns of floats of one sign are in the order of their magnitudes.
Expr nextafter(Expr from, Expr to) {
  promote_floats("nextafter", from, to);
  const Type type = from.type();
  const Expr zero = ir::imm(type, 0), one = ir::int_imm(pattern_type(type), 1);
  const Expr grows = ir::eq(to > from, from > zero);
  const Expr moved = ir::reinterpret(type, ir::select(grows, pattern(from) + one, pattern(from) - one));
  const Expr least = with_sign_of(ir::reinterpret(type, one), to);
  const Expr next = ir::select(ir::eq(from, to), to, ir::select(ir::eq(from, zero), least, moved));
  return ir::select(ir::binary(BinOp::kOr, isnan(from), isnan(to)), from + to, next);
}

Expr ldexp(Expr x, Expr n) {
  n = as_data(std::move(n));
  if (!x.type().is_float() || !(n.type().is_int() || n.type().is_uint()) || n.type().is_storage())
    refuse(ErrorKind::kDType,
           "ldexp: expected a float and an integer, not " + dtype_name(x.type()) + " and " + dtype_name(n.type()),
           {"te.power(2.0, y) takes a float"});
  if (n.type() == Type::u(64)) n = ir::min(ir::int_imm(n.type(), 1 << 20), n);
  const Expr by = convert(Type::i(64), std::move(n));
  if (x.type() == Type::f(64)) return ldexp_of_float64(std::move(x), clamped(by, -2200, 2200));
  return in_float64([&](const Expr& wide) { return wide * power_of_two(clamped(by, -1022, 1023)); }, std::move(x));
}

}  // namespace tw::te
