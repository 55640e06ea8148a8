// The protocol of a measurement, on a device whose kernel and clock are a test's.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>

#include "src/runtime/arguments.h"
#include "src/runtime/guarded_buffer.h"
#include "src/runtime/measurement.h"

namespace tw::runtime {
namespace {

constexpr int kElements = 8;

class TestDevice final : public Device {
 public:
  std::unique_ptr<DeviceMemory> allocate(size_t bytes, size_t place) override {
    return std::make_unique<GuardedBuffer>(bytes, place);
  }
  const void* readable(const void* bytes, size_t) override { return bytes; }
  std::unique_ptr<DeviceMemory> scratch(size_t bytes) override {
    if (bytes > memory) throw Error({ErrorKind::kArgument, "no memory", {}, {}});
    return std::make_unique<GuardedBuffer>(bytes, 9);
  }
  Status load(const Blob& object) override {
    loaded += object.bytes();
    if (refusal.empty()) return Unit{};
    return Diagnostic{ErrorKind::kBuild, refusal, {}, {}};
  }
  Result<KernelSpecs> specs(const std::string&) const override { return stated; }
  Result<Launch> find(const std::string& kernel) const override {
    if (kernel == "pack") return Launch(packer);
    if (checks.contains(kernel)) return Launch(checks.at(kernel));
    if (kernel != "k") return Diagnostic{ErrorKind::kBuild, "no symbol " + kernel, {}, {}};
    return Launch(
        [this](void* const* a) { return code(static_cast<const float*>(a[0]), static_cast<float*>(a[1]), runs++); });
  }
  Elapsed time(const Launch& launch, void* const* addresses, int launches) override {
    Elapsed elapsed;
    for (int i = 0; i < launches && elapsed.code == 0; ++i) {
      elapsed.seconds += seconds(runs);
      elapsed.code = launch(addresses);
    }
    return elapsed;
  }

  // The kernel's n-th run, and what the clock says of it.
  std::function<int32_t(const float* x, float* y, int run)> code;
  std::function<double(int run)> seconds = [](int) { return 1e-3; };
  std::function<int32_t(void* const*)> packer;
  std::map<std::string, std::function<int32_t(void* const*)>> checks;
  std::string loaded;
  size_t memory = size_t{1} << 30;  // besides arguments
  KernelSpecs stated;
  std::string refusal;
  mutable int runs = 0;
};

int32_t twice(const float* x, float* y) {
  for (int i = 0; i < kElements; ++i) y[i] = 2 * x[i];
  return 0;
}

class Protocol : public testing::Test {
 protected:
  Protocol() {
    request_.kernel = "k";
    request_.args = {{"x", ir::Type::f(32), {kElements}, {}, false}, {"y", ir::Type::f(32), {kElements}, {}, true}};
    for (int i = 0; i < kElements; ++i) y_[i] = 2 * (x_[i] = static_cast<float>(i + 1));
    request_.inputs = arguments_blob(request_.args, {x_, y_});
    request_.reference = request_.inputs;
    request_.rtol = request_.atol = {0, 0};
    device_.code = [](const float* x, float* y, int) { return twice(x, y); };
  }
  RunResult measure() {
    device_.runs = 0;
    Measurement measurement(request_, device_);
    if (measurement.load() && measurement.prepare() && measurement.check_first_run()) measurement.finish();
    return measurement.result();
  }
  void expect(RunStatus status, const std::string& detail) {
    const RunResult result = measure();
    EXPECT_EQ(to_string(result.status), to_string(status)) << result.detail;
    EXPECT_NE(result.detail.find(detail), std::string::npos) << result.detail;
  }

