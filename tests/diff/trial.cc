#include "tests/diff/trial.h"

#include "src/ir/verify.h"
#include "src/lower/pipeline.h"

namespace tw::diff {

namespace {

constexpr int64_t kMostStoresEmulated = 20'000;  // emulated arithmetic takes 200 times as long

}  // namespace

std::string at_sizes(const Sample& sample, const std::vector<int64_t>& sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i) text += sample.symbols[i].name() + " = " + std::to_string(sizes[i]) + ", ";
  return text;
}

std::string each_run(Trial& t, const std::function<std::string(Run&)>& judge) {
  for (Run& run : t.runs) {
    const std::string found = judge(run);
    if (!found.empty()) return at_sizes(t.sample, run.sizes) + found;
  }
  return "";
}

std::string means_the_definition(Trial& t, const ir::Program& program, const ir::InterpOptions& options) {
  std::vector<Run> judged;
  const std::string found = each_run(t, [&](Run& run) -> std::string {
    const auto got = t.packing.run(program, run.inputs, run.sizes, options);
    if (!got.ok() && got.error().what == ir::stopped_after(options.max_steps)) return "";
    if (!run.refused && !got.ok()) return got.error().render();
    judged.push_back(run);
    if (run.refused) return not_refused(got);
    judged.back().got = *got;
    return difference(t.sample, run.expected, *got);
  });
  t.left_out = static_cast<int64_t>(t.runs.size() - judged.size());
  if (found.empty()) t.runs = std::move(judged);
  return found;
}

Trial trial_for(const Trial& t, const Target& target, const char* oracle) {
  Trial other = t;
  other.lowered = lower::run_pipeline(lower::passes_for(t.scheduled, lower::cpu_passes()), t.scheduled, target);
  const Status valid = ir::verify(other.lowered);
  std::string text = valid.ok() ? means_the_definition(other, other.lowered, {.max_steps = kMostStoresEmulated})
                                : valid.error().render();
  if (text.empty()) text = lowered_wild(other);
  if (!text.empty()) other.finding = {oracle, "lowered: " + text};
  return other;
}

std::vector<Call> calls_of(const Trial& t) {
  std::vector<Call> calls;
  for (const Run& run : t.runs)
    for (const auto& [inputs, expected] : {std::pair{&run.inputs, &run.got}, std::pair{&run.wild, &run.wild_got}})
      if (!inputs->empty())
        calls.push_back({run, *inputs, *expected, t.packing.packed(*inputs, run.sizes),
                         scalar_values(t.sample, t.lowered.scalars, run.sizes)});
  return calls;
}

std::vector<Argument> arguments_of(const Sample& sample) {
  std::vector<Argument> arguments;
  for (const te::Tensor& t : sample.args) arguments.push_back({t.name(), t.op()->is_placeholder()});
  return arguments;
}

std::string judged(const Trial& t, const Call& call, Ran ran) {
  if (call.run.refused) return ran.code == TW_ERROR_SIZES && ran.memory == call.packed ? "" : "sizes were not refused";
  if (!ran.damage.empty()) return ran.damage;
  ran.memory = t.packing.unpacked(std::move(ran.memory), call.packed, call.inputs);
  const std::string found = bit_difference(t.sample, call.expected, ran.memory);
  return (!found.empty() && &call.inputs == &call.run.wild ? "any bits: " : "") + found;
}

}  // namespace tw::diff
