// One group of lanes of a vectorised loop: statements and expressions of the scalar body, with the loop variable
// replaced by a ramp. What does not depend on the lane stays scalar and is broadcast where it meets a vector.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::lower {

// Facts about the place where the vectors stand.
struct VectorSite {
  const ir::Var& var;                                    // the vectorised loop's
  const ir::Bounds& bounds;                              // of the variables around
  const std::unordered_set<uint64_t>* constant_buffers;  // parameters that the program never writes
  const std::unordered_set<uint64_t>* padded;  // private buffers whose last dimension has room for whole vectors
};

// A buffer that was allocated inside the loop, with a last dimension for the lanes added.
struct PrivateBuffer {
  ir::Buffer buffer;
  ir::Expr first_lane;  // the value of the loop variable that has subscript 0 there
  bool padded = false;  // has room for whole vectors, all of whose lanes are written before they are read
};
using PrivateBuffers = std::unordered_map<uint64_t, PrivateBuffer>;

// `body` for the iterations base .. base + lanes - 1; with `count` < lanes only the first `count` of them happen.
ir::Stmt vector_body(const ir::Stmt& body, const VectorSite&, const PrivateBuffers&, const ir::Expr& base, int lanes,
                     int count);

// `buffer` with one more dimension.
ir::Buffer with_lane_dimension(const ir::Buffer& buffer, int64_t lanes);

}  // namespace tw::lower
