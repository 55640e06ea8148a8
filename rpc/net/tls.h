// TLS 1.3 by a secret that both sides have, and by nothing else: no certificates, no older versions, no tickets.
#pragma once

#include <asio/ssl/context.hpp>
#include <memory>

#include "rpc/net/secret.h"

namespace tw::rpc {

std::shared_ptr<asio::ssl::context> tls_context(const Secret&, bool accepts);

// Whether the handshake that is through was made by the secret.
bool made_by_secret(SSL*);

}  // namespace tw::rpc
