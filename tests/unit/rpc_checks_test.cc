// What a machine elsewhere makes of checks: the request for its candidates, or why there is none.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "rpc/check/checks_text.h"
#include "rpc/check/native_target.h"
#include "rpc/check/outputs.h"
#include "src/runtime/arguments.h"
#include "src/runtime/inputs.h"

namespace tw::rpc {
namespace {

using runtime::RunRequest;
using runtime::RunResult;
using runtime::RunStatus;

constexpr int64_t kElements = 8;
constexpr size_t kOutput = 64;  // where it begins

runtime::ArgSpec arg(const char* name, bool written) {
  return {.name = name, .dtype = ir::Type::f(32), .shape = {kElements}, .strides = {}, .written = written};
}

// B = A + A.
Checks twice() {
  Checks checks;
  checks.target = "llvm -mcpu=cortex-a72 -mtriple=aarch64-unknown-linux-gnu";
  checks.kernel = "candidate";
  checks.args = {arg("A", false), arg("B", true)};
  checks.rtol = {1e-6, 1e-6};
  return checks;
}

Blob results_of(const Blob& inputs) {
  std::string bytes(inputs.bytes());
  float value = 0;
  for (int64_t i = 0; i < kElements; ++i) {
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    value += value;
    std::memcpy(bytes.data() + kOutput + 4 * i, &value, 4);
  }
  return Blob(bytes);
}

double element(const Blob& arguments, int64_t i) {
  float value = 0;
  std::memcpy(&value, arguments.bytes().data() + kOutput + 4 * i, 4);
  return value;
}

// A machine of two cores that runs code without features.
class Board final : public runtime::Runner {
 public:
  RunResult run(const RunRequest& request) override {
    asked.push_back(request);
    RunResult result{.status = status, .detail = "of the test"};
    if (status == RunStatus::kOk) result.outputs = results_of(request.inputs);
    return result;
  }
  MachineDescription machine() const override {
    return {.hardware = {.cpu_model = "", .cores = 2}, .threads = 2, .name = "a board"};
  }
  std::string why_not(const Target& target) const override {
    return target.features.empty() ? "" : "it lacks " + target.features[0];
  }
  std::vector<RunRequest> asked;
  RunStatus status = RunStatus::kOk;
};

Blob expected() { return results_of(runtime::random_inputs(twice().args)); }

Checks with_reference() {
  Checks checks = twice();
  checks.reference = expected();
  return checks;
}

Checks with_made_reference() {
  Checks checks = twice();
  checks.made_reference = {Blob("the default schedule"), {{1, 3, element(expected(), 3)}}};
  return checks;
}

void expect_refused(const Checks& checks, Board& board, const std::string& what, const std::string& note) {
  try {
    request_here(checks, board);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_NE(e.diagnostic().what.find(what), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(note), std::string::npos) << e.what();
  }
}

TEST(Checks, BecomeARequestWithInputsOfThisMachine) {
  Board board;
  const RunRequest request = request_here(with_reference(), board);
  EXPECT_TRUE(board.asked.empty());
  EXPECT_EQ(request.inputs.bytes(), runtime::random_inputs(twice().args).bytes());
  EXPECT_EQ(request.inputs_version, runtime::kInputsVersion);
  EXPECT_EQ(request.reference->bytes(), expected().bytes());
  EXPECT_EQ(request.threads, 2) << "as many as there are cores";
  EXPECT_EQ(request.atol[0], 0);
  EXPECT_EQ(request.atol[1], runtime::absolute_tolerance(twice().args[1], expected().bytes().data() + kOutput, 1e-6));
}

TEST(Checks, MakeALargeReferenceHere) {
  Board board;
  const RunRequest request = request_here(with_made_reference(), board);
  ASSERT_EQ(board.asked.size(), 1u);
  EXPECT_EQ(board.asked[0].object.bytes(), "the default schedule");
  EXPECT_FALSE(board.asked[0].reference);
  EXPECT_EQ(board.asked[0].timeout_s, 300);
  EXPECT_EQ(element(*request.reference, 3), element(expected(), 3));
  EXPECT_EQ(request.object.size(), 0u);
}

TEST(Checks, BelieveNoReferenceThatLacksWhatIsKnown) {
  Board board;
  Checks checks = with_made_reference();
  checks.made_reference->probes[0].expected += 1;
  expect_refused(checks, board, "the default schedule gives a wrong result on this machine", "B[3] should be");
  board.status = RunStatus::kCrashed;
  expect_refused(checks, board, "the default schedule fails on this machine: crashed", "of the test");
}

TEST(Checks, NameTheTargetToUseWhereCodeDoesNotRun) {
  Board board;
  Checks checks = with_reference();
  checks.triple = "aarch64-unknown-linux-gnu";
  checks.features = {"sve"};
  expect_refused(checks, board, "this machine can't run code for " + checks.target, "it lacks sve");
  expect_refused(checks, board, "this machine can't run", "use target=\"" + native_target() + "\"");
}

TEST(Checks, AreRefusedOnAnotherMachineThanThatOfTheRecords) {
  Board board;
  Checks checks = with_reference();
  checks.hardware = "another board";
  expect_refused(checks, board, "the records of another machine", "here: a board");
  checks = with_reference();
  checks.threads = 3;
  expect_refused(checks, board, "for 3 threads, and this machine has 2 cores", "use threads=2");
  checks = with_reference();
  checks.args[0].shape = {int64_t{1} << 40};
  expect_refused(checks, board, "the arguments take 4194304 MB, three times at once", "smaller shapes");
}

TEST(Checks, ThatNobodySendsAreUnsound) {
  EXPECT_EQ(unsound(with_reference()), "");
  EXPECT_EQ(unsound(with_made_reference()), "");
  EXPECT_EQ(unsound(twice()), "none or two references");
  const auto why = [](auto change) {
    Checks checks = with_reference();
    change(checks);
    return unsound(checks);
  };
  EXPECT_EQ(why([](Checks& c) { c.args.clear(); }), "no arguments");
  EXPECT_EQ(why([](Checks& c) { c.rtol.pop_back(); }), "tolerances of other arguments");
  EXPECT_EQ(why([](Checks& c) { c.reference = Blob("short"); }), "a reference of another size");
  EXPECT_EQ(why([](Checks& c) { c.timeout_s = NAN; }), "limits without a meaning");
  EXPECT_EQ(why([](Checks& c) { c.args[0].shape = {-1}; }), "a negative extent or stride");
  EXPECT_EQ(why([](Checks& c) { c.args[0].shape = {int64_t{1} << 62, 4, 0}; }), "an argument of too many elements");
  EXPECT_EQ(why([](Checks& c) { c.args[0].strides = {1, 1}; }), "strides of another rank");
  EXPECT_EQ(why([](Checks& c) { c.args[0].range = std::pair<int64_t, int64_t>{1, 0}; }), "a range without values");
  Checks probes = with_made_reference();
  probes.made_reference->probes[0].element = kElements;
  EXPECT_EQ(unsound(probes), "a probe outside of its argument");
}

TEST(Checks, AreThoseOfARequest) {
  Board board;
  Checks checks = with_reference();
  checks.number = 3;
  checks.repeat = 5;
  const RunRequest request = request_here(checks, board);
  const RunRequest again = request_here(checks_of(request), board);
  EXPECT_EQ(again.kernel, "candidate");
  EXPECT_EQ(again.number, 3);
  EXPECT_EQ(again.repeat, 5);
  EXPECT_EQ(again.threads, request.threads);
  EXPECT_EQ(again.atol, request.atol);
  EXPECT_EQ(again.reference->bytes(), request.reference->bytes());
}

TEST(Checks, AreReadFromJsonAsTheyWereWritten) {
  Checks checks = with_made_reference();
  checks.made_reference->probes.push_back({1, 0, NAN});
  checks.features = {"neon"};
  checks.threads = 2;
  const Checks read = checks_from(to_json(checks));
  EXPECT_EQ(to_json(read), to_json(checks));
  EXPECT_EQ(read.made_reference->object.size(), 0u);
  EXPECT_TRUE(std::isnan(read.made_reference->probes[1].expected));
  EXPECT_FALSE(checks_from(to_json(with_reference())).reference);
  nlohmann::ordered_json later = to_json(checks);
  later["inputs"] = runtime::kInputsVersion + 1;
  EXPECT_THROW(checks_from(later), Error);
}

TEST(Outputs, TravelWithoutInputs) {
  const Checks checks = with_reference();
  const Blob outputs = outputs_of(checks.args, *checks.reference);
  EXPECT_EQ(outputs.size(), 4u * kElements);
  const std::optional<Blob> again = arguments_with(checks.args, outputs);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->bytes().substr(kOutput), checks.reference->bytes().substr(kOutput));
  EXPECT_FALSE(arguments_with(checks.args, Blob("short")));
}

}  // namespace
}  // namespace tw::rpc
