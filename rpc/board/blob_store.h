// The blobs that a board was sent, by what they hold: in memory that workers map. Those that were not used for longest
// go where all together would be more than the limit; whoever holds one keeps it.
//
// For one thread. An upload ends before its store does.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "rpc/wire/digest.h"
#include "src/runtime/blob.h"

namespace tw::rpc {

class BlobStore {
 public:
  explicit BlobStore(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  bool has(const Digest& digest) { return get(digest).has_value(); }
  std::optional<Blob> get(const Digest&);  // which counts as a use

  // A blob that comes in parts.
  class Upload {
   public:
    Upload(Upload&&) noexcept;
    Upload& operator=(Upload&&) = delete;
    ~Upload();
    // Throws tw::Error (kRpc) where there are more bytes than were announced.
    void add(std::string_view bytes);
    const Digest& digest() const { return digest_; }
    bool complete() const { return received_ == bytes_; }
    // Of a complete one. Throws tw::Error (kRpc), and keeps nothing, where the bytes are others than were announced.
    void finish() &&;

   private:
    friend class BlobStore;
    Upload(BlobStore&, const Digest&, uint64_t bytes);

    BlobStore* store_;
    Digest digest_;
    uint64_t bytes_, received_ = 0;
    std::unique_ptr<runtime::Draft> draft_;
    Sha256 hash_;
  };
  // Takes the memory, or throws tw::Error (kRpc) where a blob may not be as large, or where others that are under way
  // leave no room.
  Upload receive(const Digest&, uint64_t bytes);

  uint64_t bytes() const { return stored_ + reserved_; }

 private:
  void make_room(uint64_t bytes);
  void keep(const Digest&, Blob);

  struct Entry {
    Digest digest;
    Blob blob;
  };
  const uint64_t most_bytes_;
  uint64_t stored_ = 0, reserved_ = 0;  // reserved: for uploads
  std::list<Entry> by_use_;             // the last used first
  std::unordered_map<Digest, std::list<Entry>::iterator> entries_;
};

}  // namespace tw::rpc
