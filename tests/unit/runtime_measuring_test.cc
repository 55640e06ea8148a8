// The parts of measuring: messages, the comparison with the reference, fenced memory, and when a median is known.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "src/runtime/arguments.h"
#include "src/runtime/compare.h"
#include "src/runtime/guarded_buffer.h"
#include "src/runtime/messages.h"
#include "src/runtime/timing.h"
#include "src/runtime/zones.h"
#include "tests/unit/compile_c.h"

namespace tw::runtime {
namespace {

const ir::Type kF32 = ir::Type::f(32);

// As it arrives in another process: descriptors of the blobs.
ReceivedMessage received(const Message& message) {
  ReceivedMessage got{message.bytes, {}};
  for (const Blob& blob : message.blobs) got.blobs.emplace_back(dup(blob.descriptor()));
  return got;
}

RunRequest small_request() {
  RunRequest request;
  request.object = Blob("an object");
  request.inputs = Blob(std::string(128, 'i'));
  request.reference = Blob(std::string(128, 'r'));
  request.kernel = "dense";
  request.args = {
      {"A", kF32, {2, 3}, {}, false}, {"D", ir::Type::bf16(), {}, {}, true}, {"v", ir::Type::i(8), {4}, {2}, false}};
  request.rtol = {1e-5, 0, 0};
  request.atol = {0, 1, 2};
  request.timeout_s = 3.5;
  request.repeat = 7;
  return request;
}

TEST(Messages, RoundTrip) {
  RunRequest request = small_request();
  for (const bool compares : {true, false}) {
    if (!compares) request.reference.reset();
    const auto back = decode_run_request(received(encode(request)));
    ASSERT_TRUE(back);
    EXPECT_EQ(encode(*back).bytes, encode(request).bytes);
    EXPECT_EQ(back->object.bytes(), "an object");
    EXPECT_EQ(back->inputs.bytes(), request.inputs.bytes());
    ASSERT_EQ(back->reference.has_value(), compares);
    if (compares) {
      EXPECT_EQ(back->reference->bytes(), request.reference->bytes());
    }
    EXPECT_EQ(back->args[2].strides, std::vector<int64_t>{2});
    EXPECT_EQ(back->args[1].dtype, ir::Type::bf16());
  }

  const auto answer = decode_answer(received(encode(Answer::kResult, {RunStatus::kBeaten, 1.5, 0.1, 3, "why"})), 0);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->second.status, RunStatus::kBeaten);
  EXPECT_EQ(answer->second.detail, "why");
  EXPECT_FALSE(answer->second.outputs);
  const Message outputs = encode(Answer::kResult, {RunStatus::kOk, 0, 0, 0, "", Blob("abcd")});
  EXPECT_EQ(decode_answer(received(outputs), 4)->second.outputs->bytes(), "abcd");
  EXPECT_FALSE(decode_answer(received(outputs), 5)) << "as many bytes as the request's inputs";

