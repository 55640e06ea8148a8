#include "rpc/client/transfers.h"

#include <algorithm>
#include <vector>

#include "rpc/client/put_blob.h"

namespace tw::rpc {

using asio::awaitable;

namespace {

awaitable<void> receive_chunks(Exchange& exchange, char* into, uint64_t bytes) {
  while (bytes > 0) {
    const Frame frame = co_await exchange.receive();
    if (frame.type != MessageType::kChunk || frame.payload.empty() || frame.payload.size() > bytes) refuse_frame(frame);
    into = std::ranges::copy(frame.payload, into).out;
    bytes -= frame.payload.size();
  }
}

awaitable<bool> has(Link& board, Digest digest) {
  Have question;
  question.blobs = {digest};
  const Present present = co_await asked<Present>(board, std::move(question));
  co_return present.blobs == std::vector<uint8_t>{1};
}

}  // namespace

awaitable<void> read_array(Link& board, ReadArray message, char* into) {
  Exchange exchange(board);
  co_await exchange.send(message);
  co_await receive_chunks(exchange, into, message.bytes);
}

awaitable<void> write_array(Link& board, uint64_t array, std::string_view bytes) {
  Exchange exchange(board);
  const WriteArray announced{array, 0, bytes.size()};
  co_await exchange.send(announced);
  for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(bytes.size(), kChunkBytes))) {
    std::string chunk(bytes.substr(0, kChunkBytes));
    co_await exchange.send(MessageType::kChunk, std::move(chunk));
  }
  const Frame frame = co_await exchange.receive();
  read_as<Done>(frame);
}

awaitable<std::string> download(Link& board, std::string name) {
  Exchange exchange(board);
  const Download wanted{std::move(name)};
  co_await exchange.send(wanted);
  const Frame frame = co_await exchange.receive();
  const uint64_t bytes = read_as<Content>(frame).bytes;
  if (bytes > kMostOfBlob)
    throw ConnectionLost(
        Diagnostic{ErrorKind::kRpc, "a file of " + std::to_string(bytes) + " bytes is more than boards keep", {}, {}});
  std::string content(bytes, '\0');
  co_await receive_chunks(exchange, content.data(), bytes);
  co_return content;
}

awaitable<void> bring(Link& board, std::string_view bytes) {
  const Digest digest = sha256(bytes);
  const bool there = co_await has(board, digest);
  if (there) co_return;
  Exchange exchange(board);
  co_await put_blob(exchange, digest, bytes);
  Frame frame = co_await exchange.receive();
  while (frame.type == MessageType::kCredit) frame = co_await exchange.receive();
  read_as<Stored>(frame);
}

}  // namespace tw::rpc
