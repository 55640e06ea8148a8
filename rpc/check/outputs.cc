#include "rpc/check/outputs.h"

#include <cstring>

#include "src/runtime/arguments.h"

namespace tw::rpc {
namespace {

struct Place {
  size_t offset = 0, bytes = 0;
};

std::vector<Place> outputs_in(const std::vector<runtime::ArgSpec>& args) {
  const std::vector<size_t> offsets = runtime::argument_offsets(args);
  std::vector<Place> places;
  for (size_t a = 0; a < args.size(); ++a)
    if (args[a].written) places.push_back({offsets[a], args[a].bytes()});
  return places;
}

size_t bytes_of(const std::vector<Place>& places) {
  size_t bytes = 0;
  for (const Place& place : places) bytes += place.bytes;
  return bytes;
}

}  // namespace

Blob outputs_of(const std::vector<runtime::ArgSpec>& args, const Blob& arguments) {
  const std::vector<Place> places = outputs_in(args);
  runtime::Draft draft(bytes_of(places));
  std::byte* to = draft.data();
  for (const auto& [offset, bytes] : places) {
    if (bytes > 0) std::memcpy(to, arguments.bytes().data() + offset, bytes);
    to += bytes;
  }
  return std::move(draft).finish();
}

std::optional<Blob> arguments_with(const std::vector<runtime::ArgSpec>& args, const Blob& outputs) {
  const std::vector<Place> places = outputs_in(args);
  if (outputs.size() != bytes_of(places)) return std::nullopt;
  runtime::Draft draft(runtime::argument_offsets(args).back());
  size_t at = 0;
  for (const auto& [offset, bytes] : places) {
    if (bytes > 0) std::memcpy(draft.data() + offset, outputs.bytes().data() + at, bytes);
    at += bytes;
  }
  return std::move(draft).finish();
}

}  // namespace tw::rpc
