// Tasks: the trace gives what the template would give, and bad templates are refused.
#include <gtest/gtest.h>

#include <cmath>

#include "autotune/model/features.h"
#include "autotune/space/knobs.h"
#include "autotune/space/trace.h"
#include "src/support/rng.h"
#include "tests/unit/autotune_templates.h"

namespace tw::autotune {
namespace {

using testing::dense_task;
using testing::dense_template;

Task simple(const std::function<Scheduled(Config&)>& f) { return Task("t", "[]", f, Target::host()); }

TEST(Task, TheTraceGivesWhatTheTemplateGives) {
  const Task task = dense_task(257, 513, 1025);
  EXPECT_FALSE(task.branching());
  support::Rng rng(3);
  int compared = 0;
  for (int n = 0; n < 50; ++n) {
    const uint64_t i = rng.below(task.space().size());
    Config cfg(task.space(), task.space().digits(i));
    try {
      const Scheduled direct = dense_template(cfg, 257, 513, 1025);
      EXPECT_EQ(to_json(resolved(direct.schedule.steps())), to_json(task.steps(i).value_or_throw()));
      ++compared;
    } catch (const Error& e) {
      EXPECT_FALSE(task.candidate(i).ok()) << e.what();
    }
  }
  EXPECT_GT(compared, 40);
}

TEST(Task, TheTemplateRunsTwiceHoweverManyCandidatesThereAre) {
  int runs = 0;
  const Task task = simple([&](Config& cfg) {
    ++runs;
    return dense_template(cfg, 32, 48, 16);
  });
  for (uint64_t i = 0; i < task.space().size(); i += 5) (void)task.candidate(i);
  EXPECT_EQ(runs, 2);
}

TEST(Task, ATemplateThatLooksAtAValueRunsForEachCandidate) {
  const Task task = simple([&](Config& cfg) {
    const testing::Dense d = testing::declare_dense(32, 48, 16);
    schedule::Schedule s({d.D});
    cfg.define_knob("inline", {0, 1});
    if (cfg.value("inline") == 1) s.apply(schedule::Parallel{"D", "i"});
    return Scheduled{s, {d.A, d.B, d.bias, d.D}};
  });
  EXPECT_TRUE(task.branching());
  EXPECT_EQ(task.steps(0).value_or_throw().size(), 0u);
  EXPECT_EQ(task.steps(1).value_or_throw().size(), 1u);
}

TEST(Task, ATemplateThatLooksAtAValueRunsOncePerValue) {
  int runs = 0;
  const Task task = simple([&](Config& cfg) {
    ++runs;
    cfg.define_knob("parallel", {0, 1, 2});
    Scheduled s = dense_template(cfg, 32, 48, 16);
    if (cfg.value("parallel") == 1) s.schedule.apply(schedule::Parallel{"D", "i.o"});
    return s;
  });
  support::Rng rng(1);
  for (int n = 0; n < 200; ++n) {
    const uint64_t i = rng.below(task.space().size());
    const auto s = task.steps(i);
    if (!s) continue;
    EXPECT_EQ(std::holds_alternative<schedule::Parallel>(s->back().kind), task.space().value(i, 0).numbers[0] == 1);
  }
  EXPECT_LT(runs, 12);
}

TEST(Task, BranchingThatCannotBeSeenIsFoundByTheSecondRun) {
  const Task task = simple([&](Config& cfg) {
    const testing::Dense d = testing::declare_dense(32, 48, 16);
    schedule::Schedule s({d.D});
    cfg.define_knob("n", {0, 1, 2, 3, 4, 5, 6, 7});
    if (cfg.chosen("n").numbers[0] > 0) s.apply(schedule::Parallel{"D", "i"});
    return Scheduled{s, {d.A, d.B, d.bias, d.D}};
  });
  EXPECT_TRUE(task.branching());
}

TEST(Task, HashIsOfTheComputation) {
  EXPECT_EQ(dense_task(32, 48, 16).hash(), dense_task(32, 48, 16).hash());
  EXPECT_NE(dense_task(32, 48, 16).hash(), dense_task(32, 48, 17).hash());
}

TEST(Task, BadTemplatesAreRefused) {
  int count = 0;
  const auto unsteady = [&](Config& cfg) {
    const testing::Dense d = testing::declare_dense(32 + count++, 48, 16);
    return Scheduled{schedule::Schedule({d.D}), {d.A, d.B, d.bias, d.D}};
  };
  EXPECT_THROW(simple(unsteady), Error);
  const auto incomplete = [](Config&) {
    const testing::Dense d = testing::declare_dense(32, 48, 16);
    return Scheduled{schedule::Schedule({d.D}), {d.A, d.B, d.D}};
  };
  EXPECT_THROW(simple(incomplete), Error);
  const auto illegal = [](Config& cfg) {
    const testing::Dense d = testing::declare_dense(32, 48, 16);
    schedule::Schedule s({d.D});
    s.apply(schedule::Parallel{"C", "k"});
    return Scheduled{s, {d.A, d.B, d.bias, d.D}};
  };
  EXPECT_THROW(simple(illegal), Error);
}

TEST(Features, HaveNamesAreFiniteAndTellCandidatesApart) {
  const Task task = dense_task(257, 513, 1025);
  const Machine machine = schedule::describe_machine(task.target(), {.hardware = host_hardware(), .threads = 2});
  support::Rng rng(5);
  std::vector<float> last;
  int legal = 0, same = 0;
  for (int n = 0; n < 200; ++n) {
    const auto s = task.candidate(rng.below(task.space().size()));
    if (!s) continue;
    ++legal;
    const std::vector<float> f = nest_features(s->schedule, machine);
    ASSERT_EQ(f.size(), nest_feature_names().size());
    for (size_t i = 0; i < f.size(); ++i) EXPECT_TRUE(std::isfinite(f[i])) << nest_feature_names()[i];
    same += f == last;
    last = f;
  }
  EXPECT_GT(legal, 100);
  EXPECT_LT(same, 5);
}

TEST(Features, ArithmeticOfAMatmul) {
  const testing::Dense d = testing::declare_dense(8, 16, 32);
  EXPECT_EQ(arithmetic_of({d.D}), 8 * 16 * 32 * 2 + 8 * 16 * 2);
}

}  // namespace
}  // namespace tw::autotune
