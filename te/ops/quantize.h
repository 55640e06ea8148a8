// Scales, zero points and rounding of quantized numbers.
#pragma once

#include "te/ops/site.h"
#include "tensorwright/ops/quantized.h"

namespace tw::te::ops {

// Throws where a scale is no positive number, or no float32 vector of `channels`.
void check_scale(const Site&, const std::string& option, const Scale&, const Expr& channels);
// Throws where a zero point is none of `quantized`, or no int32 vector of `channels`.
void check_zero_point(const Site&, const std::string& option, const ZeroPoint&, Type quantized, const Expr& channels);
bool is_zero(const ZeroPoint&);

Expr scale_at(const Scale&, double factor, const Expr& channel);  // scale * factor, float32
Expr zero_point_at(const ZeroPoint&, const Expr& channel, Type = Type::i(32));

// round(real / scale) + zero_point of the type, for float32 values. A product with 1 / scale would round twice and miss
// one in twelve of the values that lie between two steps.
Expr rounded(Type, const Expr& real, const Expr& scale, const Expr& zero_point);

// The dtype of quantized numbers that an option names.
Type quantized_dtype(const Site&, const std::string& option, const std::string& name);

}  // namespace tw::te::ops
