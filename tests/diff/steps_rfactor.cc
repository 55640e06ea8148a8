// Proposals that take reductions apart.
#include "tests/diff/sample_steps.h"

namespace tw::diff {

// Legal while the loops are plain, as they are before any other phase: any loop of a reduction, most often a part of
// one.
void rfactor(Stepper& s, const std::string& name) {
  if (!s.stage(name).is_reduction()) return;
  const auto reductions = [&] {
    std::vector<Axis> axes;
    for (AxisId leaf : s.stage(name).leaves)
      if (s.stage(name).axes[leaf].reduction) axes.push_back(s.stage(name).axes[leaf]);
    return axes;
  };
  if (s.random().chance(75)) {
    const Axis axis = s.random().pick(reductions());
    const Factor f = s.size(axis.extent);
    Split step{name, axis.name, {}, {}, s.random().one_of({Tail::kAuto, Tail::kGuard, Tail::kMask, Tail::kPeel})};
    (s.random().chance(75) ? step.factor : step.nparts) = f;
    if (s.must(step)) s.count_tail(step.tail, axis.extent, f.value);
  }
  const int64_t rank = s.stage(name).data_rank;
  s.must(Rfactor{name, s.random().pick(reductions()).name, s.random().below(2 * rank + 2) - rank - 1});
}

}  // namespace tw::diff
