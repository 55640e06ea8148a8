#include "src/runtime/cuda/kept_uploads.h"

#include <sys/stat.h>

#include <algorithm>

#include "src/runtime/cuda/lost.h"

namespace tw::runtime::cuda {

namespace {

constexpr size_t kLeast = size_t{1} << 20;  // bytes of an upload that is worth it
constexpr size_t kShare = 8;                // of the device's memory

// Another process sends its blobs anew with each request: the same file holds the same bytes for as long as it is held.
bool are_same(const Blob& one, const Blob& other) {
  struct stat a, b;
  return one.size() == other.size() && one.size() > 0 && fstat(one.descriptor(), &a) == 0 &&
         fstat(other.descriptor(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

KeptUploads::KeptUploads(int ordinal) : device_(*gpu_device(ordinal).value_or_throw()) {
  const OnDevice current(device_);
  require_done(device_, device_.driver->stream_create(&stream_, kNonBlocking), "making a stream");
}

KeptUploads::~KeptUploads() {
  if_current(device_, [&](const Driver& driver) {
    kept_.clear();
    driver.stream_destroy(stream_);
  });
}

void KeptUploads::serve(const RunRequest& request) {
  served_ = {request.inputs};
  if (request.reference) served_.push_back(*request.reference);
  std::erase_if(kept_, [&](const Kept& kept) {
    const bool goes = std::ranges::none_of(served_, [&](const Blob& blob) { return are_same(blob, kept.of); });
    if (goes) bytes_ -= kept.memory->bytes();
    return goes;
  });
}

std::optional<Address> KeptUploads::find(const void* source, size_t bytes) {
  const auto* const first = static_cast<const char*>(source);
  const auto holds = [&](const Blob& blob) {
    const auto* const begin = static_cast<const char*>(blob.data());
    return first >= begin && first + bytes <= begin + blob.size();
  };
  const auto blob = std::ranges::find_if(served_, holds);
  if (bytes < kLeast || blob == served_.end()) return std::nullopt;
  const auto offset = static_cast<size_t>(first - static_cast<const char*>(blob->data()));
  for (const Kept& kept : kept_)
    if (kept.offset == offset && kept.memory->bytes() == bytes && are_same(*blob, kept.of))
      return reinterpret_cast<Address>(kept.memory->address());
  if (bytes_ + bytes > device_.memory_bytes / kShare) return std::nullopt;
  auto memory = memory_of(bytes);
  if (!memory) return std::nullopt;
  memory->upload(source);
  memory->make_readonly();
  bytes_ += bytes;
  kept_.push_back({*blob, offset, std::move(memory)});
  return reinterpret_cast<Address>(kept_.back().memory->address());
}

void KeptUploads::give_way() {
  kept_.clear();
  bytes_ = 0;
}

// What is only to be kept is nothing that a candidate could lack.
std::unique_ptr<GuardedMemory> KeptUploads::memory_of(size_t bytes) const {
  try {
    return std::make_unique<GuardedMemory>(device_, stream_, bytes);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kArgument) throw;
    return nullptr;
  }
}

}  // namespace tw::runtime::cuda
