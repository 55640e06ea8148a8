// How a pack is measured, on a machine whose clock is a test's.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "rpc/measure_pack.h"
#include "src/runtime/arguments.h"
#include "src/support/temporary_folder.h"

namespace tw::rpc {
namespace {

using runtime::RunRequest;
using runtime::RunResult;
using runtime::RunStatus;

// The n-th candidate takes n milliseconds more than ten, longer by what the clock has lost.
class DriftingGpu final : public runtime::Runner {
 public:
  RunResult run(const RunRequest& request) override {
    asked.push_back(request);
    const double seconds = (10 + static_cast<double>(request.candidate)) * 1e-3;
    return {
        .status = RunStatus::kOk, .seconds = seconds * slower(static_cast<int>(asked.size())), .runs = 5, .detail = {}};
  }
  MachineDescription machine() const override {
    return {.hardware = {.cpu_model = "", .cores = 1}, .threads = 1, .name = "a GPU"};
  }
  std::string why_not(const Target&) const override { return ""; }

  std::function<double(int run)> slower = [](int) { return 1.0; };
  std::vector<RunRequest> asked;
};

class Measured : public testing::Test {
 protected:
  Measured() {
    const auto arg = [](const char* name, bool written) {
      return runtime::ArgSpec{.name = name, .dtype = ir::Type::f(32), .shape = {8}, .strides = {}, .written = written};
    };
    pack_.task = "double(8)";
    pack_.checks.target = "cuda -arch=sm_90a";
    pack_.checks.kernel = "candidate";
    pack_.checks.args = {arg("A", false), arg("B", true)};
    pack_.checks.rtol = {0, 0};
    pack_.checks.reference = Blob(std::string(128, '\0'));
    pack_.confirm = 0;
    for (int i = 0; i < 20; ++i)
      pack_.candidates.push_back({R"({"tensorwright":1,"kind":"trial","task":{"hash":"h"},"target":"t","knobs":{"n":)" +
                                      std::to_string(i) + R"(},"steps":[],"environment":{"number":)" +
                                      std::to_string(i) + "}}",
                                  Blob("object " + std::to_string(i)), 0});
  }
  void measure(int at_most = 100) {
    measure_pack(pack_, gpu_, {.log = log_, .on_trial = {}, .should_stop = [&] { return at_most-- <= 0; }});
  }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> all;
    std::ifstream in(log_);
    for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  std::vector<uint64_t> candidates() const {
    std::vector<uint64_t> all;
    for (const RunRequest& request : gpu_.asked) all.push_back(request.candidate);
    return all;
  }
  void expect_times_of_a_steady_clock() const {
    const std::vector<nlohmann::json> all = lines();
    ASSERT_EQ(all.size(), 20u);
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_NEAR(all[i]["result"]["seconds"].get<double>(), (10 + static_cast<double>(i)) * 1e-3, 1e-9) << i;
  }

  const support::TemporaryFolder folder_{"tensorwright-measured"};
  const std::string log_ = folder_ / "l.jsonl";
  Pack pack_;
  DriftingGpu gpu_;
};

TEST_F(Measured, TheFirstRightOneIsTimedAgainBeforeEveryEighth) {
  measure();
  EXPECT_EQ(candidates(),
            (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 0, 8, 9, 10, 11, 12, 13, 14, 15, 0, 16, 17, 18, 19}));
  expect_times_of_a_steady_clock();
  for (const nlohmann::json& line : lines()) EXPECT_FALSE(line["environment"].contains("drift"));
}

TEST_F(Measured, ADriftIsTakenOutAndRecorded) {
  gpu_.slower = [](int run) { return run <= 8 ? 1.0 : run <= 17 ? 1.25 : 0.8; };
  measure();
  expect_times_of_a_steady_clock();
  const std::vector<nlohmann::json> all = lines();
  EXPECT_FALSE(all[7]["environment"].contains("drift"));
  EXPECT_NEAR(all[8]["environment"]["drift"].get<double>(), 1.25, 1e-9);
  EXPECT_NEAR(all[16]["environment"]["drift"].get<double>(), 0.8, 1e-9);
}

TEST_F(Measured, WhatIsGivenUpAtDriftsToo) {
  pack_.best_s = 0.02;
  gpu_.slower = [](int run) { return run <= 8 ? 1.0 : 1.5; };
  measure();
  EXPECT_DOUBLE_EQ(gpu_.asked[7].give_up_above_s, 0.04);
  EXPECT_EQ(gpu_.asked[8].give_up_above_s, 0);  // the anchor
  EXPECT_NEAR(gpu_.asked[9].give_up_above_s, 0.06, 1e-9);
}

TEST_F(Measured, WhoGoesOnHasTheSameAnchor) {
  measure(5);
  ASSERT_EQ(candidates(), (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  gpu_.slower = [](int) { return 1.1; };
  measure();
  EXPECT_EQ(gpu_.asked[5].candidate, 0u);
  EXPECT_EQ(gpu_.asked[6].candidate, 5u);
  expect_times_of_a_steady_clock();
}

TEST_F(Measured, CpusHaveNoAnchor) {
  pack_.checks.target = "llvm";
  measure();
  EXPECT_EQ(gpu_.asked.size(), 20u);
}

}  // namespace
}  // namespace tw::rpc
