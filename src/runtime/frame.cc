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

// Descriptors travel with the first of the bytes that are sent together with them.
struct Control {
  alignas(cmsghdr) char space[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
};

void attach(msghdr& message, Control& control, std::span<const int> descriptors) {
  if (descriptors.empty()) return;
  const size_t bytes = descriptors.size_bytes();
  message.msg_control = control.space;
  message.msg_controllen = CMSG_SPACE(bytes);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  *header = {.cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
}

void take(msghdr& message, std::vector<support::Descriptor>& descriptors) {
  for (const cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
      descriptors.emplace_back(fd);
    }
  }
}

constexpr double kLookS = 1;       // a long wait is cut into pieces
constexpr double kStoppedS = 0.5;  // later than it asked for, nobody awakes that runs

bool send_all(int socket, const void* data, size_t size, std::span<const int> descriptors = {}) {
  char* at = const_cast<char*>(static_cast<const char*>(data));
  while (size > 0) {
    iovec piece{at, size};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    Control control;
    attach(message, control, descriptors);
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    descriptors = {};
    at += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

Received receive_all(int socket, double& deadline, void* data, size_t size,
                     std::vector<support::Descriptor>* descriptors = nullptr) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const double begin = seconds_now();
    const double left = deadline - begin;
    if (left <= 0) return Received::kDeadline;
    const double look = std::min(left, kLookS);
    pollfd waiting{socket, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::ceil(look * 1000)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      // This process was stopped, and so was perhaps what it waits for.
      if (const double passed = seconds_now() - begin; passed > look + kStoppedS) deadline += passed;
      continue;
    }
    iovec piece{at, size};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    Control control;
    if (descriptors) message.msg_control = control.space;
    if (descriptors) message.msg_controllen = sizeof(control.space);
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Received::kClosed;
    if (descriptors) take(message, *descriptors);
    at += got;
    size -= static_cast<size_t>(got);
  }
  return Received::kFrame;
}

}  // namespace

bool send_frame(int socket, const std::string& payload, std::span<const int> descriptors) {
  const uint64_t size = payload.size();
  return size <= kLargestFrame && descriptors.size() <= kMostDescriptors &&
         send_all(socket, &size, sizeof(size), descriptors) && send_all(socket, payload.data(), payload.size());
}

Received receive_frame(int socket, double deadline, std::string& payload,
                       std::vector<support::Descriptor>* descriptors) {
  uint64_t size = 0;
  if (descriptors) descriptors->clear();
  if (const Received r = receive_all(socket, deadline, &size, sizeof(size), descriptors); r != Received::kFrame)
    return r;
  if (size > kLargestFrame) return Received::kMalformed;
  payload.resize(size);
  return receive_all(socket, deadline, payload.data(), size);
}

}  // namespace tw::runtime
