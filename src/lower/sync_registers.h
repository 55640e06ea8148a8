// Registers that groups of four warps give back and take (src/ir/group_products.h). Who takes more than others have
// given waits; so what all have at the end must be no more than what the block begins with.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "src/lower/sync_access.h"

namespace tw::lower {

struct RegisterFault {
  ir::Stmt at;
  std::string why;
  bool certain = false;
};
// Of a launch's body; `axis`: of each index of a thread, 0 for x.
std::optional<RegisterFault> register_fault(const ir::Stmt& body, const LaunchIndices& indices,
                                            const std::unordered_map<uint64_t, int>& axis);

}  // namespace tw::lower