  EXPECT_EQ(decode_build_request(encode(BuildRequest{"ir", "llvm", "/tmp/x", 0}))->opt_level, 0);
  EXPECT_EQ(decode_build_reply(encode(BuildReply{false, "no", 0.5, 0.25}))->message, "no");
  EXPECT_EQ(decode_build_reply(encode(BuildReply{false, "no", 0.5, 0.25, "spills"}))->unfit, "spills");
}

TEST(Messages, DamagedOnesAreRefused) {
  const Message good = encode(small_request());
  const auto decoded = [&](std::string bytes) {
    ReceivedMessage message = received(good);
    message.bytes = std::move(bytes);
    return decode_run_request(std::move(message));
  };
  ASSERT_TRUE(decoded(good.bytes));
  for (size_t size = 0; size < good.bytes.size(); ++size) EXPECT_FALSE(decoded(good.bytes.substr(0, size))) << size;
  EXPECT_FALSE(decoded(good.bytes + "x"));
  for (size_t at = 0; at < good.bytes.size(); ++at) {
    std::string damaged = good.bytes;
    damaged[at] = static_cast<char>(0xFF);
    decoded(damaged);  // whatever it gives: no crash, no huge allocation
  }
  std::string answer = encode(Answer::kResult, {}).bytes;
  answer[8] = 99;
  EXPECT_FALSE(decode_answer({answer, {}}, 0));
}

TEST(Messages, BlobsAreAsManyAndAsLongAsTheMessageSays) {
  const Message good = encode(small_request());
  ReceivedMessage fewer = received(good), more = received(good), other = received(good);
  fewer.blobs.pop_back();
  EXPECT_FALSE(decode_run_request(std::move(fewer)));
  more.blobs.emplace_back(dup(good.blobs[0].descriptor()));
  EXPECT_FALSE(decode_run_request(std::move(more)));
  std::swap(other.blobs[0], other.blobs[1]);
  EXPECT_FALSE(decode_run_request(std::move(other)));
}

TEST(Messages, ABlobThatItsSenderCanChangeIsRefused) {
  const Message good = encode(small_request());
  ReceivedMessage message = received(good);
  const int writable = memfd_create("test", MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(writable, static_cast<off_t>(good.blobs[0].size())), 0);
  message.blobs[0] = support::Descriptor(writable);
  EXPECT_FALSE(decode_run_request(std::move(message)));
  ReceivedMessage pipe_end = received(good);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pipe_end.blobs[0] = support::Descriptor(ends[0]);
  close(ends[1]);
  EXPECT_FALSE(decode_run_request(std::move(pipe_end)));
}

TEST(Blobs, AreSharedAndNobodyCanWriteThem) {
  const Blob blob("content");
  const Blob copy = blob;
  EXPECT_EQ(copy.bytes(), "content");
  EXPECT_EQ(copy.descriptor(), blob.descriptor());
  EXPECT_EQ(pwrite(blob.descriptor(), "x", 1, 0), -1);
  EXPECT_EQ(ftruncate(blob.descriptor(), 0), -1);
  EXPECT_EQ(Blob().size(), 0u);
  EXPECT_EQ(Blob("").descriptor(), -1);
  const test::Folder folder;
  EXPECT_THROW(Blob::read(folder / "none"), Error);
  Draft draft(3);
  std::memcpy(draft.data(), "abc", 3);
  EXPECT_EQ(std::move(draft).finish().bytes(), "abc");
}

class Frames : public testing::Test {
 protected:
  Frames() { socketpair(AF_UNIX, SOCK_STREAM, 0, ends_); }
  ~Frames() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  int ends_[2];
  std::string got_;
};

TEST_F(Frames, Arrive) {
  EXPECT_TRUE(send_frame(ends_[0], "hello"));
  EXPECT_TRUE(send_frame(ends_[0], ""));
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 5, got_), Received::kFrame);
  EXPECT_EQ(got_, "hello");
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 5, got_), Received::kFrame);
  EXPECT_EQ(got_, "");
}

TEST_F(Frames, DescriptorsComeWithTheirFrame) {
  const Blob first("first"), second("second");
  std::vector<support::Descriptor> got;
  EXPECT_TRUE(send_frame(ends_[0], "one", std::vector<int>{first.descriptor()}));
  EXPECT_TRUE(send_frame(ends_[0], "none"));
  EXPECT_TRUE(send_frame(ends_[0], "two", std::vector<int>{second.descriptor(), first.descriptor()}));
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 5, got_, &got), Received::kFrame);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(adopt_blob(std::move(got[0]), 5)->bytes(), "first");
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 5, got_, &got), Received::kFrame);
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 5, got_, &got), Received::kFrame);
  EXPECT_EQ(got_, "two");
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(adopt_blob(std::move(got[0]), 6)->bytes(), "second");
  EXPECT_FALSE(send_frame(ends_[0], "", std::vector<int>(kMostDescriptors + 1, first.descriptor())));
}

TEST_F(Frames, DescriptorsThatNobodyExpectsAreNotTaken) {
  const auto open_ones = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const Blob blob("content");
  const auto before = open_ones();
  EXPECT_TRUE(send_frame(ends_[0], "hello", std::vector<int>{blob.descriptor()}));
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 5, got_), Received::kFrame);
  EXPECT_EQ(got_, "hello");
  EXPECT_EQ(open_ones(), before);
}

TEST_F(Frames, NothingComes) {
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 0.01, got_), Received::kDeadline);
  EXPECT_EQ(write(ends_[0], "\5\0\0", 3), 3);
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 0.01, got_), Received::kDeadline);
}

