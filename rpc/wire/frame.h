// A frame: u32 bytes of the payload, u16 type, u16 stream, the payload. Little-endian.
//
// How long a payload may be depends on its type and on whether the other side has said HELLO: whoever reads asks before
// it takes memory. A stream is what belongs together among several of one connection: the request and its answer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tw::rpc {

enum class MessageType : uint16_t {
  kHello = 1,
  kError = 2,
  kPing = 3,
  kPong = 4,
  // Of what is carried.
  kHave = 16,
  kPresent = 17,
  kPut = 18,
  kChunk = 19,
  kCredit = 20,
  kStored = 21,
  // Of measuring.
  kDescribe = 32,
  kDescription = 33,
  kTask = 34,
  kTaskReady = 35,
  kJob = 36,
  kResult = 37,
  kCancel = 38,
  kBusy = 39,
  // Of a tracker.
  kRegister = 48,
  kRegistered = 49,
  kHeartbeat = 50,
  kRequest = 51,
  kGranted = 52,
  kOpen = 53,
  kAttach = 54,
  kQuery = 55,
  kSummary = 56,
  kRelease = 57,
  kDone = 58,
  // Of a session.
  kNewArray = 64,
  kArray = 65,
  kFreeArray = 66,
  kWriteArray = 67,
  kReadArray = 68,
  kUpload = 69,
  kDownload = 70,
  kContent = 71,
  kListFiles = 72,
  kFiles = 73,
  kRemoveFile = 74,
  kLoadModule = 75,
  kModule = 76,
  kUnloadModule = 77,
  kCallModule = 78,
  kCalled = 79,
};

struct FrameHeader {
  uint32_t bytes = 0;
  MessageType type = MessageType::kHello;
  uint16_t stream = 0;
};
constexpr size_t kFrameHeaderBytes = 8;

std::array<char, kFrameHeaderBytes> encode(const FrameHeader&);
FrameHeader decode_header(std::string_view bytes);  // of kFrameHeaderBytes

constexpr uint32_t kMostBeforeHello = 4 << 10;
constexpr uint32_t kMostOfControl = 64 << 10;
constexpr uint32_t kMostOfSummary = 4 << 20;
constexpr uint32_t kChunkBytes = 256 << 10;
constexpr uint64_t kMostOfBlob = 64 << 20;

// That a payload of the type may have, once the other side was greeted or before.
uint32_t most_bytes(MessageType, bool greeted);

struct Frame {
  MessageType type = MessageType::kHello;
  uint16_t stream = 0;
  std::string payload;
};

}  // namespace tw::rpc
