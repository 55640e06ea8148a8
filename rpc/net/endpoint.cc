#include "rpc/net/endpoint.h"

#include <charconv>

#include "rpc/wire/rpc_error.h"

namespace tw::rpc {

Endpoint parse_endpoint(std::string_view text, std::string_view what) {
  const size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    host = {};  // a number of IPv6 without brackets
  uint16_t port = 0;
  const std::string_view digits = text.substr(colon == std::string_view::npos ? text.size() : colon + 1);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (host.empty() || digits.empty() || code != std::errc() || end != digits.data() + digits.size())
    throw rpc_error(std::string(what) + " must be HOST:PORT, not '" + std::string(text) + "'",
                    {"for example pi4-1:9090, 127.0.0.1:9090 or [::1]:9090"});
  return {std::string(host), port};
}

std::string to_string(const Endpoint& e) {
  const bool number = e.host.find(':') != std::string::npos;
  return (number ? "[" + e.host + "]" : e.host) + ":" + std::to_string(e.port);
}

}  // namespace tw::rpc
