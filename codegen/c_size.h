// Sizes that a call decides, as C: expressions over its scalars.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "tensorwright/ir.h"

namespace tw::codegen {

using CNamesOf = std::unordered_map<uint64_t, std::string>;  // of variables, by id

// An int64_t of the functions below; sums and products saturate at the ends of 64 bits. Nothing for what depends on
// more than the variables that have names.
std::optional<std::string> c_size(const ir::Expr&, const CNamesOf&);

// Those functions, behind a guard.
extern const char* const kSizeFunctions;

}  // namespace tw::codegen
