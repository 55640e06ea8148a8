// Tuning on a GPU whose clock drifts: the times that are recorded are those of a steady one.
#include <gtest/gtest.h>

#include <functional>

#include "autotune/log/record.h"
#include "tensorwright/autotune.h"
#include "tests/unit/folder.h"
#include "tests/unit/setting.h"

namespace tw::autotune {
namespace {

// The n-th candidate takes n milliseconds more than ten, longer by what the clock has lost.
class DriftingGpu final : public runtime::Runner {
 public:
  runtime::RunResult run(const runtime::RunRequest& request) override {
    asked.push_back(request.candidate);
    const double seconds = (10 + static_cast<double>(request.candidate)) * 1e-3;
    return {.status = runtime::RunStatus::kOk, .seconds = seconds * slower(asked.size()), .runs = 5, .detail = {}};
  }
  MachineDescription machine() const override {
    return {.hardware = {.cpu_model = "", .cores = 1}, .threads = 1, .name = "a GPU"};
  }
  std::string why_not(const Target&) const override { return ""; }

  std::function<double(size_t run)> slower = [](size_t) { return 1.0; };
  std::vector<uint64_t> asked;
};

Task on_gpu() {
  const auto twice = [](Config& cfg) {
    const te::Tensor x = te::placeholder({1000}, "float32", "x");
    const te::Tensor y = te::compute({1000}, [&](te::Var i) { return x(i) * te::constant(2, "float32"); }, "y");
    schedule::Schedule s({y});
    std::vector<int64_t> threads;
    for (int64_t t = 32; t <= 640; t += 32) threads.push_back(t);
    cfg.define_knob("threads", threads);
    s.apply(schedule::Split{"y", "i", cfg.factor("threads"), {}, ir::Tail::kAuto});
    s.apply(schedule::Bind{"y", "i.o", "blockIdx.x"});
    s.apply(schedule::Bind{"y", "i.i", "threadIdx.x"});
    return Scheduled{s, {x, y}};
  };
  return Task("twice", "[]", twice, Target::parse("cuda -arch=sm_90a").value_or_throw());
}

class AnchoredTuning : public ::testing::Test {
 protected:
  AnchoredTuning() {
    options_.trials = 20;
    options_.confirm = 0;
    options_.early_stop = 0;
    options_.log = folder_ / "l.jsonl";
  }
  void expect_times_of_a_steady_clock() const {
    const std::vector<Record> records = load_log(options_.log).records;
    EXPECT_EQ(records.size(), 20u);
    for (const Record& r : records)
      EXPECT_NEAR(r.trial.seconds, (10 + static_cast<double>(*task_.space().find(r.trial.knobs))) * 1e-3, 1e-9);
  }
  std::vector<double> drifts() const {
    std::vector<double> all;
    for (const Record& r : load_log(options_.log).records) all.push_back(r.trial.place.drift);
    return all;
  }

  const test::Setting images_{"TW_CUDA_IMAGES", "ir"};
  const test::Folder folder_;
  const Task task_ = on_gpu();
  TuneOptions options_;
  DriftingGpu gpu_;
};

TEST_F(AnchoredTuning, ADriftIsTakenOutAndRecorded) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  gpu_.slower = [](size_t run) { return run <= 8 ? 1.0 : 1.25; };
  tune(task_, options_, gpu_);
  ASSERT_EQ(gpu_.asked.size(), 22u);
  EXPECT_EQ(gpu_.asked[8], gpu_.asked[0]);
  EXPECT_EQ(gpu_.asked[17], gpu_.asked[0]);
  expect_times_of_a_steady_clock();
  EXPECT_EQ(drifts()[7], 1);
  EXPECT_NEAR(drifts()[8], 1.25, 1e-9);
}

TEST_F(AnchoredTuning, WhoGoesOnHasTheSameAnchor) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  options_.trials = 5;
  tune(task_, options_, gpu_);
  options_.trials = 20;
  gpu_.slower = [](size_t) { return 0.9; };
  tune(task_, options_, gpu_);
  EXPECT_EQ(gpu_.asked[5], gpu_.asked[0]);
  expect_times_of_a_steady_clock();
  EXPECT_NEAR(drifts()[5], 0.9, 1e-9);
}

}  // namespace
}  // namespace tw::autotune
