#include "schedule/counted_terms.h"

#include <algorithm>
#include <map>
#include <optional>

#include "src/ir/walk.h"
#include "src/lower/guard.h"
#include "src/lower/index_math.h"

namespace tw::schedule {

namespace {

constexpr int64_t kSamples = 64;  // places along an axis that are looked at
constexpr size_t kMostAxes = 2;

using Axes = std::vector<AxisId>;  // in their order

// constant + sum of factors[i] * axes[i] < 0
struct Condition {
  Axes axes;
  std::vector<int64_t> factors;
  int64_t constant = 0;
  bool holds(const std::vector<int64_t>& at) const {
    int64_t value = constant;
    for (size_t i = 0; i < factors.size(); ++i) value += factors[i] * at[i];
    return value < 0;
  }
};

const Axis& axis_of(const StageNest& stage, AxisId axis) { return stage.axes[static_cast<size_t>(axis)]; }

AxisId root_of(const StageNest& stage, const ir::Expr& atom) {
  const auto* var = ir::as<ir::VarRef>(atom);
  for (AxisId axis = 0; var && axis < stage.data_rank + stage.reduce_rank; ++axis)
    if (axis_of(stage, axis).var.id() == var->var.id()) return axis;
  return kNone;
}

// Of known axes alone, and not of many.
std::optional<Condition> condition_of(const StageNest& stage, const lower::Guard* guard) {
  if (guard == nullptr || guard->form.overflow || guard->form.terms.size() > kMostAxes) return std::nullopt;
  std::map<AxisId, int64_t> factors;
  for (const ir::Term& term : guard->form.terms) {
    const AxisId axis = root_of(stage, term.atom);
    if (axis == kNone || !axis_of(stage, axis).extent.known() || !axis_of(stage, axis).min.known()) return std::nullopt;
    factors[axis] += term.factor;
  }
  Condition condition{{}, {}, guard->form.constant};
  for (const auto& [axis, factor] : factors) {
    condition.axes.push_back(axis);
    condition.factors.push_back(factor);
  }
  return condition;
}

int64_t step_along(const Axis& axis) { return std::max<int64_t>(1, axis.extent.value() / kSamples); }

// Of the places along these axes the share at which all conditions hold.
double share_of(const StageNest& stage, const Axes& axes, const std::vector<Condition>& conditions) {
  int64_t looked = 0, held = 0;
  std::vector<int64_t> at(axes.size());
  const auto visit = [&](const auto& self, size_t depth) -> void {
    if (depth == axes.size()) {
      ++looked;
      held += std::ranges::all_of(conditions, [&](const Condition& c) { return c.holds(at); });
      return;
    }
    const Axis& axis = axis_of(stage, axes[depth]);
    const int64_t step = step_along(axis);
    for (int64_t place = step / 2; place < axis.extent.value(); place += step) {
      at[depth] = place + axis.min.value();
      self(self, depth + 1);
    }
  };
  visit(visit, 0);
  return looked == 0 ? 1 : static_cast<double>(held) / static_cast<double>(looked);
}

}  // namespace

bool runs_along_lanes(const StageNest& stage, const ir::Expr& condition) {
  for (AxisId axis = 0; axis < stage.data_rank + stage.reduce_rank; ++axis) {
    if (!ir::uses_var(condition, axis_of(stage, axis).var)) continue;
    for (const AxisId leaf : leaves_from(stage, axis))
      if (axis_of(stage, leaf).annotation == Annotation::kVectorized) return true;
  }
  return false;
}

CountedTerms counted_terms(const StageNest& stage, const ir::Reduce& reduce) {
  CountedTerms terms;
  if (!reduce.where) return terms;
  lower::GuardReader reader;
  std::map<Axes, std::vector<Condition>> of_loops, of_lanes;  // those of the same axes
  for (const ir::Expr& c : lower::conjuncts(reduce.where)) {
    const bool masks = runs_along_lanes(stage, c);
    terms.masks = terms.masks || masks;
    const std::optional<Condition> condition = condition_of(stage, reader.read(c));
    terms.exact = terms.exact && condition && std::ranges::all_of(condition->axes, [&](AxisId axis) {
                    return step_along(axis_of(stage, axis)) == 1;
                  });
    if (condition) (masks ? of_lanes : of_loops)[condition->axes].push_back(*condition);
  }
  for (const auto& [axes, conditions] : of_loops) terms.visited *= share_of(stage, axes, conditions);
  terms.counted = terms.visited;
  for (const auto& [axes, conditions] : of_lanes) terms.counted *= share_of(stage, axes, conditions);
  return terms;
}

}  // namespace tw::schedule