  float x_[kElements], y_[kElements];
  RunRequest request_;
  TestDevice device_;
};

TEST_F(Protocol, ARightOneIsTimedByTheDevicesClock) {
  const RunResult result = measure();
  EXPECT_EQ(result.status, RunStatus::kOk) << result.detail;
  EXPECT_DOUBLE_EQ(result.seconds, 1e-3);
  EXPECT_GE(result.runs, 5);
  EXPECT_FALSE(result.outputs);
}

TEST_F(Protocol, WhatIsWrongRunsOnceAndHasNoTime) {
  device_.code = [](const float* x, float* y, int) { return twice(x, y), y[3] = 0, 0; };
  const RunResult result = measure();
  EXPECT_EQ(result.status, RunStatus::kWrongAnswer);
  EXPECT_EQ(result.seconds, 0);
  EXPECT_EQ(device_.runs, 1);
}

TEST_F(Protocol, WritesOutsideAreFoundOnAnyArgument) {
  device_.code = [](const float* x, float* y, int) { return twice(x, y), y[kElements] = 1, 0; };
  expect(RunStatus::kWrongAnswer, "argument 2 (y): memory outside it was written, 1 bytes after its last");
  device_.code = [](const float* x, float* y, int) { return twice(x, y), const_cast<float*>(x)[-1] = 1, 0; };
  expect(RunStatus::kWrongAnswer, "argument 1 (x): memory outside it was written");
  device_.code = [](const float* x, float* y, int) { return twice(x, y), const_cast<float*>(x)[2] = -3, 0; };
  expect(RunStatus::kWrongAnswer, "argument 1 (x) is an input and was written");
}

TEST_F(Protocol, ItGoesWrongInAnyLaterRun) {
  for (const int from : {1, 2, 5}) {
    device_.code = [=](const float* x, float* y, int run) { return run < from ? twice(x, y) : 0; };
    expect(RunStatus::kWrongAnswer, "argument 2 (y) was not written (after the timed runs)");
  }
  device_.code = [](const float* x, float* y, int run) { return run == 3 ? 7 : twice(x, y); };
  expect(RunStatus::kCrashed, "returned code 7");
}

TEST_F(Protocol, WhatCannotBeLoadedDoesNotRun) {
  device_.refusal = "no room";
  expect(RunStatus::kLoadFailed, "no room");
  device_.refusal.clear();
  request_.kernel = "other";
  expect(RunStatus::kLoadFailed, "no symbol other");
  EXPECT_EQ(device_.runs, 0);
}

TEST_F(Protocol, WhatIsGivenUpAtEndsIt) {
  request_.give_up_above_s = 0.5e-3;
  expect(RunStatus::kBeaten, "one run took longer");
  EXPECT_LE(device_.runs, 4);
  // Longer than the best and shorter than what is given up at: the first run tells enough.
  request_.give_up_above_s = 0.3;
  device_.seconds = [](int) { return 0.2; };
  const RunResult slow = measure();
  EXPECT_EQ(slow.status, RunStatus::kOk);
  EXPECT_EQ(device_.runs, 1);
  EXPECT_DOUBLE_EQ(slow.seconds, 0.2);
  // One disturbed run is no reason.
  request_.give_up_above_s = 2e-3;
  device_.seconds = [](int run) { return run == 0 ? 0.01 : 1e-3; };
  EXPECT_EQ(measure().status, RunStatus::kOk);
}

TEST_F(Protocol, FasterThanTheWorkAllows) {
  request_.lower_bound_s = 1e-3 / 0.74;
  expect(RunStatus::kTooFast, "faster than the work allows");
  request_.lower_bound_s = 1e-3 / 0.76;
  expect(RunStatus::kOk, "");
}

TEST_F(Protocol, WithoutAReferenceTheOutputsComeBack) {
  request_.reference.reset();
  const RunResult result = measure();
  EXPECT_EQ(result.status, RunStatus::kOk) << result.detail;
  EXPECT_EQ(device_.runs, 1);
  EXPECT_EQ(result.seconds, 0);
  ASSERT_TRUE(result.outputs);
  EXPECT_EQ(result.outputs->bytes(), request_.inputs.bytes());
}

// x is taken the other way round, by a kernel of the same object.
TEST_F(Protocol, PackedInputsAreMadeOnceAndWatched) {
  device_.stated.args = request_.args;
  device_.stated.packers = {"pack", ""};
  int packed = 0;
  device_.packer = [&](void* const* a) {
    ++packed;
    for (int i = 0; i < kElements; ++i)
      static_cast<float*>(a[1])[kElements - 1 - i] = static_cast<const float*>(a[0])[i];
    return 0;
  };
  device_.code = [](const float* x, float* y, int) {
    for (int i = 0; i < kElements; ++i) y[i] = 2 * x[kElements - 1 - i];
    return 0;
  };
  EXPECT_EQ(measure().status, RunStatus::kOk);
  EXPECT_EQ(packed, 1);
  const auto right = device_.code;
  device_.code = [=](const float* x, float* y, int run) { return right(x, y, run), const_cast<float*>(x)[0] = 0, 0; };
  expect(RunStatus::kWrongAnswer, "argument 1 (x, packed) is an input and was written");
  device_.packer = [](void* const*) { return 3; };
  expect(RunStatus::kCrashed, "pack returned code 3");
}

// Of arguments of 1 MiB, with kernels of the test's that look at them on the device.
class LargeArguments : public testing::Test {
 protected:
  static constexpr int64_t kMany = kLeastChecked / 4;

