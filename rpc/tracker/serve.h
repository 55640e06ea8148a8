// A tracker as a program: from its options to the signal that ends it.
#pragma once

#include <functional>
#include <optional>

#include "rpc/net/endpoint.h"
#include "rpc/net/secret.h"

namespace tw::rpc {

// Until SIGINT or SIGTERM. `listening` is called with the port. Throws Error where it cannot listen there.
void serve_tracker(const Endpoint&, const std::optional<Secret>&, const std::function<void(uint16_t)>& listening);

}  // namespace tw::rpc
