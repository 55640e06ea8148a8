// Whether a subscript stays inside its tensor wherever it is evaluated.
#pragma once

#include <vector>

#include "src/ir/interval.h"
#include "tensorwright/te.h"

namespace tw::te {

// Where a read stands: below these loops, where these conditions hold or do not hold.
struct ReadPlace {
  std::vector<IterVar> axes;
  std::vector<std::pair<Expr, bool>> conditions;
  ir::Bounds ranges;         // of axes with constant ends
  std::vector<Var> extents;  // sizes that are the whole extent of something: not negative
};

enum class Reading {
  kInside,       // always
  kConditional,  // where `required` holds
  kOutside,      // somewhere, for all sizes that are not 0
  kUnproved,
};
struct ReadVerdict {
  Reading reading = Reading::kInside;
  std::vector<Expr> required = {};  // each necessary, sufficient together: inequalities of sizes, joined by `or`
};

enum class Side { kStart, kEnd };  // before the first element, or behind the last
ReadVerdict judge_read(const Expr& at, const std::vector<Expr>& shape, size_t dimension, const ReadPlace&, Side);

// The same with what is so at each call, as a rule: sizes that make up extents are not negative, and there is an
// element. Never inside without a condition; not proved where a size moves.
ReadVerdict judge_assuming_sizes(const Expr& at, const std::vector<Expr>& shape, size_t dimension, const ReadPlace&,
                                 Side);

// Whether it depends on a loop, as the size of memory within a statement may.
bool depends_on_loops(const Expr& size, const ReadPlace&);

// Whether only the first values of t can be outside on that side: `t - 1` before the first element, `n - t` behind the
// last of n. A scan does not compute these times.
bool outside_early(const Expr& at, const Expr& extent, const Var& t, Side);

// What makes sure that there is an element wherever this is read, as far as sizes are concerned.
std::vector<Expr> not_empty(const std::vector<Expr>& shape, size_t dimension, const ReadPlace&);

// Whether `condition`, of sizes, holds where `others` do. `extents` as above.
bool follows(const Expr& condition, const std::vector<Expr>& others, const std::vector<Var>& extents);

}  // namespace tw::te
