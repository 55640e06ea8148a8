// A client of a board that says what a test tells it to, byte for byte, and waits for the answer.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <deque>
#include <string>

#include "rpc/wire/messages.h"

namespace tw::rpc::test {

class Client {
 public:
  explicit Client(uint16_t port) : socket_(context_) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
    const timeval patience{20, 0};
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    say(Hello{});
    hear<Hello>();
  }
  void close() { socket_.close(); }

  void raw(const std::string& bytes) { asio::write(socket_, asio::buffer(bytes)); }
  void say(MessageType type, const std::string& payload, uint16_t stream = 0) {
    const auto header = encode(FrameHeader{static_cast<uint32_t>(payload.size()), type, stream});
    raw(std::string(header.data(), header.size()) + payload);
  }
  template <Message M>
  void say(const M& message, uint16_t stream = 0) {
    say(M::kType, encode(message), stream);
  }

  // What comes next, or a type of 0 where the connection ended.
  Frame next() {
    if (later_.empty()) return read();
    Frame frame = std::move(later_.front());
    later_.pop_front();
    return frame;
  }
  // Which has to be this; what says that something takes its time is passed over.
  template <Message M>
  M hear() {
    Frame frame = next();
    while (frame.type == MessageType::kBusy && M::kType != MessageType::kBusy) frame = next();
    const auto message = decode<M>(frame.payload);
    if (frame.type != M::kType || !message) {
      ADD_FAILURE() << "type " << static_cast<int>(frame.type) << ": " << frame.payload;
      return {};
    }
    stream = frame.stream;
    return *message;
  }
  bool ended() { return next().type == MessageType{}; }

  // A blob, in chunks. Returns what is said of it at its end.
  Frame put(const std::string& bytes, const Digest& digest) {
    say(Put{digest, bytes.size()}, kUpload);
    for (size_t at = 0; at < bytes.size(); at += kChunkBytes) {
      if (Frame frame = of_upload(); frame.type != MessageType::kCredit) return frame;
      say(MessageType::kChunk, bytes.substr(at, kChunkBytes), kUpload);
    }
    return of_upload();
  }
  Digest store(const std::string& bytes) {
    const Frame frame = put(bytes, sha256(bytes));
    EXPECT_EQ(frame.type, MessageType::kStored) << frame.payload;
    return sha256(bytes);
  }

  uint16_t stream = 0;  // of what was heard last

 private:
  static constexpr uint16_t kUpload = 7;  // its stream

  Frame read() {
    std::array<char, kFrameHeaderBytes> bytes;
    if (!receive(bytes.data(), bytes.size())) return {MessageType{}, 0, "the connection ended, or nothing came"};
    const FrameHeader header = decode_header({bytes.data(), bytes.size()});
    Frame frame{header.type, header.stream, std::string(header.bytes, '\0')};
    receive(frame.payload.data(), frame.payload.size());
    return frame;
  }
  bool receive(char* into, size_t bytes) {
    while (bytes > 0) {
      const ssize_t count = recv(socket_.native_handle(), into, bytes, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      into += count;
      bytes -= static_cast<size_t>(count);
    }
    return true;
  }
  // Other answers may come before it.
  Frame of_upload() {
    for (;;) {
      Frame frame = read();
      if (frame.stream == kUpload || frame.type == MessageType{}) return frame;
      later_.push_back(std::move(frame));
    }
  }

  asio::io_context context_;
  asio::ip::tcp::socket socket_;
  std::deque<Frame> later_;
};

}  // namespace tw::rpc::test
