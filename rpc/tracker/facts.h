// What a board says of itself, by the paths of its description's fields, so that predicates can ask:
// {"cores":4,"features":["neon"],"sandbox":{"seccomp":"holds"}} has cores, features and sandbox.seccomp.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensorwright/error.h"

namespace tw::rpc {

// A list holds texts; of other lists, and of what is nested deeper than descriptions are, nothing is known.
using Fact = std::variant<bool, double, std::string, std::vector<std::string>>;
using Facts = std::map<std::string, Fact>;

// Of a JSON object; anything else is refused (kRpc).
Result<Facts> facts_of(std::string_view description);

}  // namespace tw::rpc
