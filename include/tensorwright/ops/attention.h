// Scaled dot-product attention.
#pragma once

#include <optional>

#include "tensorwright/te.h"

namespace tw::te::ops {

struct AttentionOptions {
  Tensor mask = {};     // bool: true takes part; floats: added to the scores; repeated to [.., S, T] as in NumPy
  bool causal = false;  // position t takes part in s where t <= s + past
  Expr past = 0;        // how many positions of k and v are before those of q: an integer, or an expression of te.var
  std::vector<int64_t> window = {};  // {left, right}: only where s + past - left <= t <= s + past + right; -1: no end
  double softcap = 0;                // c > 0: c * tanh(score / c) instead of a score, before the mask
  std::optional<double> scale = {};  // default: 1 / sqrt(D)
  std::string name = "attention";
  void fields(auto&& f) {
    f("mask", mask), f("causal", causal), f("past", past), f("window", window), f("softcap", softcap),
        f("scale", scale), f("name", name);
  }
};

// out[.., s, e] = sum over t of softmax over t of (scale * sum over d of q[.., s, d] * k[.., t, d] + mask)[.., s, t] *
// v[.., t, e]: q [.., S, D], k [.., T, D], v [.., T, E], out [.., S, E], of floats. The dimensions in front
// are the same; the last of them, the heads, may be fewer in k and v and divide those of q: neighbouring heads share
// them. Where nothing takes part the result is 0. Halves are calculated with in float32 and rounded once.
// Errors: kExpr for shapes, kDType where a tensor is not of floats, kArgument for options.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, AttentionOptions = {},
                 SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
