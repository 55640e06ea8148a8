// Sums of products: dtypes and epilogues.
#include "te/ops/products.h"

#include <algorithm>

#include "te/dtype.h"
#include "te/ops/activation.h"
#include "te/ops/axes.h"
#include "tensorwright/te_functions.h"

namespace tw::te::ops {
namespace {

bool like_float(Type t) { return t.is_float() || t.is_float8(); }

}  // namespace

Type accumulator(const Site& site, const std::string& a_name, const Tensor& a, const std::string& b_name,
                 const Tensor& b) {
  const Type ta = a.dtype(), tb = b.dtype();
  const int bits = std::max({32, int{ta.bits}, int{tb.bits}});
  if (like_float(ta) && like_float(tb)) return Type::f(bits);
  if (ta.is_integer() && tb.is_integer())
    return ta.is_uint() && tb.is_uint() && std::max(ta.bits, tb.bits) >= 32 ? Type::u(bits) : Type::i(bits);
  site.refuse(ErrorKind::kDType,
              a_name + " and " + b_name + " must both be floats or both be integers, not " + dtype_name(ta) + " and " +
                  dtype_name(tb),
              {describe(a_name, a), describe(b_name, b)});
}

Sums sums(const Site& site, Type accumulator, const std::string& out_dtype) {
  if (out_dtype.empty()) return {accumulator, accumulator};
  const Type out = site.dtype("out_dtype", out_dtype);
  if (out.is_bool() || (accumulator.is_float() && !like_float(out)))
    site.refuse(ErrorKind::kDType,
                "out_dtype must be one that holds sums of " + dtype_name(accumulator) + ", not " + dtype_name(out),
                {"ops.quantize rounds floats to integers"});
  const bool wider = out.code == accumulator.code && out.bits > accumulator.bits;
  return {wider ? out : accumulator, out};
}

void check_tf32(const Site& site, const std::string& name, const Tensor& factor) {
  if (factor.dtype() == Type::f(32)) return;
  site.refuse(ErrorKind::kDType,
              "tf32 must be of factors of float32, and " + name + " is of " + dtype_name(factor.dtype()),
              {describe(name, factor), "leave tf32 out: other dtypes are multiplied as they are"});
}

Expr product(const Sums& dtypes, Expr a, Expr b) {
  if (dtypes.tf32) a = tf32(std::move(a)), b = tf32(std::move(b));
  return convert(dtypes.accumulator, std::move(a)) * convert(dtypes.accumulator, std::move(b));
}

void Epilogue::check(const Expr& channels) const {
  if (bias) {
    site.rank("bias", bias, 1);
    site.same("elements of bias", bias.shape()[0], "channels of the result", channels, {describe("bias", bias)});
    const Type t = bias.dtype();
    if (t.is_bool() || (like_float(t) && !like_float(dtypes.accumulator)))
      site.refuse(ErrorKind::kDType,
                  "bias must be of " + dtype_name(dtypes.accumulator) + ", what it is added to, not " + dtype_name(t),
                  {describe("bias", bias)});
  }
}

Tensor Epilogue::apply(const Tensor& sums, const std::vector<std::string>& axes,
                       const std::function<Expr(const std::vector<Var>&)>& channel) const {
  if (empty()) return sums;
  return compute(
      sums.shape(),
      [&](const std::vector<Var>& at) {
        Expr value = sums(exprs(at));
        if (bias) value = value + convert(dtypes.accumulator, bias(channel(at)));
        if (activates()) value = activate(site, activation, value);
        return convert(dtypes.out, value);
      },
      name, axes, site.where);
}

}  // namespace tw::te::ops
