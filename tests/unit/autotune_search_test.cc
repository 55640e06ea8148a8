// Searches and the learned model on spaces whose cost is a formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "autotune/model/device_prior.h"
#include "autotune/search/proposer.h"
#include "autotune/space/knobs.h"

namespace tw::autotune {
namespace {

Knob number_knob(const std::string& name, int count) {
  Knob knob{name, KnobKind::kValue, {}, {}};
  for (int i = 0; i < count; ++i) knob.values.push_back(KnobValue{{i}, ir::Tail::kAuto, ""});
  return knob;
}

Space ten_thousand() {
  return Space({number_knob("a", 10), number_knob("b", 10), number_knob("c", 10), number_knob("d", 10)});
}

// Shaped like a kernel: an optimum inside, interacting knobs, cliffs, and a rough surface.
double synthetic_seconds(const Space& space, uint64_t index) {
  const Digits d = space.digits(index);
  const double a = d[0], b = d[1], c = d[2], e = d[3];
  double t =
      1 + 0.12 * std::pow(a - 6, 2) + 0.08 * std::pow(b - 3, 2) + 0.1 * std::abs(c - 7) + 0.05 * std::pow(e - 4, 2);
  t += 0.15 * std::abs((a - 6) + (c - 7));  // two tiles share a cache
  if (a * b > 40) t *= 1.8;                 // registers spill
  if (d[3] % 2 == 1) t *= 1.15;             // unaligned
  t *= 1 + 0.05 * std::sin(static_cast<double>(index * 2654435761u % 1000));
  return t;
}

// Without an estimate, a bound or a hash: what the model learns, it learns from the digits.
std::optional<Description> digit_features(const Space& space, uint64_t index) {
  Description d;
  for (uint32_t digit : space.digits(index)) d.features.push_back(static_cast<float>(digit));
  return d;
}

bool reaches_top(const Space& space, const std::string& search, const std::string& model, uint64_t seed) {
  std::vector<double> all;
  for (uint64_t i = 0; i < space.size(); ++i) all.push_back(synthetic_seconds(space, i));
  std::nth_element(all.begin(), all.begin() + 19, all.end());
  const double threshold = all[19];  // the top 0.2 %
  Proposer proposer(
      space, make_search(search), make_cost_model(model, seed), [&](uint64_t i) { return digit_features(space, i); },
      [](uint64_t) { return true; }, seed, 0.1);
  double best = INFINITY;
  for (uint64_t batch = 0; batch < 8; ++batch) {
    for (uint64_t i : proposer.propose(16, batch)) {
      const double t = synthetic_seconds(space, i);
      best = std::min(best, t);
      proposer.tell(i, t);
    }
  }
  return best <= threshold;
}

int seeds_that_reach_the_top(const std::string& search, const std::string& model) {
  const Space space = ten_thousand();
  int hits = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) hits += reaches_top(space, search, model, seed);
  return hits;
}

TEST(Search, RandomRarelyReachesTheTop) { EXPECT_LE(seeds_that_reach_the_top("random", "none"), 5); }

TEST(Search, LearnedModelReachesTheTopOnNineOfTenSeeds) {
  if (!has_xgboost()) GTEST_SKIP() << "built without XGBoost";
  EXPECT_GE(seeds_that_reach_the_top("evolutionary", "xgb"), 9);
}

TEST(Search, EveryKindVisitsEachPointOnceAndThenEnds) {
  const Space space({number_knob("a", 5), number_knob("b", 7)});
  for (const char* search : {"random", "grid", "evolutionary"}) {
    Proposer proposer(
        space, make_search(search), nullptr, [&](uint64_t i) { return digit_features(space, i); },
        [](uint64_t) { return true; }, 3, 0.1);
    std::set<uint64_t> seen;
    for (uint64_t batch = 0; batch < 20; ++batch) {
      for (uint64_t i : proposer.propose(4, batch)) {
        EXPECT_TRUE(seen.insert(i).second) << search;
        proposer.tell(i, 1.0 + static_cast<double>(i));
      }
    }
    EXPECT_EQ(seen.size(), 35u) << search;
    EXPECT_TRUE(proposer.propose(4, 99).empty()) << search;
  }
}

TEST(Search, GridIsInOrder) {
  const Space space({number_knob("a", 5)});
  Proposer proposer(
      space, make_search("grid"), nullptr, [&](uint64_t i) { return digit_features(space, i); },
      [](uint64_t) { return true; }, 0, 0);
  EXPECT_EQ(proposer.propose(3, 0), (std::vector<uint64_t>{0, 1, 2}));
}

TEST(Search, RefusedCandidatesAreNeverProposed) {
  const Space space({number_knob("a", 50)});
  const auto features = [&](uint64_t i) { return i % 3 == 0 ? digit_features(space, i) : std::nullopt; };
  Proposer proposer(
      space, make_search("evolutionary"), nullptr, features, [](uint64_t i) { return i % 2 == 0; }, 1, 0.1);
  std::set<uint64_t> seen;
  for (uint64_t batch = 0; batch < 8; ++batch) {
    for (uint64_t i : proposer.propose(4, batch)) {
      EXPECT_EQ(i % 6, 0u);
      seen.insert(i);
      proposer.tell(i, 1.0);
    }
  }
  EXPECT_EQ(seen.size(), 9u);
  EXPECT_EQ(proposer.refused(), 41u);
}

TEST(Search, SameSeedAndMeasurementsGiveTheSameProposals) {
  const Space space = ten_thousand();
  std::vector<std::vector<uint64_t>> runs;
  for (int run = 0; run < 2; ++run) {
    Proposer proposer(
        space, make_search("evolutionary"), make_cost_model("auto", 5),
        [&](uint64_t i) { return digit_features(space, i); }, [](uint64_t) { return true; }, 5, 0.1);
    std::vector<uint64_t> all;
    for (uint64_t batch = 0; batch < 4; ++batch) {
      for (uint64_t i : proposer.propose(8, batch)) {
        all.push_back(i);
        proposer.tell(i, i % 7 == 0 ? INFINITY : synthetic_seconds(space, i));
      }
    }
    runs.push_back(all);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

TEST(Search, WhatCannotWinIsNeverProposed) {
  const Space space({number_knob("a", 50)});
  const auto describe_one = [](uint64_t i) {
    Description d{{static_cast<float>(i)}, 1.0, i % 2 == 0 ? 0.5 : 2.0, 0};
    return std::optional(d);
  };
  Proposer proposer(space, make_search("evolutionary"), nullptr, describe_one, [](uint64_t) { return true; }, 1, 0.1);
  proposer.tell(0, 1.0);
  std::set<uint64_t> seen;
  for (uint64_t batch = 0; batch < 8; ++batch) {
    for (uint64_t i : proposer.propose(4, batch)) {
      EXPECT_EQ(i % 2, 0u) << "its bound is twice the best time";
      seen.insert(i);
      proposer.tell(i, 1.0);
    }
  }
  EXPECT_EQ(seen.size(), 24u);
  EXPECT_EQ(proposer.pruned(), 25u);
}

// Every second one; a model is asked of all of them.
TEST(Search, WhatNoProcessorHoldsIsNeverProposed) {
  if (!has_xgboost()) GTEST_SKIP() << "built without XGBoost";
  const Space space({number_knob("a", 40)});
  const auto describe_one = [](uint64_t i) {
    return std::optional(Description{{static_cast<float>(i)}, i % 2 == 0 ? 1e-3 : kNever, 0, 0});
  };
  Proposer proposer(
      space, make_search("evolutionary"), make_cost_model("xgb", 0), describe_one, [](uint64_t) { return true; }, 1,
      0.1);
  size_t seen = 0;
  for (uint64_t batch = 0; batch < 8; ++batch)
    for (uint64_t i : proposer.propose(4, batch)) {
      EXPECT_EQ(i % 2, 0u);
      ++seen;
      proposer.tell(i, 1e-3 * static_cast<double>(1 + i));
    }
  EXPECT_EQ(seen, 20u);
}

TEST(Search, OtherKnobsForTheSameLoopsCostNoTrial) {
  const Space space({number_knob("a", 10), number_knob("without_effect", 5)});
  const auto describe_one = [](uint64_t i) {
    return std::optional(Description{{static_cast<float>(i % 10)}, 1.0, 0, 1 + i % 10});
  };
  Proposer proposer(space, make_search("evolutionary"), nullptr, describe_one, [](uint64_t) { return true; }, 1, 0.1);
  std::set<uint64_t> nests;
  for (uint64_t batch = 0; batch < 8; ++batch) {
    for (uint64_t i : proposer.propose(4, batch)) {
      EXPECT_TRUE(nests.insert(i % 10).second);
      proposer.tell(i, 1.0);
    }
  }
  EXPECT_EQ(nests.size(), 10u);
  EXPECT_GT(proposer.alike(), 0u);
}

TEST(Search, AModelThatHasSeenTheBestExpectsNoGain) {
  if (!has_xgboost()) GTEST_SKIP() << "built without XGBoost";
  const Space space({number_knob("a", 12), number_knob("b", 12)});
  Proposer proposer(
      space, make_search("evolutionary"), make_cost_model("xgb", 0),
      [&](uint64_t i) { return digit_features(space, i); }, [](uint64_t) { return true; }, 0, 0.1);
  const auto slower = [](uint64_t i) { return 1.0 + static_cast<double>(i % 12 + i / 12); };
  proposer.tell(143, slower(143));
  bool at_last = false;
  for (uint64_t batch = 0; batch < 8; ++batch) {
    const std::vector<uint64_t> proposal = proposer.propose(8, batch);
    at_last = proposer.expects_no_gain();
    for (uint64_t i : proposal) proposer.tell(i, slower(i));
  }
  EXPECT_TRUE(at_last);
}

TEST(Search, UnknownNamesAreRefused) {
  EXPECT_THROW(make_search("genetic"), Error);
  EXPECT_THROW(make_cost_model("forest", 0), Error);
}

}  // namespace
}  // namespace tw::autotune