// As by Ctrl-Z: what is waited for has no less time to come, as it was perhaps stopped too.
TEST_F(Frames, TimeForWhichThisProcessIsStoppedDoesNotCount) {
  const pid_t here = getpid(), other = fork();
  if (other == 0) {
    usleep(100'000);
    kill(here, SIGSTOP);
    usleep(1'500'000);
    kill(here, SIGCONT);
    usleep(200'000);
    send_frame(ends_[0], "late");
    _exit(0);
  }
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 0.5, got_), Received::kFrame);
  EXPECT_EQ(got_, "late");
  waitpid(other, nullptr, 0);
}

TEST_F(Frames, TheOtherSideIsGone) {
  shutdown(ends_[0], SHUT_RDWR);
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 5, got_), Received::kClosed);
  EXPECT_FALSE(send_frame(ends_[1], "x"));  // and no SIGPIPE
}

TEST_F(Frames, AnAbsurdLengthIsNotAllocated) {
  const uint64_t size = ~0ull;
  EXPECT_EQ(write(ends_[0], &size, 8), 8);
  EXPECT_EQ(receive_frame(ends_[1], seconds_now() + 5, got_), Received::kMalformed);
}

TEST(Compare, Floats) {
  const ArgSpec spec{"y", kF32, {2, 2}, {}, true};
  const float nan = NAN, inf = INFINITY;
  const auto compare = [&](std::vector<float> got, std::vector<float> expected, double rtol = 0, double atol = 0) {
    return difference(spec, got.data(), expected.data(), rtol, atol);
  };
  EXPECT_EQ(compare({1, 2, 3, 4}, {1, 2, 3, 4}), "");
  EXPECT_EQ(compare({1, 2, 3, 4.5}, {1, 2, 3, 4}), "element [1, 1] is 4.5, expected 4; 1 of 4 differ");
  EXPECT_EQ(compare({1, 2, 3, 4.5}, {1, 2, 3, 4}, 0.125), "");
  EXPECT_EQ(compare({1, 2, 3, 4.5}, {1, 2, 3, 4}, 0, 0.5), "");
  EXPECT_EQ(compare({nan, inf, -inf, 0}, {nan, inf, -inf, -0.0f}), "");
  EXPECT_NE(compare({nan, 0, 0, 0}, {0, 0, 0, 0}, 1, 1), "");
  EXPECT_NE(compare({0, 0, 0, 0}, {nan, 0, 0, 0}, 1, 1), "");
  EXPECT_NE(compare({inf, 0, 0, 0}, {-inf, 0, 0, 0}, 1, 1), "");
  EXPECT_NE(compare({1e30f, 0, 0, 0}, {inf, 0, 0, 0}, 1, 1), "");
  EXPECT_NE(compare({inf, 0, 0, 0}, {1e30f, 0, 0, 0}, 1, 1), "");
}

// Many elements at a time mean what each of them does alone: of all sizes, subnormal ones among them, near the bound.
TEST(Compare, FloatsTogether) {
  constexpr int64_t kCount = 64;
  const ArgSpec all{"y", kF32, {kCount}, {}, true}, one{"y", kF32, {1}, {}, true};
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int same = 0;
  for (int n = 0; n < 2000; ++n) {
    const double rtol = std::vector{0.0, 1e-6, 1e-3, 0.75}[static_cast<size_t>(below(4))],
                 atol = std::vector{0.0, 1e-44, 1e-6, 1.0}[static_cast<size_t>(below(4))];
    std::vector<float> got(kCount, 1), expected(kCount, 1);
    const int at = below(kCount);
    const float e = std::ldexp(static_cast<float>(below(2000) - 1000), below(250) - 150);
    expected[static_cast<size_t>(at)] = e;
    float g = static_cast<float>(e + (below(2) ? 1 : -1) * (atol + rtol * std::abs(e)));
    for (int steps = below(5) - 2; steps != 0; steps += steps > 0 ? -1 : 1)
      g = std::nextafter(g, steps > 0 ? 1e38F : -1e38F);
    got[static_cast<size_t>(at)] = g;
    const bool is_same = difference(one, &g, &e, rtol, atol).empty();
    same += is_same;
    EXPECT_EQ(difference(all, got.data(), expected.data(), rtol, atol).empty(), is_same) << g << " " << e;
  }
  EXPECT_GT(same, 500);
  EXPECT_LT(same, 1500);
}

