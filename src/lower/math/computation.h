// Straight-line float arithmetic: how the expansions of exp, log, ... are written down.
//
// All values have one float type (a vector as well as a scalar: both round alike) or its integer pattern. name() binds
// a value that is used more than once; finish() puts the bindings around the result.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::lower::math {

class Computation {
 public:
  // `fused`: the target has fused multiply-adds; without them fma() rounds twice. `scales`: Fn::kScale of this type is
  // an instruction of it.
  Computation(ir::Type type, bool fused, bool scales = false) : type_(type), fused_(fused), scales_(scales) {}

  ir::Type type() const { return type_; }
  bool fused() const { return fused_; }
  bool scales() const { return scales_; }
  bool is_double() const { return type_.bits == 64; }
  ir::Type pattern_type() const { return ir::Type::i(type_.bits, type_.lanes); }

  ir::Expr name(const char* name, ir::Expr value);
  ir::Expr finish(ir::Expr result) const;

  ir::Expr value(double v) const { return ir::float_imm(type_, v); }
  ir::Expr infinity() const;
  ir::Expr nan() const;
  ir::Expr integer(int64_t v) const { return ir::int_imm(pattern_type(), v); }
  ir::Expr pattern(ir::Expr float_value) const { return ir::reinterpret(pattern_type(), std::move(float_value)); }
  ir::Expr from_pattern(ir::Expr integer) const { return ir::reinterpret(type_, std::move(integer)); }

  ir::Expr fma(const ir::Expr& a, const ir::Expr& b, const ir::Expr& c) const;
  // c[0] * x^n + ... + c[n], by Horner's rule.
  ir::Expr polynomial(const ir::Expr& x, std::initializer_list<double> coefficients) const;
  ir::Expr absolute(const ir::Expr& x) const { return ir::call(ir::Fn::kAbs, {x}); }
  // The magnitude of a non-negative value, the sign of another.
  ir::Expr with_sign_of(const ir::Expr& magnitude, const ir::Expr& sign) const;

 private:
  ir::Type type_;
  bool fused_, scales_;
  std::vector<std::pair<ir::Var, ir::Expr>> names_;
};

ir::Expr bit_and(const ir::Expr& a, const ir::Expr& b);
ir::Expr bit_or(const ir::Expr& a, const ir::Expr& b);
ir::Expr shift_left(const ir::Expr& a, int by);
ir::Expr shift_right(const ir::Expr& a, int by);

}  // namespace tw::lower::math
