// Rates as JSON, for logs and for the file in which calibration keeps them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "tensorwright/machine.h"

namespace tw::schedule {

nlohmann::ordered_json to_json(const Rates&);
// Nothing for what no machine sustains: a member that is missing, no number, or no positive one.
std::optional<Rates> rates_from(const nlohmann::ordered_json&);

}  // namespace tw::schedule
