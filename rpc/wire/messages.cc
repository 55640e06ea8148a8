#include "rpc/wire/messages.h"

namespace tw::rpc {

ErrorReply reply_of(const Error& error) {
  const Diagnostic& d = error.diagnostic();
  return {static_cast<uint8_t>(d.kind), d.what, d.notes};
}

// Of a kind that this release does not know: what a machine elsewhere says.
Error error_of(const ErrorReply& reply) {
  const bool known = reply.kind <= static_cast<uint8_t>(ErrorKind::kInternal);
  return Error(Diagnostic{known ? static_cast<ErrorKind>(reply.kind) : ErrorKind::kRpc, reply.what, {}, reply.notes});
}

Digest name_of(const Job& job) {
  Job named = job;
  named.name = {};
  return sha256(encode(named));
}

}  // namespace tw::rpc
