// Frames whose bytes were cut off or changed, a million of each type: each is refused, or is a message that says the
// same when it is written again. Nothing outside of the bytes is read, and no count is believed for which there are no
// bytes.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "rpc/wire/messages.h"
#include "tests/faults/malformed.h"

namespace tw::faults {
namespace {

using diff::Random;
using namespace rpc;

constexpr int kFrames = 1'000'000;

// A message of any content, field by field.
class Sampler {
 public:
  explicit Sampler(Random& r) : r_(r) {}

  template <std::integral T>
  void fill(T& value) {
    value = static_cast<T>(r_.next());
  }
  void fill(bool& value) { value = r_.chance(50); }
  void fill(double& value) { value = static_cast<double>(r_.below(1000)) / 8; }
  void fill(Role& value) { value = static_cast<Role>(r_.below(static_cast<int64_t>(Role::kLast) + 1)); }
  void fill(Digest& value) {
    for (uint8_t& byte : value.bytes) fill(byte);
  }
  void fill(std::string& value) { value.assign(static_cast<size_t>(r_.below(12)), static_cast<char>(r_.below(256))); }
  template <class T>
  void fill(std::vector<T>& value) {
    value.resize(static_cast<size_t>(r_.below(4)));
    for (T& item : value) fill(item);
  }
  template <class A, class B>
  void fill(std::pair<A, B>& value) {
    fill(value.first);
    fill(value.second);
  }
  template <class T>
  void fill(std::optional<T>& value) {
    value.reset();
    if (r_.chance(50)) fill(value.emplace());
  }
  template <Message T>
  void fill(T& message) {
    std::apply([&](auto&... field) { (fill(field), ...); }, T::fields(message));
  }

 private:
  Random& r_;
};

template <class M>
std::string sample(Random& r) {
  M message;
  Sampler(r).fill(message);
  return encode(message);
}

void mutate(Random& r, std::string& bytes) {
  static constexpr uint32_t kCounts[] = {0, 1, 2, 0xFF, 0xFFFF, 0x7FFF'FFFF, 0x8000'0000, 0xFFFF'FFFF};
  const auto place = [&](size_t width) {
    return static_cast<size_t>(r.below(static_cast<int64_t>(bytes.size() - width) + 1));
  };
  const int64_t kind = r.below(4);
  if (kind == 0 && !bytes.empty()) bytes.resize(place(1));
  if (kind == 1) bytes.insert(place(0), 1 + static_cast<size_t>(r.below(4)), static_cast<char>(r.below(256)));
  if (kind == 2 && !bytes.empty()) bytes[place(1)] ^= static_cast<char>(1 << r.below(8));
  if (kind == 3 && bytes.size() >= 4) {
    const uint32_t count = kCounts[r.below(std::ssize(kCounts))];
    std::memcpy(bytes.data() + place(4), &count, 4);
  }
}

template <class M>
class MalformedFrames : public testing::Test {};

using Messages = testing::Types<Hello, ErrorReply, Ping, Pong, Have, Present, Put, Credit, Stored, Describe,
                                Description, TaskSpec, TaskReady, Job, JobResult, Cancel, Busy, Register, Registered,
                                Heartbeat, Request, Granted, Open, Attach, Query, Summary, Release, Done, NewArray,
                                ArrayReply, FreeArray, WriteArray, ReadArray, Upload, Download, Content, ListFiles,
                                Files, RemoveFile, LoadModule, ModuleReply, UnloadModule, CallModule, Called>;

struct Name {
  template <class M>
  static std::string GetName(int) {
    return "Type" + std::to_string(static_cast<int>(M::kType));
  }
};
TYPED_TEST_SUITE(MalformedFrames, Messages, Name);

TYPED_TEST(MalformedFrames, AreRefusedOrSayTheSameAgain) {
  const char* first = std::getenv("TW_SEED");
  const uint64_t seed = first ? std::strtoull(first, nullptr, 10) : 0;
  int taken = 0;
  std::string bytes;
  for (int n = 0; n < kFrames;) {
    Random r(seed + static_cast<uint64_t>(n));
    const std::string sound = sample<TypeParam>(r);
    ASSERT_TRUE(decode<TypeParam>(sound)) << "seed " << seed + static_cast<uint64_t>(n);
    for (int of_one = 0; of_one < 100; ++of_one, ++n) {
      bytes = sound;
      mutate(r, bytes);
      const Exact exact(bytes);
      const auto message = decode<TypeParam>(exact.view());
      if (!message) continue;
      ++taken;
      const std::string again = encode(*message);
      ASSERT_LE(again.size(), bytes.size()) << "seed " << seed + static_cast<uint64_t>(n);
      ASSERT_EQ(encode(*decode<TypeParam>(again)), again) << "seed " << seed + static_cast<uint64_t>(n);
    }
  }
  EXPECT_GT(taken, 0);
}

TYPED_TEST(MalformedFrames, WhatALaterReleaseAppendsIsSkipped) {
  Random r(1);
  const std::string sound = sample<TypeParam>(r);
  const auto message = decode<TypeParam>(sound + "and more");
  ASSERT_TRUE(message);
  EXPECT_EQ(encode(*message), sound);
}

}  // namespace
}  // namespace tw::faults
