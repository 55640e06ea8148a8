// A board as a program: from its options to the signal that ends it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "rpc/board/board.h"
#include "rpc/net/endpoint.h"
#include "rpc/net/secret.h"

namespace tw::rpc {

// Whether those who listen there can be reached by other machines.
bool is_reached_by_others(const Endpoint&);

// Until SIGINT or SIGTERM. `listening` is called with the port. Throws Error where it cannot listen there.
void serve_board(const Endpoint&, const std::optional<Secret>&, const Board::Options&,
                 const std::function<void(uint16_t)>& listening);

struct AtTracker {
  Endpoint tracker;  // a number: a static program resolves no names
  std::string key, name;
  double give_up_s = 0;  // after so long without it, Error is thrown; 0: never
};
// Likewise, for those whom a tracker brings. `report` is told what happens, for people.
void serve_board(const AtTracker&, const std::optional<Secret>&, const Board::Options&,
                 const std::function<void(const std::string&)>& report);

}  // namespace tw::rpc
