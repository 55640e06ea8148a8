// Making operations: what placeholder and compute have in common.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/te.h"

namespace tw::te {

// A node with a fresh id, without outputs. Chains of any length are freed without recursion.
std::shared_ptr<OpNode> make_operation(std::string name, SourceLine where);

constexpr size_t kMaxRank = 16;  // dimensions of a tensor

// The extents as index expressions: at most kMaxRank of them, constants from 0 on or expressions over scalars, of a
// tensor that memory can address. `what` names the tensor: "compute C".
std::vector<Expr> checked_shape(const std::string& what, const std::vector<Expr>& shape, const SourceLine& where);

// For who gave an axis where an extent is asked for: "n is the index of a compute, ...", one note for each such
// variable.
std::vector<std::string> notes_on_axes(const Expr& extent);

// The scalars that the tensors are made of, each once.
std::vector<Var> scalars_of(const std::vector<Tensor>& roots);

// Whether an expression can be the extent of a dimension: integers and scalars joined by + - * // % min max.
bool is_extent(const Expr&);

}  // namespace tw::te
