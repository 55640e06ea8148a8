#include "autotune/report/report.h"

#include <algorithm>
#include <set>

#include "autotune/log/history.h"
#include "autotune/log/stock.h"
#include "autotune/log/winner.h"
#include "codegen/backends.h"
#include "codegen/c/source.h"
#include "codegen/cuda/source.h"
#include "schedule/to_python.h"

namespace tw::autotune {
namespace {

bool same_steps(const Trial& a, const Trial& b) { return a.steps == b.steps; }

// Where each candidate lies: what its own loops move from memory, rather than the least that any would.
void place_candidates(Subject& subject, const Task* task, const MachineDescription& where) {
  const Roofline& r = subject.roofline;
  if (r.flops <= 0 || r.peak <= 0) return;
  const Target target = Target::parse(subject.target).value_or_throw();
  const schedule::Machine machine = schedule::describe_machine(target, where);
  for (const Trial& t : subject.trials) {
    if (!t.ok()) continue;
    double moved = 0;
    if (task != nullptr) {
      if (const Result<Scheduled> s = task->replay(t)) {
        for (const schedule::NestExplanation& nest : codegen::backend_of(target).explain(s->schedule, machine).nests)
          moved += nest.moved[schedule::kDram];
      }
    }
    const double intensity = moved > 0 ? r.flops / moved : r.intensity();
    if (intensity <= 0) continue;
    subject.points.push_back({intensity, r.flops / t.seconds, subject.best && same_steps(t, *subject.best)});
  }
}

std::string text_of(const std::vector<ir::Program>& programs, const Target& target) {
  return target.abilities.device ? codegen::cuda_source(programs, target).text : codegen::c_source(programs, target);
}

void show_code(Subject& subject, const Task* task) {
  if (!subject.best) return;
  if (task == nullptr) {
    subject.why_no_code =
        "The log holds the schedule's steps and not the computation. The page of a task has its code: "
        "tw.autotune.report(log, task=task) in Python.";
    return;
  }
  const Result<Scheduled> s = task->replay(*subject.best);
  if (!s) {
    subject.why_no_code = s.error().render();
    return;
  }
  subject.python = schedule::to_python(s->schedule);
  try {
    const ir::Program lowered = lowered_program(s->schedule, s->args, task->target(), "kernel");
    std::vector<ir::Program> programs = pack_programs(s->schedule, s->args, task->target(), lowered);
    programs.insert(programs.begin(), lowered);
    subject.c = text_of(programs, task->target());
    if (task->target().abilities.device)
      subject.account =
          to_string(schedule::explain_device(s->schedule, schedule::describe_machine(task->target(), {})));
  } catch (const Error& e) {
    subject.why_no_code = e.diagnostic().render();
  }
}

Subject subject_of(std::vector<const Record*> records, const Task* given, MachineDescription machine) {
  std::stable_sort(records.begin(), records.end(),
                   [](const Record* a, const Record* b) { return a->number < b->number; });
  const Record& first = *records.front();
  std::optional<Task> found;
  if (given == nullptr) found = recorded_task(first);
  const Task* task = given != nullptr ? given : found ? &*found : nullptr;
  Subject subject;
  subject.call = call_text(first.name, first.args);
  subject.target = first.key.target;
  subject.hardware = first.key.hardware;
  subject.threads = machine.threads = first.key.threads;
  std::set<std::string> seen;
  for (const Record* r : records) subject.pruned = std::max(subject.pruned, static_cast<int>(r->pruned));
  for (const Record* r : records)
    if (r->kind == "trial" && seen.insert(r->trial.knobs).second) subject.trials.push_back(r->trial);
  if (const Record* best = best_record(records)) subject.best = best->trial;
  if (task != nullptr) subject.roofline = roofline_of(*task, machine);
  subject.roofline.flops = first.flops;
  if (subject.best) subject.roofline.raise_to(subject.rate(subject.best->seconds));
  const bool is_gpu = subject.target.starts_with("cuda");  // of which only the maker is asked
  if (first.key.hardware != machine.hardware_name() && !is_gpu) subject.roofline.peak = 0;
  place_candidates(subject, task, machine);
  show_code(subject, task);
  return subject;
}

}  // namespace

Subject subject_of(const Task& task, const TuneResult& result, const MachineDescription& machine) {
  Subject subject;
  subject.call = call_text(task.name(), task.args());
  subject.target = task.target().to_string();
  subject.hardware = machine.hardware_name();
  subject.threads = machine.threads;
  subject.roofline = roofline_of(task, machine);
  subject.trials = result.trials;
  subject.pruned = result.pruned;
  subject.best = result.best;
  if (subject.best) subject.roofline.raise_to(subject.rate(subject.best->seconds));
  place_candidates(subject, &task, machine);
  show_code(subject, &task);
  return subject;
}

std::vector<Subject> subjects_of(const std::string& path, const MachineDescription& machine, const Task* task) {
  const Log log = load_log(path);
  std::vector<std::pair<RecordKey, std::vector<const Record*>>> groups;
  for (const Record& r : log.records) {
    if (task != nullptr && (r.key.hash != task->hash() || r.key.target != task->target().to_string())) continue;
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == r.key; });
    if (found != groups.end())
      found->second.push_back(&r);
    else
      groups.push_back({r.key, {&r}});
  }
  if (groups.empty()) {
    throw Error(Diagnostic{
        ErrorKind::kNoRecord,
        "the tuning log " + path + " has no measurement" + (task ? " of " + task->name() : ""),
        {},
        {std::to_string(log.records.size()) + " records, " + std::to_string(log.damaged) + " damaged lines"}});
  }
  std::vector<Subject> subjects;
  for (const auto& [key, records] : groups) {
    subjects.push_back(subject_of(records, task, machine));
    subjects.back().damaged = log.damaged;
  }
  return subjects;
}

}  // namespace tw::autotune
