// Checks as JSON, without the bytes of their references: those travel as packs and boards carry blobs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "rpc/check/checks.h"

namespace tw::rpc {

// {"target":"...","needs":{...},"hardware":"","threads":4,"kernel":"...","inputs":1,"args":[...],"rtol":[...],
//  "reference":{"probes":[...]},"limits":{"timeout_s":10.0,"number":0,"repeat":0}}
nlohmann::ordered_json to_json(const Checks&);

// A made reference has no object yet, and one that is carried is missing. Throws std::exception for what is unsound,
// and for inputs that this release does not make tw::Error (kTune).
Checks checks_from(const nlohmann::ordered_json&);

}  // namespace tw::rpc
