// A trace and the Steps of a candidate.
#include "autotune/space/trace.h"

#include <algorithm>

#include "schedule/factors.h"

namespace tw::autotune {

using schedule::Factor;
using schedule::Step;

namespace {

size_t knob_position(const std::vector<Knob>& knobs, const std::string& name) {
  const auto at = std::find_if(knobs.begin(), knobs.end(), [&](const Knob& k) { return k.name == name; });
  TW_CHECK(at != knobs.end(), "a step refers to a knob that is not in the space");
  return static_cast<size_t>(at - knobs.begin());
}

bool is_choice(const Knob& knob) { return knob.kind == KnobKind::kReorder || knob.kind == KnobKind::kAnnotate; }

}  // namespace

std::vector<Step> steps_of_choice(const Knob& knob, const KnobValue& value, const std::string& stage,
                                  const std::vector<std::string>& axes) {
  std::vector<Step> steps;
  if (knob.kind == KnobKind::kReorder) {
    std::vector<std::string> order;
    for (int64_t i : value.numbers) order.push_back(axes.at(static_cast<size_t>(i)));
    if (order.size() > 1) steps.push_back(schedule::Reorder{stage, order});
  } else if (knob.kind == KnobKind::kAnnotate) {
    for (size_t i = 0; i < value.numbers.size(); ++i) {
      const auto annotation = static_cast<AnnotateChoice>(value.numbers[i]);
      if (annotation == AnnotateChoice::kUnroll) steps.push_back(schedule::Unroll{stage, axes.at(i)});
      if (annotation == AnnotateChoice::kVectorize) steps.push_back(schedule::Vectorize{stage, axes.at(i)});
    }
  }
  return steps;
}

Result<Trace> make_trace(const Config& config, const std::vector<Step>& steps) {
  const auto refuse = [](const char* why) { return Diagnostic{ErrorKind::kTune, why, {}, {}}; };
  Trace trace{steps, config.marks()};
  std::sort(trace.marks.begin(), trace.marks.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t end = 0;
  for (const Config::Mark& mark : trace.marks) {
    if (mark.first < end || mark.last > steps.size() || mark.last < mark.first)
      return refuse("knobs were applied to another schedule");
    end = mark.last;
    const Knob& knob = config.knobs()[mark.knob];
    const KnobValue& value = knob.values[config.digits()[mark.knob]];
    if (is_choice(knob)) {
      const std::vector<Step> expected = steps_of_choice(knob, value, mark.stage, mark.axes);
      if (!std::equal(expected.begin(), expected.end(), steps.begin() + static_cast<ptrdiff_t>(mark.first),
                      steps.begin() + static_cast<ptrdiff_t>(mark.last))) {
        return refuse("knobs were applied to another schedule");
      }
    }
  }
  for (const Step& step : steps)
    for_each_factor(step, [&](const Factor& f) {
      if (f.is_reference()) knob_position(config.knobs(), f.knob);
    });
  return trace;
}

size_t common_steps(const Trace& trace) {
  const size_t end = trace.marks.empty() ? trace.steps.size() : trace.marks.front().first;
  for (size_t i = 0; i < end; ++i) {
    bool refers = false;
    for_each_factor(trace.steps[i], [&](const Factor& f) { refers = refers || f.is_reference(); });
    if (refers) return i;
  }
  return end;
}

std::vector<Step> instantiate(const Trace& trace, const Space& space, const Digits& digits) {
  const auto chosen = [&](size_t k) -> const KnobValue& { return space.knobs()[k].values[digits[k]]; };
  std::vector<Step> out;
  out.reserve(trace.steps.size() + trace.marks.size());
  const auto issue = [&](const Step& traced) -> Step& {
    Step& step = out.emplace_back(traced);
    for_each_factor(step, [&](Factor& f) {
      if (f.is_reference())
        f = Factor(chosen(knob_position(space.knobs(), f.knob)).numbers.at(static_cast<size_t>(f.part)));
    });
    return step;
  };
  size_t at = 0;
  for (const Config::Mark& mark : trace.marks) {
    while (at < mark.first) issue(trace.steps[at++]);
    const Knob& knob = space.knobs()[mark.knob];
    if (is_choice(knob)) {
      for (Step& step : steps_of_choice(knob, chosen(mark.knob), mark.stage, mark.axes)) out.push_back(std::move(step));
      at = mark.last;
      continue;
    }
    while (at < mark.last) {
      Step& step = issue(trace.steps[at++]);
      if (auto* split = std::get_if<schedule::Split>(&step.kind)) split->tail = chosen(mark.knob).tail;
    }
  }
  while (at < trace.steps.size()) issue(trace.steps[at++]);
  return out;
}

std::vector<Step> resolved(std::vector<Step> steps) {
  for (Step& step : steps)
    for_each_factor(step, [](Factor& f) {
      if (f.is_reference()) f = Factor(f.value);
    });
  return steps;
}

}  // namespace tw::autotune