TEST(Compare, LargeArraysInSharesCountAllAndNameTheFirst) {
  constexpr int64_t kRows = 1000, kColumns = 777;  // three shares of threads, the last one short
  const ArgSpec spec{"y", kF32, {kRows, kColumns}, {}, true};
  const std::vector<float> expected(static_cast<size_t>(kRows * kColumns), 2);
  std::vector<float> got = expected;
  EXPECT_EQ(difference(spec, got.data(), expected.data(), 0, 0), "");
  got.back() = 3;
  EXPECT_EQ(difference(spec, got.data(), expected.data(), 0, 0),
            "element [999, 776] is 3, expected 2; 1 of 777000 differ");
  got[600 * kColumns + 5] = 4;
  got[600 * kColumns + 6] = 5;
  EXPECT_EQ(difference(spec, got.data(), expected.data(), 0, 0),
            "element [600, 5] is 4, expected 2; 3 of 777000 differ");
}

TEST(Zones, ADigestDependsOnEachByteAndItsPlaceInAllShares) {
  std::vector<unsigned char> bytes((size_t{5} << 19) + 3, 7);
  const uint64_t before = digest_of(bytes.data(), bytes.size());
  EXPECT_EQ(digest_of(bytes.data(), bytes.size()), before);
  for (const size_t at : {size_t{0}, size_t{1} << 20, bytes.size() - 1}) {
    bytes[at] = 8;
    EXPECT_NE(digest_of(bytes.data(), bytes.size()), before) << at;
    bytes[at] = 7;
  }
  bytes[0] = 8;
  const uint64_t first = digest_of(bytes.data(), bytes.size());
  bytes[0] = 7;
  bytes[size_t{1} << 20] = 8;
  EXPECT_NE(digest_of(bytes.data(), bytes.size()), first);
}

