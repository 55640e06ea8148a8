// Where the elements of an intrinsic's buffers stand in the tensors of a stage, found by matching its expression.
//
//   c[j] += a[k] * b[j, k]   and   C[i, jo*16 + ji] += A[i, ko*4 + ki] * B[jo, ko, ji, ki]
//
//   ==>  a[x] is A[i, ko*4 + x],  b[x, y] is B[jo, ko, x, y],  c[x] is C[i, jo*16 + x]
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedule/bounds.h"
#include "schedule/loop_nest.h"
#include "schedule/tile_subscripts.h"

namespace tw::schedule {

// Subscript s is base[s] + sum over d of factor[s][d] * at[d].
struct TileRegion {
  ir::Buffer buffer;
  std::vector<ir::Expr> base;
  std::vector<std::vector<int64_t>> factor;

  std::vector<ir::Expr> at(const std::vector<ir::Expr>& inner) const;
  bool operator==(const TileRegion&) const;
};
using TileRegions = std::map<uint64_t, TileRegion>;  // by the id of the intrinsic's buffer

class TileMatch {
 public:
  // `inner`: over the loops that the intrinsic replaces; it outlives this.
  TileMatch(const LoopNest& nest, const NestBounds& all, const TileSubscripts& inner)
      : nest_(nest), all_(all), inner_(inner) {}

  // Whether x over the stage's loops is y over the same loops; binds the buffers of y on the way.
  bool same(const ir::Expr& x, const ir::Expr& y);
  // inner[i] of the intrinsic is outer[at] of the stage.
  bool bind(const ir::Buffer& inner, const std::vector<ir::Expr>& i, const ir::Buffer& outer,
            const std::vector<ir::Expr>& at);

  const TileRegions& regions() const { return regions_; }
  const std::string& why() const { return why_; }  // the last one was not bound; empty: for no reason of its own

 private:
  std::vector<ir::Expr> in_memory(const ir::Buffer&, std::vector<ir::Expr> at) const;
  std::vector<ir::Expr> placed(int source, std::vector<ir::Expr> at) const;
  bool not_affine(const ir::Buffer&, const ir::Expr& subscript);

  const LoopNest& nest_;
  const NestBounds& all_;
  const TileSubscripts& inner_;
  TileRegions regions_;
  std::string why_;
};

}  // namespace tw::schedule
