// Fewer Steps, then fewer stages, then smaller extents, as long as the sample fails.
#include <algorithm>

#include "tests/diff/sampler.h"

namespace tw::diff {

namespace {

using Fails = std::function<bool(const Sample&)>;

// The expression of a recipe with those of the Steps that still apply.
Sample with_steps(const Recipe& recipe, const std::vector<schedule::Step>& steps) {
  Sample sample = draw_expression(recipe);
  if (sample.outputs.empty()) return sample;
  schedule::Schedule s(sample.outputs);
  for (const schedule::Step& step : steps) {
    schedule::Schedule next = s;
    if (next.try_apply(step).ok() && next.check().ok()) s = next;
  }
  sample.steps = s.steps();
  return sample;
}

bool shrink(Sample& smallest, const Recipe& recipe, const Fails& fails) try {
  Sample smaller = with_steps(recipe, smallest.steps);
  if (smaller.outputs.empty() || !fails(smaller)) return false;
  smallest = std::move(smaller);
  return true;
} catch (const std::exception&) {  // an expression that has no meaning with these extents
  return false;
}

bool fewer_steps(Sample& smallest, const Fails& fails) {
  bool any = false;
  for (size_t i = smallest.steps.size(); i-- > 0;) {
    Sample fewer = smallest;
    fewer.steps.erase(fewer.steps.begin() + static_cast<int64_t>(i));
    const auto replayed = schedule::Schedule::from_steps(fewer.outputs, fewer.steps);
    if (!replayed.ok() || !replayed->check().ok() || !fails(fewer)) continue;
    smallest = fewer;
    any = true;
  }
  return any;
}

bool fewer_stages(Sample& smallest, const Fails& fails) {
  bool any = false;
  for (int stages = 1; stages < smallest.stages; ++stages) {
    Recipe recipe = smallest.recipe;
    recipe.stages = stages;
    if (shrink(smallest, recipe, fails)) any = true;
  }
  for (int i = 0; i + 1 < smallest.stages; ++i) {
    Recipe recipe = smallest.recipe;
    if (recipe.cut.insert(i).second && shrink(smallest, recipe, fails)) any = true;
  }
  return any;
}

bool smaller_extents(Sample& smallest, const Fails& fails) {
  bool any = false;
  for (size_t i = 0; i < smallest.recipe.extents.size(); ++i) {
    for (int64_t extent : {1, 2, 3, 4, 5, 7, 8}) {
      Recipe recipe = smallest.recipe;
      if (i >= recipe.extents.size() || extent >= recipe.extents[i]) break;
      recipe.extents[i] = extent;
      if (!shrink(smallest, recipe, fails)) continue;
      any = true;
      break;
    }
  }
  return any;
}

}  // namespace

Sample minimise(const Sample& sample, const Fails& fails) {
  Sample smallest = sample;
  for (int round = 0; round < 3; ++round) {
    bool any = fewer_steps(smallest, fails);
    any = fewer_stages(smallest, fails) || any;
    any = smaller_extents(smallest, fails) || any;
    if (!any) break;
  }
  return smallest;
}

}  // namespace tw::diff
