// A board as a program: from its options to the signal that ends it.
#pragma once

#include <functional>
#include <optional>

#include "rpc/board/board.h"
#include "rpc/net/endpoint.h"
#include "rpc/net/secret.h"

namespace tw::rpc {

// Whether those who listen there can be reached by other machines.
bool is_reached_by_others(const Endpoint&);

// Until SIGINT or SIGTERM. `listening` is called with the port. Throws Error where it cannot listen there.
void serve_board(const Endpoint&, const std::optional<Secret>&, const Board::Options&,
                 const std::function<void(uint16_t)>& listening);

}  // namespace tw::rpc
