// The prior and the learned model, without measuring.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "autotune/log/transfer.h"
#include "autotune/model/prior.h"
#include "autotune/search/proposer.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/folder.h"

namespace tw::autotune {
namespace {

namespace S = schedule;
using testing::declare_dense;
using testing::machine_of;
using testing::tiled;

// Of several kinds, so that the verdict is the same wherever this runs.
constexpr const char* kCpus[] = {"llvm -mcpu=znver4", "llvm -mcpu=x86-64-v4", "llvm -mcpu=x86-64-v3",
                                 "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"};

Machine machine_like(const Target& target, int threads) {
  return schedule::describe_machine(target, {.hardware = schedule::usual_hardware(target), .threads = threads});
}

TEST(Prior, PrefersVectorsThreadsAndTilesThatFitRegisters) {
  for (const char* cpu : kCpus) {
    const Target target = Target::parse(cpu).value_or_throw();
    const Machine machine = machine_like(target, 2);
    const int lanes = target.lanes(32);
    const double good = estimate_seconds(tiled(4, 2 * lanes, true, true), machine);
    EXPECT_LT(3 * good, estimate_seconds(tiled(4, 2 * lanes, false, true), machine)) << "no vectors, " << cpu;
    EXPECT_LT(1.5 * good, estimate_seconds(tiled(4, 2 * lanes, true, false), machine)) << "one thread, " << cpu;
    const double spilled = machine.known.issue == 1 ? 1.5 : 1.3;  // two instructions a cycle hide some of it
    EXPECT_LT(spilled * good, estimate_seconds(tiled(32, 4 * lanes, true, true), machine)) << "spills, " << cpu;
    EXPECT_LT(1.5 * good, estimate_seconds(tiled(1, lanes, true, true), machine)) << "one chain of sums, " << cpu;
  }
}

// Sums of 64 rows of 4096, with so many partial results.
double rows_in_lanes(int64_t lanes, const Machine& machine) {
  const te::Tensor A = te::placeholder({64, 4096}, "float32", "A");
  const te::IterVar k = te::reduce_axis(0, 4096, "k");
  S::Schedule s({te::compute({64}, [&](te::Var i) { return te::sum(A(i, k), {k}); }, "B")});
  if (lanes > 1) {
    s.apply(S::Split{"B", "k", lanes, {}});
    s.apply(S::Vectorize{"B", "k.i"});
  }
  return estimate_seconds(s, machine);
}

TEST(Prior, PrefersSeveralVectorsOfPartialResultsWhileRegistersHoldThem) {
  for (const char* cpu : kCpus) {
    const Target target = Target::parse(cpu).value_or_throw();
    const Machine machine = machine_like(target, 1);
    const int lanes = target.lanes(32);
    const double several = rows_in_lanes(4 * lanes, machine), one = rows_in_lanes(lanes, machine);
    EXPECT_LT(several, one) << "one chain of sums, " << cpu;
    EXPECT_LT(2 * one, rows_in_lanes(1, machine)) << "no vectors, " << cpu;
    EXPECT_LT(several, rows_in_lanes(64 * lanes, machine)) << "spills, and many lanes to join, " << cpu;
  }
}

TEST(Features, AreOfOneLengthForAllTasksAndTellNestsApart) {
  const Machine machine = machine_of(2);
  const Description a = description_of(tiled(4, 32, true, true), machine),
                    b = description_of(tiled(8, 32, true, true), machine);
  EXPECT_EQ(a.features.size(), nest_feature_names().size());
  EXPECT_NE(a.hash, b.hash);
  EXPECT_NE(a.features, b.features);
  const te::Tensor X = te::placeholder({100}, "float32", "X");
  const te::Tensor Y = te::compute({100}, [&](te::Var i) { return X(i) + X(i); }, "Y");
  EXPECT_EQ(description_of(S::Schedule({Y}), machine).features.size(), a.features.size());
}

TEST(Features, LoopsOfOneIterationDoNotChangeTheHash) {
  const Machine machine = machine_of(2);
  S::Schedule plain({declare_dense(64, 64, 64).D}), split = plain, other = plain;
  split.apply(S::Split{"C", "k", 64, {}});
  other.apply(S::Split{"C", "k", 32, {}});
  EXPECT_EQ(description_of(plain, machine).hash, description_of(split, machine).hash);
  EXPECT_NE(description_of(plain, machine).hash, description_of(other, machine).hash);
}

// Rows of (x, y, noise); y decides the score, and the prior believes in x.
Samples samples(size_t rows, size_t groups, uint64_t seed) {
  support::Rng rng(seed);
  Samples s;
  for (size_t g = 0; g < groups; ++g) {
    for (size_t r = 0; r < rows; ++r) {
      std::vector<float> row(nest_feature_names().size());
      for (float& x : row) x = static_cast<float>(rng.uniform());
      s.candidates.features.add(row);
      s.candidates.prior.push_back(0.3f * row[0]);
      s.scores.push_back(0.1f + 0.9f * row[1]);
    }
    s.groups.push_back(static_cast<unsigned>(rows));
  }
  return s;
}

double pair_accuracy(const std::vector<float>& predicted, const std::vector<float>& truth) {
  int right = 0, pairs = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      ++pairs;
      right += (predicted[i] > predicted[j]) == (truth[i] > truth[j]);
    }
  }
  return static_cast<double>(right) / pairs;
}

