// What a program asks of a tracker, one question at a time: each call waits for its answer. Throw Error.
#pragma once

#include <optional>
#include <string>

#include "rpc/net/endpoint.h"
#include "rpc/net/secret.h"

namespace tw::rpc {

std::string tracker_summary(const Endpoint& tracker, const std::optional<Secret>&);  // tracker/summary.h
void release_from_quarantine(const Endpoint& tracker, const std::optional<Secret>&, const std::string& board);

}  // namespace tw::rpc
