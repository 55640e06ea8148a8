#include "rpc/wire/digest.h"

#include <openssl/evp.h>

#include <cstring>

#include "tensorwright/error.h"

namespace tw::rpc {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  TW_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::add(std::string_view bytes) {
  TW_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
  return *this;
}

Digest Sha256::finish() {
  Digest digest;
  TW_CHECK(EVP_DigestFinal_ex(state_->context, digest.bytes.data(), nullptr) == 1);
  return digest;
}

Digest sha256(std::string_view bytes) { return Sha256().add(bytes).finish(); }

std::string to_hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest.bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<Digest> digest_from_hex(std::string_view text) {
  Digest digest;
  if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (value < 0) return std::nullopt;
    digest.bytes[i / 2] = static_cast<uint8_t>(digest.bytes[i / 2] << 4 | value);
  }
  return digest;
}

}  // namespace tw::rpc

size_t std::hash<tw::rpc::Digest>::operator()(const tw::rpc::Digest& digest) const noexcept {
  size_t value;  // its bytes are as good as random
  std::memcpy(&value, digest.bytes.data(), sizeof value);
  return value;
}
