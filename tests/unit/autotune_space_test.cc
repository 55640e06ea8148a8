// Knobs and spaces: which values there are, indices, text and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "autotune/space/knobs.h"

namespace tw::autotune {
namespace {

bool has(const std::vector<KnobValue>& values, const std::vector<int64_t>& inner) {
  return std::any_of(values.begin(), values.end(), [&](const KnobValue& v) {
    return std::equal(v.numbers.begin() + 1, v.numbers.end(), inner.begin(), inner.end());
  });
}

TEST(Knobs, FactorsHoldRegisterTilesThatDoNotDivide) {
  const auto rows = split_values("rows", 257, {.outputs = 3});
  for (int64_t r : {6, 12, 14}) EXPECT_TRUE(has(rows, {1, r})) << r;
  const auto columns = split_values("columns", 513, {.outputs = 3});
  for (int64_t c : {16, 32, 64}) EXPECT_TRUE(has(columns, {2, c})) << c;
  EXPECT_TRUE(has(columns, {19, 27}));
  for (const KnobValue& v : columns) EXPECT_GE(v.numbers[0] * v.numbers[1] * v.numbers[2], 513);
}

TEST(Knobs, EveryValueIsDistinctAndTheFirstSplitsNothing) {
  for (int64_t extent : {1, 2, 7, 64, 1025}) {
    for (SplitPolicy policy : {SplitPolicy::kFactors, SplitPolicy::kPower2, SplitPolicy::kVerbose}) {
      const auto values = split_values("t", extent, {.outputs = 3, .policy = policy});
      EXPECT_EQ(values[0].numbers, (std::vector<int64_t>{extent, 1, 1}));
      std::set<std::vector<int64_t>> seen;
      for (const KnobValue& v : values) EXPECT_TRUE(seen.insert(v.numbers).second);
    }
  }
}

TEST(Knobs, MaxFactorFilterAndTails) {
  for (const KnobValue& v : split_values("t", 100, {.outputs = 2, .max_factor = 8})) EXPECT_LE(v.numbers[1], 8);
  const auto filtered =
      split_values("t", 100, {.outputs = 2, .filter = [](const auto& size) { return size[1] == 25; }});
  ASSERT_EQ(filtered.size(), 1u);
  const auto tails = split_values("t", 100,
                                  {.outputs = 2,
                                   .policy = SplitPolicy::kCandidate,
                                   .tails = {ir::Tail::kMask, ir::Tail::kPeel},
                                   .candidates = {{-1, 25}, {-1, 16}}});
  EXPECT_EQ(tails.size(), 3u);  // 25 divides and needs no strategy
  EXPECT_EQ(tails[1].numbers, (std::vector<int64_t>{7, 16}));
}

TEST(Knobs, BadDefinitionsAreRefused) {
  EXPECT_THROW(split_values("t", 0, {}), Error);
  EXPECT_THROW(split_values("t", 8, {.outputs = 0}), Error);
  EXPECT_THROW(split_values("t", 8, {.outputs = 2, .filter = [](const auto&) { return false; }}), Error);
  EXPECT_THROW(split_values("t", 8, {.outputs = 2, .policy = SplitPolicy::kCandidate, .candidates = {{4}}}), Error);
  EXPECT_THROW(reorder_values("o", 2, {{0, 0}}), Error);
  EXPECT_THROW(annotate_values("a", 2, "vec"), Error);
  Config cfg;
  cfg.define_knob("k", {1, 2});
  EXPECT_THROW(cfg.define_knob("k", {1, 3}), Error);
  EXPECT_THROW(cfg.define_knob("", {1}), Error);
  EXPECT_THROW(cfg.define_knob("e", {}), Error);
  EXPECT_THROW(cfg.factor("none"), Error);
}

TEST(Knobs, AnnotationsGoFromTheInnermostAxisOutwards) {
  const auto values = annotate_values("a", 2, "try_unroll_vec");
  const auto plan = [](AnnotateChoice a, AnnotateChoice b) {
    return KnobValue{{static_cast<int64_t>(a), static_cast<int64_t>(b)}, ir::Tail::kAuto, ""};
  };
  EXPECT_EQ(values[0], plan(AnnotateChoice::kNone, AnnotateChoice::kNone));
  for (const auto& wanted : {plan(AnnotateChoice::kNone, AnnotateChoice::kVectorize),
                             plan(AnnotateChoice::kUnroll, AnnotateChoice::kVectorize),
                             plan(AnnotateChoice::kUnroll, AnnotateChoice::kUnroll)}) {
    EXPECT_NE(std::find(values.begin(), values.end(), wanted), values.end());
  }
}

Space mixed() {
  Config cfg;
  cfg.define_split("tile", 100, {.outputs = 2, .tails = {ir::Tail::kAuto, ir::Tail::kMask}}, "j");
  cfg.define_knob_json("mode", {"\"fast\"", "true", "null", "2.5", "7"});
  cfg.define_reorder("order", {"i", "j", "k"});
  cfg.define_annotate("note", {"i", "j"});
  return Space(cfg.knobs());
}

TEST(Space, IndexDigitsAndTextRoundTrip) {
  const Space space = mixed();
  for (uint64_t i = 0; i < space.size(); i += 37) {
    EXPECT_EQ(space.index(space.digits(i)), i);
    const auto found = space.find(space.describe(i));
    ASSERT_TRUE(found.ok()) << space.describe(i);
    EXPECT_EQ(*found, i);
  }
  EXPECT_THROW(space.digits(space.size()), Error);
  EXPECT_FALSE(space.find("{}").ok());
  EXPECT_FALSE(space.find("nonsense").ok());
  EXPECT_NE(to_string(space).find("tile: split of j"), std::string::npos);
}

TEST(Space, WithoutKnobsHasOnePoint) {
  const Space space{std::vector<Knob>{}};
  EXPECT_EQ(space.size(), 1u);
  EXPECT_EQ(space.describe(0), "{}");
  EXPECT_TRUE(space.find("{}").ok());
}

TEST(Space, TooManyPointsAreRefused) {
  std::vector<Knob> knobs;
  for (int k = 0; k < 8; ++k) {
    Knob knob{"k" + std::to_string(k), KnobKind::kValue, {}, {}};
    for (int i = 0; i < 256; ++i) knob.values.push_back(KnobValue{{i}, ir::Tail::kAuto, ""});
    knobs.push_back(knob);
  }
  EXPECT_THROW(Space{knobs}, Error);
}

}  // namespace
}  // namespace tw::autotune
