// The best of a log, without measuring.
#include "autotune/history.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "autotune/knobs.h"

namespace tw::autotune {

RecordKey key_of(const Task& task, int threads) { return RecordKey{task.hash(), task.target().to_string(), threads}; }

std::vector<const Record*> records_for(const Log& log, const Task& task, int threads) {
  const RecordKey key = key_of(task, threads);
  int nearest = 0;
  for (const Record& r : log.records) {
    if (r.key.hash != key.hash || r.key.target != key.target) continue;
    if (nearest == 0 || std::abs(r.key.threads - threads) < std::abs(nearest - threads)) nearest = r.key.threads;
  }
  std::vector<const Record*> out;
  for (const Record& r : log.records) {
    if (r.key.hash == key.hash && r.key.target == key.target && r.key.threads == nearest) out.push_back(&r);
  }
  return out;
}

std::string call_text(const std::string& name, const std::string& args_json) {
  const auto values = nlohmann::json::parse(args_json, nullptr, false);
  std::string text;
  for (const auto& v : values) text += (text.empty() ? "" : ", ") + v.dump();
  return name + "(" + text + ")";
}

namespace {

// Why a log has nothing for a task: what it does have comes first, since a wrong target or shape is the usual reason.
[[noreturn]] void no_record(const Task& task, const std::string& path, const Log& log) {
  std::set<std::string> other_targets, other_args;
  size_t failures = 0;
  for (const Record& r : log.records) {
    if (r.key.hash == task.hash() && r.key.target == task.target().to_string())
      ++failures;
    else if (r.key.hash == task.hash())
      other_targets.insert(r.key.target);
    else if (r.name == task.name())
      other_args.insert(r.args);
  }
  std::vector<std::string> notes;
  if (failures > 0)
    notes.push_back(std::to_string(failures) + " candidates are recorded, and every one of them failed");
  for (const std::string& target : other_targets)
    notes.push_back("the log has this computation for another target: " + target);
  for (const std::string& args : other_args) {
    notes.push_back("the log has " + call_text(task.name(), args) +
                    (args == task.args() ? ", but the computation differs" : ""));
  }
  if (log.records.empty()) notes.push_back("the log is empty");
  std::string args = call_text("", task.args());
  if (args.size() > 2 && args.find(',') == std::string::npos) args.insert(args.size() - 1, ",");
  notes.push_back("tune it with: tw.autotune.tune(tw.autotune.Task(" + task.name() + ", args=" + args + ", target=\"" +
                  task.target().to_string() + "\"), trials=128, log=\"" + path + "\")");
  throw Error(Diagnostic{ErrorKind::kNoRecord,
                         "no tuning record for " + call_text(task.name(), task.args()) + " on " +
                             task.target().to_string() + " in " + path,
                         {},
                         std::move(notes)});
}

}  // namespace

Trial best(const Task& task, const std::string& path) {
  const Log log = load_log(path);
  const Record* record = best_record(records_for(log, task, runtime::num_threads()));
  if (record == nullptr) no_record(task, path, log);
  return record->trial;
}

std::shared_ptr<const Module> build(const Task& task, const std::string& path, const std::string& name) {
  const Trial trial = best(task, path);
  const Scheduled s = task.replay(trial).value_or_throw();
  return tw::build(s.schedule, s.args, task.target(), name.empty() ? task.name() : name);
}

}  // namespace tw::autotune
