// What most refusals of rpc are.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorwright/error.h"

namespace tw::rpc {

inline Error rpc_error(std::string what, std::vector<std::string> notes = {}) {
  return Error(Diagnostic{ErrorKind::kRpc, std::move(what), {}, std::move(notes)});
}

}  // namespace tw::rpc
