// Which of the loops marked `vectorized` have a vector form, and how wide it is.
#pragma once

#include <optional>
#include <unordered_set>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

// The variables inside `body` whose values differ between iterations of the loop over `var`.
class LaneVariables {
 public:
  LaneVariables(const ir::Var& var, const ir::Stmt& body);
  bool varies(const ir::Expr&) const;
  // Whether something in it has no vector form though iterations are independent: a C function, a loop whose extent
  // each lane has another of.
  bool lane_by_lane(const ir::Stmt&) const;
  // Whether some statement has a vector form.
  bool vectors_in(const ir::Stmt&) const;

 private:
  std::unordered_set<uint64_t> ids_;
};

bool has_vector_form(const ir::For&);

// The lanes of the vectors for a loop over `body`: of the widest type in it, which is float32 for halves that
// are computed with; on a device, of the narrowest that is read or written.
int lanes_for(const ir::Stmt& body, const Target&);

// How much of its rows all stores to a private buffer write, if by vectorised loops of one extent and width: then the
// lanes past the end of that are written before they are read, like the others.
std::optional<int64_t> written_by_vectors(const ir::Stmt& body, const ir::Buffer&, int lanes, const Target&);

}  // namespace tw::lower
