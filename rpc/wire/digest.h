// SHA-256: blobs, tasks and jobs are known by it, so that whoever has one need not be sent it again.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tw::rpc {

struct Digest {
  std::array<uint8_t, 32> bytes = {};
  auto operator<=>(const Digest&) const = default;
};

Digest sha256(std::string_view bytes);

// Of bytes that come in parts.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  Sha256& add(std::string_view bytes);
  Digest finish();  // once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string to_hex(const Digest&);
std::optional<Digest> digest_from_hex(std::string_view);

}  // namespace tw::rpc

template <>
struct std::hash<tw::rpc::Digest> {
  size_t operator()(const tw::rpc::Digest&) const noexcept;
};
