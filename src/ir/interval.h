// Intervals of index expressions: numeric (for proofs) and symbolic (for bounds inference).
#pragma once

#include <limits>
#include <optional>
#include <unordered_map>

#include "tensorwright/ir.h"

namespace tw::ir {

// A closed interval of integers; an end at +-infinity is unknown. lo > hi is the empty interval.
struct Interval {
  static constexpr int64_t kNegInf = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kPosInf = std::numeric_limits<int64_t>::max();
  int64_t lo = kNegInf, hi = kPosInf;

  static Interval point(int64_t v) { return {v, v}; }
  static Interval everything() { return {}; }
  bool bounded() const { return lo != kNegInf && hi != kPosInf; }
  bool is_point() const { return lo == hi; }
  bool operator==(const Interval&) const = default;
};
Interval join(Interval, Interval);

using Bounds = std::unordered_map<uint64_t, Interval>;  // variable id -> values

// The values that an index (or bool: 0..1, or integer data, treated as wrapping: everything unless provable) expression
// can take. For vectors: over all lanes. Sound always; exact for affine expressions of independent variables.
Interval interval_of(const Expr&, const Bounds&);

// True only if the bool expression is true (false) for all values within bounds. Works on differences of the two sides
// after cancelling common terms, so `i*6 + x < i*6 + 6` is provable.
bool can_prove(const Expr& condition, const Bounds&);
bool can_disprove(const Expr& condition, const Bounds&);

// The bounds where the condition holds: of variables that it compares, and of those in products that are not zero.
Bounds bounds_where(const Expr& condition, const Bounds&);

// While it lives, `bounds` are those inside a loop of this extent, which has an iteration.
class BoundsInside {
 public:
  BoundsInside(Bounds& bounds, const Expr& extent);
  ~BoundsInside();
  BoundsInside(const BoundsInside&) = delete;
  BoundsInside& operator=(const BoundsInside&) = delete;

 private:
  Bounds& bounds_;
  std::optional<Bounds> outside_;  // empty where the extent says nothing
};

// Symbolic ends: the smallest and largest value of `e` while the variables in `inner` run over 0..extent-1 and all
// other variables stay fixed. Both ends are expressions over the other variables only. A subexpression without inner
// variables is an opaque term. floordiv/floormod by positive constants are handled (not just as "unknown"); min, max,
// select (join of both arms), casts from data (unknown) too. `known` is false when no finite end could be found.
struct SymbolicInterval {
  Expr lo, hi;
  bool known = true;
};
SymbolicInterval symbolic_interval(const Expr& e, const std::unordered_map<uint64_t, Expr>& inner_extents,
                                   const Bounds& outer);

}  // namespace tw::ir
