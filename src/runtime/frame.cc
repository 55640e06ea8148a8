#include "src/runtime/frame.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "src/runtime/timing.h"

namespace tw::runtime {

FrameWriter& FrameWriter::number(int64_t value) {
  raw(&value, sizeof(value));
  return *this;
}

FrameWriter& FrameWriter::real(double value) {
  raw(&value, sizeof(value));
  return *this;
}

FrameWriter& FrameWriter::text(std::string_view value) {
  number(static_cast<int64_t>(value.size()));
  raw(value.data(), value.size());
  return *this;
}

FrameWriter& FrameWriter::numbers(const std::vector<int64_t>& values) {
  number(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) number(value);
  return *this;
}

FrameWriter& FrameWriter::reals(const std::vector<double>& values) {
  number(static_cast<int64_t>(values.size()));
  for (const double value : values) real(value);
  return *this;
}

std::string_view FrameReader::take(size_t size) {
  if (!ok_ || size > rest_.size()) {
    ok_ = false;
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

size_t FrameReader::count(size_t element_bytes) {
  const int64_t n = number();
  if (n < 0 || static_cast<uint64_t>(n) > rest_.size() / element_bytes) ok_ = false;
  return ok_ ? static_cast<size_t>(n) : 0;
}

int64_t FrameReader::number() {
  int64_t value = 0;
  if (const std::string_view bytes = take(sizeof(value)); !bytes.empty())
    std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

double FrameReader::real() {
  double value = 0;
  if (const std::string_view bytes = take(sizeof(value)); !bytes.empty())
    std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

std::string FrameReader::text() { return std::string(take(count(1))); }

std::vector<int64_t> FrameReader::numbers() {
  std::vector<int64_t> values(count(sizeof(int64_t)));
  for (int64_t& value : values) value = number();
  return values;
}

std::vector<double> FrameReader::reals() {
  std::vector<double> values(count(sizeof(double)));
  for (double& value : values) value = real();
  return values;
}

namespace {

bool send_all(int socket, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

Received receive_all(int socket, double deadline, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const double left = deadline - seconds_now();
    if (left <= 0) return Received::kDeadline;
    pollfd waiting{socket, POLLIN, 0};
    // Long waits are cut into pieces, so that no timeout overflows.
    const int ready = poll(&waiting, 1, static_cast<int>(std::ceil(std::min(left, 3600.0) * 1000)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t got = recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Received::kClosed;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return Received::kFrame;
}

}  // namespace

bool send_frame(int socket, const std::string& payload) {
  const uint64_t size = payload.size();
  return size <= kLargestFrame && send_all(socket, &size, sizeof(size)) &&
         send_all(socket, payload.data(), payload.size());
}

Received receive_frame(int socket, double deadline, std::string& payload) {
  uint64_t size = 0;
  if (const Received r = receive_all(socket, deadline, &size, sizeof(size)); r != Received::kFrame) return r;
  if (size > kLargestFrame) return Received::kMalformed;
  payload.resize(size);
  return receive_all(socket, deadline, payload.data(), size);
}

}  // namespace tw::runtime
