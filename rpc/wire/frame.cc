#include "rpc/wire/frame.h"

#include <algorithm>

#include "rpc/wire/fields.h"

namespace tw::rpc {

std::array<char, kFrameHeaderBytes> encode(const FrameHeader& header) {
  FieldWriter writer;
  writer.put(header.bytes);
  writer.put(static_cast<uint16_t>(header.type));
  writer.put(header.stream);
  std::array<char, kFrameHeaderBytes> bytes;
  std::ranges::copy(writer.take(), bytes.begin());
  return bytes;
}

FrameHeader decode_header(std::string_view bytes) {
  FieldReader reader(bytes);
  FrameHeader header;
  uint16_t type;
  reader.get(header.bytes);
  reader.get(type);
  reader.get(header.stream);
  header.type = static_cast<MessageType>(type);
  return header;
}

uint32_t most_bytes(MessageType type, bool greeted) {
  if (!greeted) return kMostBeforeHello;
  if (type == MessageType::kChunk) return kChunkBytes;
  return type == MessageType::kSummary ? kMostOfSummary : kMostOfControl;
}

}  // namespace tw::rpc
