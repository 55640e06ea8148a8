#include "rpc/net/tls.h"

#include <openssl/ssl.h>

#include <climits>

#include "tensorwright/error.h"

namespace tw::rpc {
namespace {

constexpr unsigned char kIdentity[] = "tensorwright 1";
constexpr size_t kIdentityBytes = sizeof kIdentity - 1;
constexpr unsigned char kCipher[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256: a key goes with the hash of a cipher
constexpr const char* kCiphers = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";

int place_of_secret() {
  static const int place = SSL_CTX_get_ex_new_index(
      0, nullptr, nullptr, nullptr,
      [](void*, void* secret, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<Secret*>(secret); });
  return place;
}

SSL_SESSION* session_of(SSL* ssl) {
  const auto* secret = static_cast<const Secret*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), place_of_secret()));
  SSL_SESSION* session = SSL_SESSION_new();
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kCipher);
  if (session && cipher && SSL_SESSION_set1_master_key(session, secret->bytes.data(), secret->bytes.size()) &&
      SSL_SESSION_set_cipher(session, cipher) && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION)) {
    // A key has no age: a date that is set while hands are shaken, as a board's is once it has a network, ends nothing.
    SSL_SESSION_set_time(session, 0);
    SSL_SESSION_set_timeout(session, LONG_MAX);
    return session;
  }
  SSL_SESSION_free(session);
  return nullptr;
}

// After a retry the server may have asked for another hash, for which there is no key.
int offer(SSL* ssl, const EVP_MD* hash, const unsigned char** identity, size_t* identity_bytes, SSL_SESSION** session) {
  *identity = kIdentity;
  *identity_bytes = kIdentityBytes;
  *session = hash == nullptr || EVP_MD_is_a(hash, "SHA256") ? session_of(ssl) : nullptr;
  return 1;
}

int find(SSL* ssl, const unsigned char* identity, size_t bytes, SSL_SESSION** session) {
  const bool ours = bytes == kIdentityBytes && CRYPTO_memcmp(identity, kIdentity, bytes) == 0;
  *session = ours ? session_of(ssl) : nullptr;
  return 1;
}

}  // namespace

std::shared_ptr<asio::ssl::context> tls_context(const Secret& secret, bool accepts) {
  using asio::ssl::context;
  auto made = std::make_shared<context>(accepts ? context::tlsv13_server : context::tlsv13_client);
  SSL_CTX* raw = made->native_handle();
  TW_CHECK(SSL_CTX_set_ex_data(raw, place_of_secret(), new Secret(secret)) == 1);
  TW_CHECK(SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) == 1 && SSL_CTX_set_ciphersuites(raw, kCiphers) == 1);
  TW_CHECK(SSL_CTX_set_num_tickets(raw, 0) == 1);
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  if (accepts)
    SSL_CTX_set_psk_find_session_callback(raw, find);
  else
    SSL_CTX_set_psk_use_session_callback(raw, offer);
  // A server that shows a certificate instead is refused: none is trusted.
  if (!accepts) made->set_verify_mode(asio::ssl::verify_peer);
  return made;
}

bool made_by_secret(SSL* ssl) { return SSL_session_reused(ssl) == 1 && SSL_version(ssl) == TLS1_3_VERSION; }

}  // namespace tw::rpc
