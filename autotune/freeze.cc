// From a task to what is built of it, and whether a log or a source says something else today.
#include <algorithm>

#include "autotune/computation_hash.h"
#include "autotune/frozen/by_size.h"
#include "autotune/frozen/record_choice.h"
#include "autotune/frozen/text.h"
#include "autotune/log/history.h"
#include "autotune/size_table.h"
#include "src/support/release.h"
#include "tensorwright/build.h"

namespace tw::aot {

using autotune::Scheduled;
using autotune::Task;

namespace {

Frozen lowered(const schedule::Schedule& s, const std::vector<te::Tensor>& args, const Target& target,
               const std::string& name, const std::vector<te::ScalarArgument>& scalars) {
  Frozen f;
  f.name = name;
  f.target = target;
  f.steps = s.steps();
  f.program = lowered_program(s, args, target, name, scalars);
  f.packers = pack_programs(s, args, target, f.program);
  f.release = support::kRelease;
  return f;
}

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g ms", seconds * 1e3);
  return text;
}

}  // namespace

Frozen freeze(const Task& task, const FreezeOptions& options) {
  const std::string name = options.name.empty() ? autotune::kernel_name(task) : options.name;
  std::optional<RecordChoice::Best> best;
  if (!options.log.empty()) {
    const RecordChoice choice(options.log, task.hash(), task.target());
    best = choice.best("freeze " + autotune::call_text(task.name(), task.args()) + ": " + options.log, options.hardware,
                       options.threads);
    if (!best && !options.allow_default) autotune::no_record(task, options.log, autotune::load_log(options.log));
  }
  const Scheduled s = best ? task.built(task.replay(best->trial).value_or_throw()).value_or_throw()
                           : Scheduled{default_schedule(task.outputs(), task.target()), task.arguments()};
  Frozen f = lowered(s.schedule, s.args, task.target(), name, {});
  f.task = task.name();
  f.args = task.args();
  f.hash = task.hash();
  f.source = options.source;
  if (best) {
    f.record = best->record;
    f.steps = best->trial.steps;
  }
  return f;
}

Frozen freeze(const schedule::Schedule& s, const std::vector<te::Tensor>& args, const Target& target,
              const FreezeOptions& options, const std::vector<te::ScalarArgument>& scalars) {
  Frozen f = lowered(s, args, target, options.name.empty() ? "kernel" : options.name, scalars);
  f.args = "[]";
  f.hash = autotune::computation_hash(s.outputs(), args);
  f.source = options.source;
  return f;
}

Frozen freeze_by_size(const std::string& size, const std::vector<SizedSchedule>& schedules,
                      const schedule::Schedule& otherwise, const std::vector<te::Tensor>& args, const Target& target,
                      const FreezeOptions& options, const std::vector<te::ScalarArgument>& scalars) {
  const auto refuse = [](const std::string& what) {
    throw Error(Diagnostic{ErrorKind::kArgument, "by size: " + what, {}, {}});
  };
  Frozen f = freeze(otherwise, args, target, options, scalars);
  f.size = size;
  int64_t before = 0;
  bool packs = !f.packers.empty();
  std::vector<std::pair<int64_t, ir::Program>> bounded;
  for (const SizedSchedule& one : schedules) {
    if (one.up_to <= before)
      refuse("bounds must be positive and ascend, not " + std::to_string(one.up_to) + " after " +
             std::to_string(before));
    before = one.up_to;
    const Frozen here = freeze(one.schedule, args, target, options, scalars);
    packs = packs || !here.packers.empty();
    f.sized.push_back({one.up_to, here.steps});
    bounded.emplace_back(one.up_to, here.program);
  }
  if (bounded.empty()) refuse("there must be a schedule up to some size");
  if (packs) refuse("what packs inputs has one schedule, as they are packed once");
  f.program = by_size(size, bounded, f.program).value_or_throw();
  return f;
}

namespace {

[[noreturn]] void no_sizes(const std::string& name, const Target& target, const std::string& log) {
  throw Error(Diagnostic{ErrorKind::kNoRecord,
                         "no tuning record for " + name + " of any size on " + target.to_string() + " in " + log,
                         {},
                         {"tune it with: tw.autotune.tune(tensors, sizes={n: [1, 8, 64, 512]}, target=\"" +
                          target.to_string() + "\", log=\"" + log + "\")"}});
}

}  // namespace

