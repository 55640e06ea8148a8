// How the subscripts of a tensor move with those of an intrinsic's buffer, over the loops that the intrinsic replaces.
//
//   x[i * 2 + r]  and  A[n, jo * 8 + i * 2 + r]   ==>   the second of A by 1 with that of x, the first not at all
#pragma once

#include <optional>
#include <vector>

#include "src/ir/interval.h"
#include "src/ir/walk.h"

namespace tw::schedule {

class TileSubscripts {
 public:
  explicit TileSubscripts(const ir::Bounds& ranges) : ranges_(ranges) {}
  void add(const ir::Var& loop, int64_t extent);

  // By how much the subscript grows with each of `inner`; none where it does something else.
  std::optional<std::vector<int64_t>> factors(const ir::Expr& subscript, const std::vector<ir::Expr>& inner) const;
  // All loops at 0.
  ir::Substitution still() const;

 private:
  std::optional<int64_t> change(const ir::Expr&, const ir::Substitution& at) const;
  bool stands_still(const ir::Expr&) const;

  const ir::Bounds& ranges_;
  std::vector<ir::Var> loops_;
  std::vector<int64_t> extents_;
};

}  // namespace tw::schedule