TEST(Zones, ADigestDependsOnSigns) {
  std::vector<double> doubles(64, 1.5);
  const auto digest = [](const auto& numbers) { return digest_of(numbers.data(), numbers.size() * sizeof numbers[0]); };
  const uint64_t before = digest(doubles);
  for (double& d : doubles) d = -d;
  EXPECT_NE(digest(doubles), before);

  std::vector<float> floats(64, 1.5f);
  const uint64_t positive = digest(floats);
  for (size_t i = 0; i < floats.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      for (const bool and_its_neighbour : {false, true}) {
        std::vector<float> negated = floats;
        negated[i] = negated[j] = -1.5f;
        if (and_its_neighbour) negated[i ^ 1] = -1.5f;
        EXPECT_NE(digest(negated), positive) << i << " " << j << " " << and_its_neighbour;
      }
}

TEST(Compare, HalvesByTheirBits) {
  const ArgSpec half{"y", ir::Type::f(16), {4}, {}, true}, bfloat{"y", ir::Type::bf16(), {2}, {}, true};
  const std::vector<uint16_t> got = {0x3C01, 0x0001, 0x7C00, 0x7E00}, expected = {0x3C00, 0x0001, 0x7C00, 0xFE01};
  EXPECT_EQ(difference(half, got.data(), expected.data(), 0, 0),
            "element [0] is 1.00097656, expected 1; 1 of 4 differ");
  EXPECT_EQ(difference(half, got.data(), expected.data(), 1e-3, 0), "");
  const std::vector<uint16_t> g = {0x3F81, 0x4000}, e = {0x3F80, 0x4000};
  EXPECT_EQ(difference(bfloat, g.data(), e.data(), 0, 0), "element [0] is 1.0078125, expected 1; 1 of 2 differ");
}

TEST(Compare, IntegersExactlyAndStridedElementsOnly) {
  const ArgSpec spec{"y", ir::Type::i(8), {2}, {3}, true};
  const std::vector<int8_t> got = {1, 9, 9, -2}, expected = {1, 0, 0, -1};
  EXPECT_EQ(difference(spec, got.data(), expected.data(), 0, 0), "element [1] is -2, expected -1; 1 of 2 differ");
  const ArgSpec flags{"y", ir::Type::boolean(), {1}, {}, true};
  EXPECT_NE(difference(flags, "\1", "\0", 0, 0), "");
  const ArgSpec scalar{"y", ir::Type::u(64), {}, {}, true};
  const uint64_t a = 1, b = 2;
  EXPECT_EQ(difference(scalar, &a, &b, 0, 0), "element [] is 1, expected 2; 1 of 1 differ");
}

// Rounding may move a float past a half, and so what it becomes to the next integer; seldom, and no further.
TEST(Compare, IntegersOfRoundedFloats) {
  constexpr int64_t kCount = 1000;
  const auto compare = [&](ir::Type type, int apart, int64_t how_many, double rtol, double atol = 0) {
    std::vector<int8_t> expected(kCount, 3), got = expected;
    for (int64_t n = 0; n < how_many; ++n) got[static_cast<size_t>(n * 3)] = static_cast<int8_t>(3 + apart);
    return difference({"y", type, {kCount}, {}, true}, got.data(), expected.data(), rtol, atol);
  };
  for (const ir::Type type : {ir::Type::i(8), ir::Type::u(8)}) {
    EXPECT_EQ(compare(type, 1, 1, 0), "element [0] is 4, expected 3; 1 of 1000 differ");
    EXPECT_EQ(compare(type, 1, 7, 1e-6), "");
    EXPECT_EQ(compare(type, -1, 7, 1e-6), "");
    EXPECT_EQ(compare(type, 1, 8, 1e-6), "element [0] is 4, expected 3; 8 of 1000 differ");
    EXPECT_EQ(compare(type, 2, 1, 1e-6), "element [0] is 5, expected 3; 1 of 1000 differ");
    EXPECT_EQ(compare(type, 2, 300, 1e-3, 2), "") << "halves, of which rounding moves all";
  }
  const ArgSpec four{"y", ir::Type::u(4), {4}, {}, true}, flag{"y", ir::Type::boolean(), {1}, {}, true};
  EXPECT_EQ(difference(four, "\x21\x43", "\x21\x53", 1e-6, 0), "");
  EXPECT_NE(difference(four, "\x21\x43", "\x21\x63", 1e-6, 0), "");
  EXPECT_EQ(difference(flag, "\1", "\0", 1e-6, 0), "");
  const int64_t large = int64_t{1} << 60;
  const ArgSpec whole{"n", ir::Type::i(64), {1}, {}, true};
  EXPECT_EQ(difference(whole, &large, &large, 0, 0), "");
  EXPECT_EQ(wrong_element(whole, &large, 0, std::ldexp(1.0, 60) * (1 + 1e-7), 1e-6, 0), "");
  const int32_t n = 7;
  const ArgSpec small{"n", ir::Type::i(32), {1}, {}, true};
  EXPECT_EQ(wrong_element(small, &n, 0, 8, 1e-6, 0), "");
  EXPECT_EQ(wrong_element(flag, "\1", 0, 0, 1e-6, 0), "");
  EXPECT_NE(wrong_element(flag, "\1", 0, 0, 0, 0), "");
  EXPECT_EQ(wrong_element(small, &n, 0, 9, 1e-6, 0), "n[0] should be 9 and is 7");
}

TEST(Compare, AnElementThatIsKnownIsNamedByItsSubscripts) {
  const ArgSpec columns{"D", kF32, {2, 3}, {1, 2}, true};
  const std::vector<float> memory = {0, 1, 10, 11, 20, 21};
  EXPECT_EQ(wrong_element(columns, memory.data(), 5, 21, 0, 0), "");
  EXPECT_EQ(wrong_element(columns, memory.data(), 4, 11.5, 0, 0.25), "D[1, 1] should be 11.5 and is 11");
  EXPECT_EQ(wrong_element(columns, memory.data(), 4, 11.5, 0, 0.5), "");
  EXPECT_EQ(wrong_element(columns, memory.data(), 0, NAN, 1, 1), "D[0, 0] should be nan and is 0");
  const ArgSpec whole{"n", ir::Type::i(32), {1}, {}, true};
  const int32_t n = 1234567891;
  EXPECT_EQ(wrong_element(whole, &n, 0, 1234567890, 0, 0), "n[0] should be 1234567890 and is 1234567891");
}

TEST(GuardedBuffer, ShowsStrayWrites) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{5} << 20}) {
    GuardedBuffer buffer(bytes, 3);
    auto* data = static_cast<unsigned char*>(buffer.address());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 16u);  // as the arrays of NumPy
    std::memset(data, 1, bytes);
    EXPECT_EQ(buffer.damage(), "");
    data[-5] ^= 1;
    EXPECT_EQ(buffer.damage(), "5 bytes before its first");
    data[-5] ^= 1;
    data[bytes] ^= 1;
    EXPECT_EQ(buffer.damage(), "1 bytes after its last");
    const uint64_t whole = buffer.digest();
    for (const size_t at : {size_t{0}, bytes / 2, bytes - 1}) {
      if (bytes == 0) continue;
      data[at] ^= 1;
      EXPECT_NE(buffer.digest(), whole) << at;
      data[at] ^= 1;
    }
    EXPECT_EQ(buffer.digest(), whole);
  }
}

