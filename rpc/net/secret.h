// What the machines of one farm share, so that nobody else takes part: 32 random bytes, in a file that only its owner
// may read.
//
//   tensorwright-secret 1 <64 hexadecimal digits>
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tw::rpc {

struct Secret {
  std::array<uint8_t, 32> bytes = {};
  bool operator==(const Secret&) const = default;
};

// Throw tw::Error (kRpc). A file that is there is never replaced.
Secret new_secret(const std::string& path);
// One that others may read is none, and is refused.
Secret read_secret(const std::string& path);
std::optional<Secret> secret_in(const std::string& path);  // none where no path is given

}  // namespace tw::rpc
