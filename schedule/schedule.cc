// The public value: a nest and the Steps that made it.
#include "tensorwright/schedule.h"

#include "schedule/check.h"
#include "schedule/loop_nest.h"
#include "schedule/refuse.h"
#include "src/support/deep_stack.h"

namespace tw::schedule {

TW_DEFINE_VALUE(Step);
TW_DEFINE_VALUE(Schedule);

Schedule::Schedule(std::vector<te::Tensor> outputs) {
  if (outputs.empty()) throw Error(refuse("create_schedule", "outputs must name at least one tensor"));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i])
      throw Error(refuse("create_schedule", "output " + std::to_string(i) + " must be a tensor, not an empty handle"));
  nest_ = std::make_shared<const LoopNest>(std::move(outputs));
}

void Schedule::apply(Step step) { (void)try_apply(std::move(step)).value_or_throw(); }

Status Schedule::try_apply(Step step) {
  TW_TRY(LoopNest next, schedule::apply(*nest_, step));
  nest_ = std::make_shared<const LoopNest>(std::move(next));
  steps_.push_back(std::move(step));
  return Unit{};
}

Status Schedule::check() const {
  return support::with_deep_stack([&] { return schedule::check(*nest_, steps_); });
}

const std::vector<te::Tensor>& Schedule::outputs() const { return nest_->outputs(); }

Result<Schedule> Schedule::from_steps(std::vector<te::Tensor> outputs, const std::vector<Step>& steps) {
  Schedule schedule(std::move(outputs));
  schedule.steps_.reserve(steps.size());
  for (const Step& step : steps) {
    TW_TRY([[maybe_unused]] Unit applied, schedule.try_apply(step));
  }
  return schedule;
}

}  // namespace tw::schedule