// What the process has mapped, in pages.
size_t mapped() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

TEST(GuardedBuffer, LeavesNothingMappedWhereItCannotBeMade) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' own memory is beyond any limit";
#endif
  constexpr size_t kMost = size_t{4} << 30;
  rlimit before;
  getrlimit(RLIMIT_DATA, &before);
  const rlimit little{kMost, before.rlim_max};
  setrlimit(RLIMIT_DATA, &little);
  const size_t pages = mapped();
  EXPECT_THROW(GuardedBuffer(4 * kMost, 0), std::bad_alloc);
  EXPECT_LT(mapped(), pages + kMost / 4096);
  setrlimit(RLIMIT_DATA, &before);
}

TEST(Arguments, EachBeginsAtAMultipleOf64) {
  const std::vector<ArgSpec> specs = {
      {"a", kF32, {3}, {}, false}, {"e", kF32, {0}, {}, false}, {"b", ir::Type::f(64), {}, {}, true}};
  EXPECT_EQ(argument_offsets(specs), (std::vector<size_t>{0, 64, 64, 128}));
  const float a[3] = {1, 2, 3};
  const double b = 4;
  const Blob blob = arguments_blob(specs, {a, nullptr, &b});
  ASSERT_EQ(blob.size(), 128u);
  EXPECT_EQ(std::memcmp(blob.data(), a, sizeof a), 0);
  EXPECT_EQ(std::memcmp(blob.bytes().data() + 64, &b, sizeof b), 0);
  EXPECT_EQ(blob.bytes()[63], 0);
}

TEST(Timing, MedianAndSpread) {
  Timing timing;
  for (int i = 1; i <= 11; ++i) timing.runs.push_back(i);
  summarise(timing);
  EXPECT_EQ(timing.median, 6);
  EXPECT_NEAR(timing.spread, 8.0 / 6, 1e-9);
}

TEST(Timing, TheIntervalNarrowsWithMoreRuns) {
  std::vector<double> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(1 + 0.01 * i);
  EXPECT_EQ(median_uncertainty(runs), INFINITY);
  for (int i = 0; i < 30; ++i) runs.push_back(1 + 0.001 * (i % 7));
  const double some = median_uncertainty(runs);
  for (int i = 0; i < 300; ++i) runs.push_back(1 + 0.001 * (i % 7));
  EXPECT_LT(median_uncertainty(runs), some);
}

TEST(Timing, CountsAndEarlyEnd) {
  std::vector<int> asked;
  const auto half_each = [&](int calls) {
    asked.push_back(calls);
    return asked.size() < 4 ? 0.5 * calls : -1;
  };
  Timing timing = measure(half_each, 1, {.number = 4, .repeat = 3});
  EXPECT_EQ(asked, (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(timing.runs, (std::vector<double>{0.5, 0.5, 0.5}));
  timing = measure(half_each, 1, {.number = 2, .repeat = 3});
  EXPECT_TRUE(timing.runs.empty()) << "it failed";
  const auto asleep = [](int calls) {
    usleep(2000 * static_cast<unsigned>(calls));
    return 2e-3 * calls;
  };
  timing = measure(asleep, 2e-3, {.number = 1, .repeat = 1000, .stop_after_s = 0.02});
  EXPECT_LT(timing.runs.size(), 20u);
}

}  // namespace
}  // namespace tw::runtime
