#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "rpc/pack.h"
#include "src/runtime/arguments.h"
#include "src/support/rng.h"
#include "src/support/temporary_folder.h"

namespace tw::rpc {
namespace {

constexpr size_t kLine = 64;  // of the alignment of arguments

runtime::ArgSpec arg(const char* name, ir::Type type, std::vector<int64_t> shape, bool written) {
  return {.name = name, .dtype = type, .shape = std::move(shape), .strides = {}, .written = written};
}

Pack example() {
  Pack pack;
  pack.task = "double(8)";
  pack.checks.target = "llvm -mcpu=cortex-a72 -mtriple=aarch64-unknown-linux-gnu";
  pack.checks.triple = "aarch64-unknown-linux-gnu";
  pack.checks.features = {"neon"};
  pack.checks.kernel = "candidate";
  pack.checks.args = {arg("A", ir::Type::f(32), {8}, false), arg("B", ir::Type::f(32), {8}, true)};
  pack.checks.args[0].range = std::pair<int64_t, int64_t>{0, 3};
  pack.checks.rtol = {1e-6, 1e-6};
  std::string arguments(2 * kLine, '\0');
  for (size_t i = 0; i < 32; ++i) arguments[kLine + i] = static_cast<char>(i);
  pack.checks.reference = Blob(arguments);
  pack.checks.device_checks = Blob("what compares");
  pack.candidates = {{R"({"knobs":{"tile":1}})", Blob("an object"), 1e-6},
                     {R"({"knobs":{"tile":2}})", Blob(), 0},
                     {R"({"knobs":{"tile":3}})", Blob("an object"), 2e-6}};
  return pack;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Packs : public testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  std::string why_refused() const {
    try {
      read_pack(path_);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kTune);
      return e.what();
    }
    return "";
  }
  void expect_refused(const std::string& why) const {
    EXPECT_NE(why_refused().find(why), std::string::npos) << why_refused();
  }

  const support::TemporaryFolder folder_{"tensorwright-packs"};
  const std::string path_ = folder_ / "p.twpack";
};

TEST_F(Packs, AreReadAsTheyWereWritten) {
  const Pack written = example();
  write_pack(written, path_);
  const Pack read = read_pack(path_);
  EXPECT_EQ(read.task, written.task);
  EXPECT_EQ(read.checks.features, written.checks.features);
  EXPECT_EQ(read.checks.threads, 0);
  ASSERT_EQ(read.checks.args.size(), 2u);
  EXPECT_EQ(read.checks.args[0].range, written.checks.args[0].range);
  EXPECT_EQ(read.checks.args[1].dtype, ir::Type::f(32));
  EXPECT_TRUE(read.checks.args[1].written);
  EXPECT_EQ(read.checks.reference->bytes(), written.checks.reference->bytes());
  EXPECT_EQ(read.checks.device_checks.bytes(), "what compares");
  ASSERT_EQ(read.candidates.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read.candidates[i].record, written.candidates[i].record);
    EXPECT_EQ(read.candidates[i].object.bytes(), written.candidates[i].object.bytes());
    EXPECT_EQ(read.candidates[i].lower_bound_s, written.candidates[i].lower_bound_s);
  }
}

TEST_F(Packs, CarryEqualObjectsOnce) {
  write_pack(example(), path_);
  const std::string text = text_of(path_);
  EXPECT_EQ(text.find("an object"), text.rfind("an object"));
}

TEST_F(Packs, LeaveTheReferenceToTheMachine) {
  Pack pack = example();
  pack.checks.reference.reset();
  pack.checks.made_reference = {Blob("the default schedule"), {{1, 7, std::nan("")}, {1, 0, -0.5}}};
  write_pack(pack, path_);
  const Checks checks = read_pack(path_).checks;
  EXPECT_FALSE(checks.reference);
  ASSERT_TRUE(checks.made_reference);
  const runtime::MadeReference& read = *checks.made_reference;
  EXPECT_EQ(read.object.bytes(), "the default schedule");
  ASSERT_EQ(read.probes.size(), 2u);
  EXPECT_TRUE(std::isnan(read.probes[0].expected));
  EXPECT_EQ(read.probes[1], (runtime::Probe{1, 0, -0.5}));
}

TEST_F(Packs, ThatAreNoneAreRefused) {
  expect_refused("cannot be read: No such file");
  write("{\"tensorwright\":1}\n");
  expect_refused("is no pack of Tensorwright");
  write("{\"twpack\":2,\"task\":{}}\n");
  expect_refused("was written by a newer release");
}

TEST_F(Packs, ThatAreDamagedSaySo) {
  write_pack(example(), path_);
  const std::string whole = text_of(path_);
  std::string changed = whole;
  changed[whole.find("an object")] = 'b';
  write(changed);
  expect_refused("the checksum of blob 2 differs");
  changed = whole;
  changed[whole.find("double")] = 'D';
  write(changed);
  expect_refused("its first line is damaged");
  write(whole + "x");
  expect_refused("bytes follow its end");
  write(whole.substr(0, whole.size() - 1));
  expect_refused("cut off");
}

TEST_F(Packs, ThatMakeNoSenseAreRefused) {
  Pack pack = example();
  pack.checks.reference.reset();
  pack.checks.made_reference = {Blob("object"), {{1, 8, 0}}};
  write_pack(pack, path_);
  expect_refused("a probe outside of its argument");
  pack = example();
  pack.checks.reference.reset();  // whoever writes lays it out by the shapes
  pack.checks.made_reference = {Blob("object"), {}};
  pack.checks.args[0].shape = {int64_t{1} << 41};
  write_pack(pack, path_);
  expect_refused("too many elements");
  pack = example();
  pack.checks.rtol.pop_back();
  write_pack(pack, path_);
  expect_refused("tolerances of other arguments");
}

TEST_F(Packs, CutOffOrChangedAnywhereAreRefusedOrTheSame) {
  write_pack(example(), path_);
  const std::string whole = text_of(path_);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    write(whole.substr(0, bytes));
    EXPECT_NE(why_refused(), "") << bytes;
  }
  support::Rng random(1);
  for (int n = 0; n < 500; ++n) {
    std::string changed = whole;
    const size_t at = random.below(whole.size());
    changed[at] = static_cast<char>(changed[at] ^ (1 << random.below(8)));
    write(changed);
    EXPECT_NE(why_refused(), "") << at;
  }
}

TEST_F(Packs, ThatCannotBeWrittenLeaveWhatWasThere) {
  write_pack(example(), path_);
  const std::string before = text_of(path_);
  EXPECT_THROW(write_pack(example(), folder_ / "no/such/folder.twpack"), Error);
  EXPECT_EQ(text_of(path_), before);
}

}  // namespace
}  // namespace tw::rpc
