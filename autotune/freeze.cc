// From a task to what is built of it, and whether a log or a source says something else today.
#include <algorithm>

#include "autotune/frozen/record_choice.h"
#include "autotune/frozen/text.h"
#include "autotune/log/history.h"
#include "autotune/task_hash.h"
#include "src/support/release.h"
#include "tensorwright/build.h"

namespace tw::aot {

using autotune::Scheduled;
using autotune::Task;

namespace {

Frozen lowered(const schedule::Schedule& s, const std::vector<te::Tensor>& args, const Target& target,
               const std::string& name, const std::vector<te::ScalarArgument>& scalars) {
  if (target.kind != "llvm" && target.kind != "cuda")
    throw Error(
        Diagnostic{ErrorKind::kTarget,
                   "freeze: kernels are frozen for targets llvm and cuda, not for \"" + target.to_string() + "\"",
                   {},
                   {}});
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
  const Scheduled s = best ? task.replay(best->trial).value_or_throw()
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
  f.hash = autotune::task_hash(s.outputs(), args);
  f.source = options.source;
  return f;
}

std::optional<std::string> stale(const Frozen& f, const std::string& log, bool require_tuned) {
  const auto says = [&](const std::string& what, const std::string& which) {
    return subject(f) + ": " + what + "; freeze it again: " + freeze_command(f, which);
  };
  if (!f.record && log.empty())
    return require_tuned ? std::optional(says("it was frozen without a record", "LOG")) : std::nullopt;
  if (log.empty()) return std::nullopt;
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
