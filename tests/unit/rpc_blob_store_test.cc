#include <gtest/gtest.h>

#include <memory>

#include "rpc/board/blob_store.h"
#include "rpc/wire/frame.h"
#include "tensorwright/error.h"

namespace tw::rpc {
namespace {

constexpr uint64_t kLimit = 1000;

std::string bytes_of(char c, size_t count = 300) { return std::string(count, c); }

void store(BlobStore& blobs, const std::string& bytes) {
  BlobStore::Upload upload = blobs.receive(sha256(bytes), bytes.size());
  upload.add(bytes);
  std::move(upload).finish();
}

template <class F>
std::string refusal(F what) {
  try {
    what();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kRpc);
    return e.what();
  }
  return "";
}

TEST(BlobStore, KeepsWhatCameInParts) {
  BlobStore blobs(kLimit);
  const std::string whole = bytes_of('a') + bytes_of('b');
  BlobStore::Upload upload = blobs.receive(sha256(whole), whole.size());
  upload.add(bytes_of('a'));
  EXPECT_FALSE(upload.complete());
  EXPECT_FALSE(blobs.has(sha256(whole)));
  upload.add(bytes_of('b'));
  EXPECT_TRUE(upload.complete());
  std::move(upload).finish();
  ASSERT_TRUE(blobs.has(sha256(whole)));
  EXPECT_EQ(blobs.get(sha256(whole))->bytes(), whole);
  EXPECT_EQ(blobs.bytes(), 600u);
}

TEST(BlobStore, DropsWhatWasNotUsedForLongest) {
  BlobStore blobs(kLimit);
  for (const char c : {'a', 'b', 'c'}) store(blobs, bytes_of(c));
  EXPECT_TRUE(blobs.has(sha256(bytes_of('a'))));  // which is a use
  const Blob held = *blobs.get(sha256(bytes_of('a')));
  store(blobs, bytes_of('d'));
  EXPECT_TRUE(blobs.has(sha256(bytes_of('a'))));
  EXPECT_FALSE(blobs.has(sha256(bytes_of('b'))));
  EXPECT_EQ(blobs.bytes(), 900u);
  for (const char c : {'e', 'f', 'g'}) store(blobs, bytes_of(c));
  EXPECT_FALSE(blobs.has(sha256(bytes_of('a'))));
  EXPECT_EQ(held.bytes(), bytes_of('a')) << "whoever holds one keeps it";
}

TEST(BlobStore, TheSameTwiceIsThereOnce) {
  BlobStore blobs(kLimit);
  store(blobs, bytes_of('a'));
  store(blobs, bytes_of('a'));
  EXPECT_EQ(blobs.bytes(), 300u);
  store(blobs, "");
  EXPECT_EQ(blobs.get(sha256(""))->size(), 0u);
}

TEST(BlobStore, OtherBytesThanAnnouncedAreDropped) {
  BlobStore blobs(kLimit);
  BlobStore::Upload upload = blobs.receive(sha256("what was announced"), 300);
  upload.add(bytes_of('x'));
  EXPECT_NE(refusal([&] { std::move(upload).finish(); }).find("holds other bytes than were announced"),
            std::string::npos);
  EXPECT_FALSE(blobs.has(sha256("what was announced")));
  EXPECT_FALSE(blobs.has(sha256(bytes_of('x'))));
}

TEST(BlobStore, MoreBytesThanAnnouncedAreRefused) {
  BlobStore blobs(kLimit);
  BlobStore::Upload upload = blobs.receive(sha256("announced"), 9);
  EXPECT_NE(refusal([&] { upload.add("more than announced"); }).find("announced with 9 bytes"), std::string::npos);
  upload.add("less");
  EXPECT_NE(refusal([&] { std::move(upload).finish(); }).find("and 4 came"), std::string::npos);
}

TEST(BlobStore, TooLargeIsRefusedBeforeMemoryIsTaken) {
  BlobStore small(kLimit), large(uint64_t{1} << 40);
  EXPECT_NE(refusal([&] { small.receive({}, kLimit + 1); }).find("more than this board takes"), std::string::npos);
  EXPECT_NE(refusal([&] { large.receive({}, kMostOfBlob + 1); }).find("which is 64 MB"), std::string::npos);
  EXPECT_NE(refusal([&] { large.receive({}, UINT64_MAX); }).find("more than this board takes"), std::string::npos);
  EXPECT_EQ(small.bytes() + large.bytes(), 0u);
}

TEST(BlobStore, UploadsTakeTheirRoomAndGiveItBack) {
  BlobStore blobs(kLimit);
  {
    const BlobStore::Upload one = blobs.receive(sha256("1"), 600);
    EXPECT_EQ(blobs.bytes(), 600u);
    EXPECT_NE(refusal([&] { blobs.receive(sha256("2"), 600); }).find("others that are under way"), std::string::npos);
  }
  EXPECT_EQ(blobs.bytes(), 0u);
}

}  // namespace
}  // namespace tw::rpc
