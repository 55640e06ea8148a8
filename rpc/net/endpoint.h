// Where somebody listens: a host, by name or number, and a port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tw::rpc {

struct Endpoint {
  std::string host;
  uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

// "pi4-1:9090", "127.0.0.1:9090", "[::1]:9090"; `what` names it in the error: tw::Error (kRpc).
Endpoint parse_endpoint(std::string_view text, std::string_view what);
std::string to_string(const Endpoint&);

}  // namespace tw::rpc