class LearnedModel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_xgboost()) GTEST_SKIP() << "built without XGBoost";
  }
};

TEST_F(LearnedModel, CorrectsThePriorWithinGroups) {
  const auto model = make_cost_model("xgb", 0);
  model->fit(samples(48, 2, 1));
  const Samples test = samples(100, 1, 2);
  EXPECT_GT(pair_accuracy(model->predict(test.candidates), test.scores), 0.85);
  EXPECT_LT(pair_accuracy(test.candidates.prior, test.scores), 0.6);
}

TEST_F(LearnedModel, KeepsWhatItStartedFromAndIsTheSameEachTime) {
  const auto teacher = make_cost_model("xgb", 0);
  teacher->fit(samples(64, 3, 1));
  const Samples few = samples(8, 1, 5), test = samples(100, 1, 2);
  std::vector<std::vector<float>> predictions;
  for (int run = 0; run < 2; ++run) {
    const auto pupil = make_cost_model("xgb", 0);
    pupil->start_from(teacher->bytes());
    EXPECT_GT(pair_accuracy(pupil->predict(test.candidates), test.scores), 0.85);
    pupil->fit(few);
    predictions.push_back(pupil->predict(test.candidates));
    EXPECT_GT(pair_accuracy(predictions.back(), test.scores), 0.8);
  }
  EXPECT_EQ(predictions[0], predictions[1]);
  const auto alone = make_cost_model("xgb", 0);
  alone->fit(few);
  EXPECT_LT(pair_accuracy(alone->predict(test.candidates), test.scores),
            pair_accuracy(predictions.back(), test.scores));
}

std::string refusal(const std::string& path) {
  try {
    read_model_file(path);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kTune);
    return e.diagnostic().what;
  }
  return "";
}

TEST(ModelFile, ReadsWhatItWroteAndRefusesTheRest) {
  const test::Folder folder;
  const std::string path = folder / "model";
  const std::string bytes("\0trees\n\xff", 8);
  write_model_file(path, bytes);
  EXPECT_EQ(read_model_file(path), bytes);
  std::string text;
  {
    std::ifstream in(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto rewrite = [&](const std::string& now) { std::ofstream(path, std::ios::binary) << now; };
  rewrite(text.substr(0, text.size() - 1));
  EXPECT_NE(refusal(path).find("damaged"), std::string::npos);
  std::string version = text;
  version.replace(version.find(":1"), 2, ":9");
  rewrite(version);
  EXPECT_NE(refusal(path).find("version 9"), std::string::npos);
  rewrite("{}\n");
  EXPECT_NE(refusal(path).find("no model file"), std::string::npos);
  EXPECT_NE(refusal(folder / "none").find("cannot be read"), std::string::npos);
}

TEST(Transfer, GroupsTrialsByKeyAndLeavesOutThoseWithoutFeatures) {
  std::vector<Record> records;
  for (int i = 0; i < 12; ++i) {
    Record r;
    r.key.hash = i % 2 ? "a" : "b";
    r.trial.status = i == 4 ? "crashed" : "ok";
    r.trial.seconds = 1 + i;
    if (i != 3) r.features.assign(nest_feature_names().size(), static_cast<float>(i));
    records.push_back(r);
  }
  const Samples s = samples_of(records);
  EXPECT_EQ(s.groups, (std::vector<unsigned>{6, 5}));
  ASSERT_EQ(s.scores.size(), 11u);
  EXPECT_EQ(s.scores[0], 1);
  EXPECT_EQ(s.scores[2], 0) << "a failure";
  EXPECT_EQ(s.candidates.features.rows(), 11u);
}

}  // namespace
}  // namespace tw::autotune