  LargeArguments() {
    request_.kernel = "k";
    request_.args = {{"x", ir::Type::f(32), {kMany}, {}, false}, {"y", ir::Type::f(32), {kMany}, {}, true}};
    for (int64_t i = 0; i < kMany; ++i) y_.push_back(2 * x_.emplace_back(static_cast<float>(i % 100)));
    request_.inputs = arguments_blob(request_.args, {x_.data(), y_.data()});
    request_.reference = request_.inputs;
    request_.rtol = request_.atol = {0, 0.5};
    request_.device_checks = Blob("checks");
    device_.code = [](const float* x, float* y, int) {
      for (int64_t i = 0; i < kMany; ++i) y[i] = 2 * x[i];
      return 0;
    };
    device_.checks["tw_check_0"] = [this](void* const* a) {
      ++digests_;
      std::memset(a[1], 0, kCheckParts * sizeof(uint64_t));
      for (int64_t i = 0; i < kMany; ++i)
        static_cast<uint64_t*>(a[1])[i % kCheckParts] += static_cast<uint64_t>(static_cast<const float*>(a[0])[i]) + 1;
      return 0;
    };
    device_.checks["tw_check_1"] = [this](void* const* a) {
      ++comparisons_;
      const auto *got = static_cast<const float*>(a[0]), *expected = static_cast<const float*>(a[1]);
      EXPECT_EQ(static_cast<const double*>(a[2])[0], 0.5);
      std::memset(a[3], 0, kCheckParts * sizeof(int32_t));
      for (int64_t i = 0; i < kMany; ++i) static_cast<int32_t*>(a[3])[i % kCheckParts] += got[i] != expected[i];
      return 0;
    };
  }
  RunResult measure() {
    device_.runs = 0;
    Measurement measurement(request_, device_);
    if (measurement.load() && measurement.prepare() && measurement.check_first_run()) measurement.finish();
    return measurement.result();
  }

  std::vector<float> x_, y_;
  RunRequest request_;
  TestDevice device_;
  int digests_ = 0, comparisons_ = 0;
};

TEST_F(LargeArguments, AreLookedAtOnTheDevice) {
  const RunResult result = measure();
  EXPECT_EQ(result.status, RunStatus::kOk) << result.detail;
  EXPECT_EQ(device_.loaded, "checks");
  EXPECT_EQ(comparisons_, 3);  // after the first run, the timed ones and the last
  EXPECT_EQ(digests_, 2);      // before the first run and after the last
}

TEST_F(LargeArguments, WhatMayBeWrongTheHostLooksAt) {
  device_.code = [](const float* x, float* y, int) {
    for (int64_t i = 0; i < kMany; ++i) y[i] = 2 * x[i];
    return y[7] = 14.25, 0;
  };
  EXPECT_EQ(measure().status, RunStatus::kOk);
  device_.code = [](const float* x, float* y, int) {
    for (int64_t i = 0; i < kMany; ++i) y[i] = 2 * x[i];
    return y[7] = 99, 0;
  };
  const RunResult wrong = measure();
  EXPECT_EQ(wrong.status, RunStatus::kWrongAnswer);
  EXPECT_EQ(wrong.detail, "argument 2 (y): element [7] is 99, expected 14; 1 of 262144 differ");
}

TEST_F(LargeArguments, AnInputThatWasWrittenIsFoundThere) {
  device_.code = [](const float* x, float* y, int) {
    for (int64_t i = 0; i < kMany; ++i) y[i] = 2 * x[i];
    return const_cast<float*>(x)[3] = 50, 0;
  };
  const RunResult result = measure();
  EXPECT_EQ(result.status, RunStatus::kWrongAnswer);
  EXPECT_EQ(result.detail, "argument 1 (x) is an input and was written");
}

TEST_F(LargeArguments, TheHostLooksWhereNoKernelDoes) {
  device_.memory = 1000;
  EXPECT_EQ(measure().status, RunStatus::kOk);
  EXPECT_EQ(comparisons_ + digests_, 0);
  device_.memory = size_t{1} << 30;
  device_.checks.clear();
  EXPECT_EQ(measure().status, RunStatus::kOk);
  request_.device_checks = {};
  device_.loaded.clear();
  EXPECT_EQ(measure().status, RunStatus::kOk);
  EXPECT_EQ(device_.loaded, "");
}

TEST_F(LargeArguments, AKernelThatFailsSaysNothing) {
  for (const char* kernel : {"tw_check_0", "tw_check_1"}) device_.checks[kernel] = [](void* const*) { return 1; };
  EXPECT_EQ(measure().status, RunStatus::kOk);
}

}  // namespace
}  // namespace tw::runtime