Frozen freeze_any_size(const std::vector<te::Tensor>& args, const Target& target, const FreezeOptions& options,
                       const std::vector<te::ScalarArgument>& scalars) {
  const std::vector<te::Tensor> outputs = autotune::outputs_among(args);
  const auto table = options.log.empty() ? std::nullopt
                                         : size_table(options.log, autotune::computation_hash(outputs, args), target,
                                                      options.hardware, options.threads);
  if (!table && !options.log.empty() && !options.allow_default) no_sizes(options.name, target, options.log);
  if (!table) return freeze(default_schedule(outputs, target), args, target, options, scalars);
  const std::vector<FrozenRange> ranges = joined(table->sizes);
  std::vector<SizedSchedule> schedules;
  for (const FrozenRange& range : ranges)
    schedules.push_back({range.up_to, schedule::Schedule::from_steps(outputs, range.steps).value_or_throw()});
  const schedule::Schedule last = std::move(schedules.back().schedule);
  schedules.pop_back();
  Frozen f = schedules.empty() ? freeze(last, args, target, options, scalars)
                               : freeze_by_size(table->size, schedules, last, args, target, options, scalars);
  f.size = table->size;
  f.at_size = ranges.back().up_to;
  f.others = table->others;
  f.record = ranges.back().record;
  for (size_t i = 0; i < f.sized.size(); ++i) f.sized[i].record = ranges[i].record;
  return f;
}

namespace {

// Of a kernel that was frozen by records of sizes, or that could be.
std::optional<std::string> stale_by_sizes(const Frozen& f, const std::string& log) {
  std::optional<SizeTable> table;
  try {
    table = size_table(log, f.hash, f.target, f.record ? f.record->hardware : "", f.record ? f.record->threads : 0);
  } catch (const Error& e) {
    return e.diagnostic().what;
  }
  if (!f.record)
    return table ? std::optional("it was frozen without a record, and " + log + " has some") : std::nullopt;
  if (!table) return log + " has no record of it; tune it with that log";
  const std::vector<FrozenRange> frozen = ranges_of(f);
  for (const FrozenRange& best : table->sizes) {
    const auto covers = [&](const FrozenRange& range) { return best.up_to <= range.up_to || range == frozen.back(); };
    if (std::ranges::find_if(frozen, covers)->steps == best.steps) continue;
    return "the best record of " + log + " for " + table->size + " = " + std::to_string(best.up_to) + " takes " +
           milliseconds(best.record->seconds) + " and is another than the frozen one";
  }
  for (const FrozenRange& range : frozen)
    if (std::ranges::find(table->sizes, range.up_to, &FrozenRange::up_to) == table->sizes.end())
      return log + " has no record of it for " + f.size + " = " + std::to_string(range.up_to);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> stale(const Frozen& f, const std::string& log, bool require_tuned) {
  const auto says = [&](const std::string& what, const std::string& which) {
    return subject(f) + ": " + what + "; freeze it again: " + freeze_command(f, which);
  };
  if (!f.record && log.empty())
    return require_tuned ? std::optional(says("it was frozen without a record", "LOG")) : std::nullopt;
  if (log.empty()) return std::nullopt;
  if (is_by_sizes(f) || f.task.empty()) {
    if (const auto what = stale_by_sizes(f, log)) return says(*what, log);
    if (f.record || !require_tuned) return std::nullopt;
  }
  const RecordChoice choice(log, f.hash, f.target);
  if (!f.record && choice.empty() && !require_tuned) return std::nullopt;
  if (choice.empty()) return says(log + " has no record of it; tune it with that log", log);
  if (!f.record) return says("it was frozen without a record, and " + log + " has some", log);
  std::optional<RecordChoice::Best> best;
  try {
    best = choice.best(log, f.record->hardware, f.record->threads);
  } catch (const Error& e) {
    return says(e.diagnostic().what, log);
  }
  if (!best) return says(log + " has no record of it that succeeded", log);
  if (best->trial.steps == f.steps) return std::nullopt;
  return says("the best record of " + log + " takes " + milliseconds(best->record.seconds) +
                  " and is another than the frozen one of " + milliseconds(f.record->seconds),
              log);
}

std::optional<std::string> stale_source(const Frozen& f, const std::string& hash) {
  if (hash == f.hash) return std::nullopt;
  return subject(f) + ": its source declares another computation today; freeze it again: " + freeze_command(f);
}

}  // namespace tw::aot
