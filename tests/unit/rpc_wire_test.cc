// What other releases and machines rely on, byte for byte.
#include <gtest/gtest.h>

#include "rpc/wire/messages.h"

namespace tw::rpc {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[static_cast<uint8_t>(c) >> 4];
    text += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

TEST(Wire, AHeaderIsLittleEndian) {
  const auto bytes = encode(FrameHeader{0x01020304, MessageType::kJob, 0x0506});
  EXPECT_EQ(hex({bytes.data(), bytes.size()}), "0403020124000605");
  const FrameHeader back = decode_header({bytes.data(), bytes.size()});
  EXPECT_EQ(back.bytes, 0x01020304u);
  EXPECT_EQ(back.type, MessageType::kJob);
  EXPECT_EQ(back.stream, 0x0506);
}

TEST(Wire, HelloIsWhatItWasInTheFirstRelease) {
  Hello hello;
  hello.role = Role::kBoard;
  hello.release = "0.1.0";
  hello.options = {{2, "x"}};
  EXPECT_EQ(hex(encode(hello)),
            "54575052"
            "0100"
            "0100"
            "01"
            "05000000302e312e30"
            "01000000"
            "0200"
            "0100000078");
}

TEST(Wire, AJobIsNamedByAllThatItIs) {
  Job job;
  job.task = sha256("task");
  job.object = sha256("object");
  const Digest name = name_of(job);
  job.name = name;
  EXPECT_EQ(name_of(job), name) << "its name is no part of it";
  for (const auto& change :
       {+[](Job& j) { j.attempt = 1; }, +[](Job& j) { j.give_up_above_s = 1; }, +[](Job& j) { j.object = {}; },
        +[](Job& j) { j.task = {}; }, +[](Job& j) { j.candidate = 1; }}) {
    Job other = job;
    change(other);
    EXPECT_NE(name_of(other), name);
  }
}

TEST(Wire, ErrorsKeepTheirKindAndNotes) {
  const Error error(Diagnostic{ErrorKind::kTarget, "this machine lacks dotprod", {}, {"use another target"}});
  const Error back = error_of(reply_of(error));
  EXPECT_EQ(back.kind(), ErrorKind::kTarget);
  EXPECT_EQ(back.diagnostic().what, error.diagnostic().what);
  EXPECT_EQ(back.diagnostic().notes, error.diagnostic().notes);
  EXPECT_EQ(error_of({200, "of a later release"}).kind(), ErrorKind::kRpc);
}

TEST(Wire, AnEnumIsOneOfItsValues) {
  std::string bytes = encode(Hello());
  bytes[8] = 3;
  EXPECT_FALSE(decode<Hello>(bytes));
}

TEST(Digests, AreSha256) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().add("a").add("").add("bc").finish(), sha256("abc"));
  EXPECT_EQ(digest_from_hex(to_hex(sha256("abc"))), sha256("abc"));
  EXPECT_FALSE(digest_from_hex("ba78"));
  EXPECT_FALSE(digest_from_hex(std::string(64, 'G')));
}

}  // namespace
}  // namespace tw::rpc
