// The tile of a buffer that an update touches: which loops run over it, under which guards, at which subscripts.
#pragma once

#include <optional>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::lower {

struct TileLoop {
  ir::Var var;
  int64_t extent;
  ir::ForKind kind;
};

// The way from a statement down to one store of the buffer.
struct TileAccess {
  std::vector<TileLoop> loops;   // whose variables occur in the subscripts, from the outside in
  std::vector<ir::Expr> guards;  // conditions around that don't mention a reduction variable
  std::vector<ir::Expr> at;
  bool reduces = false;      // the outermost loop on the way does not occur in the subscripts
  bool repeats = false;      // some loop on the way does not
  bool reads = false;        // the stored value reads the buffer
  bool conditional = false;  // under a condition on a reduction variable
  ir::Expr needed;           // whether all such conditions hold in some iteration; null: they do
};

// `guard` where these variables are 0, if it holds nowhere unless it holds there: its smaller side rises with them.
std::optional<ir::Expr> at_first(const ir::Expr& guard, const std::vector<ir::Var>& variables);

// One access per store to `buffer` below `s`; empty when the buffer is not touched there. No value: the buffer is
// touched in a way that no accumulator can stand for (other subscripts, parallel loops, extents that vary).
std::optional<std::vector<TileAccess>> tile_accesses(const ir::Stmt& s, const ir::Buffer& buffer);

// Whether two accesses touch the same elements in the same order, their loop variables being matched by position.
bool same_tile(const TileAccess&, const TileAccess&);

// at[d] = base[d] + offset[d]: the offset is over the tile's loops only and takes values in 0 .. shape[d]-1.
struct TileShape {
  std::vector<ir::Expr> base, offset;
  std::vector<int64_t> shape;
  bool once = true;  // no two iterations of the tile's loops touch the same element
};
std::optional<TileShape> tile_shape(const TileAccess&);

}  // namespace tw::lower
