#include "rpc/board/blob_store.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "rpc/wire/frame.h"
#include "rpc/wire/rpc_error.h"
#include "tensorwright/error.h"

namespace tw::rpc {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;

std::string megabytes(uint64_t bytes) { return std::to_string((bytes + kMegabyte - 1) / kMegabyte) + " MB"; }

}  // namespace

std::optional<Blob> BlobStore::get(const Digest& digest) {
  const auto found = entries_.find(digest);
  if (found == entries_.end()) return std::nullopt;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return found->second->blob;
}

void BlobStore::make_room(uint64_t bytes) {
  while (stored_ + reserved_ + bytes > most_bytes_ && !by_use_.empty()) {
    stored_ -= by_use_.back().blob.size();
    entries_.erase(by_use_.back().digest);
    by_use_.pop_back();
  }
}

void BlobStore::keep(const Digest& digest, Blob blob) {
  if (entries_.contains(digest)) return;
  stored_ += blob.size();
  by_use_.push_front({digest, std::move(blob)});
  entries_.emplace(digest, by_use_.begin());
}

BlobStore::Upload BlobStore::receive(const Digest& digest, uint64_t bytes) {
  const uint64_t most = std::min(kMostOfBlob, most_bytes_);
  if (bytes > most)
    throw rpc_error(
        "a blob of " + megabytes(bytes) + " is more than this board takes, which is " + megabytes(most),
        {"tw-board --blob-limit sets what all of them may have, of which one may have " + megabytes(kMostOfBlob)});
  make_room(bytes);
  if (stored_ + reserved_ + bytes > most_bytes_)
    throw rpc_error("there is no room for a blob of " + megabytes(bytes) + ": others that are under way have " +
                        megabytes(reserved_) + " of " + megabytes(most_bytes_),
                    {"send them one after the other"});
  try {
    return Upload(*this, digest, bytes);
  } catch (const Error& error) {
    throw rpc_error("this board has no room for a blob of " + megabytes(bytes) + ": " + error.diagnostic().what,
                    {"make room there, or start it with a smaller tw-board --blob-limit"});
  }
}

BlobStore::Upload::Upload(BlobStore& store, const Digest& digest, uint64_t bytes)
    : store_(&store), digest_(digest), bytes_(bytes), draft_(std::make_unique<runtime::Draft>(bytes)) {
  store.reserved_ += bytes;
}

BlobStore::Upload::Upload(Upload&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)),
      digest_(other.digest_),
      bytes_(other.bytes_),
      received_(other.received_),
      draft_(std::move(other.draft_)),
      hash_(std::move(other.hash_)) {}

BlobStore::Upload::~Upload() {
  if (store_) store_->reserved_ -= bytes_;
}

void BlobStore::Upload::add(std::string_view bytes) {
  if (bytes.size() > bytes_ - received_)
    throw rpc_error("a blob was announced with " + std::to_string(bytes_) + " bytes, and more came");
  if (!bytes.empty()) std::memcpy(draft_->data() + received_, bytes.data(), bytes.size());
  hash_.add(bytes);
  received_ += bytes.size();
}

void BlobStore::Upload::finish() && {
  if (!complete())
    throw rpc_error("a blob was announced with " + std::to_string(bytes_) + " bytes, and " + std::to_string(received_) +
                    " came");
  if (const Digest got = hash_.finish(); got != digest_)
    throw rpc_error("a blob holds other bytes than were announced",
                    {"announced: " + to_hex(digest_), "received:  " + to_hex(got), "send it again"});
  store_->reserved_ -= bytes_;
  std::exchange(store_, nullptr)->keep(digest_, std::move(*draft_).finish());
}

}  // namespace tw::rpc
