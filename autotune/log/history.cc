// The best of a log, without measuring.
#include "autotune/log/history.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "autotune/log/stock.h"
#include "autotune/log/winner.h"
#include "autotune/space/knobs.h"
#include "src/support/json_text.h"

namespace tw::autotune {

std::string kernel_name(const Task& task) {
  constexpr size_t kLongest = 64;
  std::string name = task.name().substr(0, kLongest);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "k_" + name : name;
}

RecordKey key_of(const Task& task, const MachineDescription& machine) {
  return RecordKey{task.hash(), task.target().to_string(), machine.threads, machine.hardware_name()};
}

Known known_trials(std::vector<Record> records, const Task& task, const MachineDescription& machine) {
  const RecordKey key = key_of(task, machine);
  std::set<uint64_t> seen;
  Known known;
  std::ranges::stable_sort(records, {}, &Record::number);
  for (Record& r : records) {
    if (!(r.key == key) || r.kind == "range" || r.trial.status == to_string(runtime::RunStatus::kDeviceLost)) continue;
    const Result<uint64_t> index = task.space().find(r.trial.knobs);
    if (!index) continue;
    if (r.kind == "confirm") {
      known.confirmed.push_back(std::move(r));
    } else if (seen.insert(*index).second) {
      r.trial.index = *index;
      known.trials.emplace_back(r.number, std::move(r.trial));
    }
  }
  return known;
}

namespace {

// Whose times cannot be compared.
[[noreturn]] void refuse_several(const Task& task, const std::set<std::string>& classes) {
  throw Error(Diagnostic{ErrorKind::kLog,
                         "the log has records of " + call_text(task.name(), task.args()) + " of " +
                             std::to_string(classes.size()) + " classes of hardware, and none was named",
                         {},
                         {classes.begin(), classes.end()}});
}

// The records of the task for this computation and target that say most about a machine: of its hardware if there are
// any, and of those the ones with its thread count, else with the nearest. Without a machine those with the most
// threads of the one class of hardware; throws LogError where the log has several.
std::vector<const Record*> records_for(const Log& log, const Task& task,
                                       const std::optional<MachineDescription>& machine) {
  std::vector<const Record*> same;
  std::set<std::string> classes;
  const std::string target = task.target().to_string();
  for (const Record& r : log.records) {
    if (r.key.hash != task.hash() || r.key.target != target) continue;
    same.push_back(&r);
    classes.insert(r.key.hardware);
  }
  if (!machine && classes.size() > 1) refuse_several(task, classes);
  const std::string hardware = machine ? machine->hardware_name() : "";
  const auto there = [&](const Record* r) { return r->key.hardware == hardware; };
  if (std::any_of(same.begin(), same.end(), there)) std::erase_if(same, std::not_fn(there));
  const auto distance = [&](const Record* r) {
    return machine ? std::abs(r->key.threads - machine->threads) : -r->key.threads;
  };
  const auto nearest =
      std::min_element(same.begin(), same.end(), [&](auto* a, auto* b) { return distance(a) < distance(b); });
  if (nearest != same.end()) {
    const RecordKey key = (*nearest)->key;
    std::erase_if(same, [&](const Record* r) { return !(r->key == key); });
  }
  return same;
}

}  // namespace

std::string call_text(const std::string& name, const std::string& args_json) {
  const auto values = support::read_json<nlohmann::ordered_json>(args_json);
  std::string text;
  for (const auto& [name, v] : values.items())
    text += (text.empty() ? "" : ", ") + (values.is_object() ? name + "=" : "") + support::to_text(v);
  return name + "(" + text + ")";
}

namespace {

// What the user types to tune: a stock operator, a template with its arguments, or tensors.
std::string tuning_call(const Task& task, const std::string& path) {
  const std::string target = "target=\"" + task.target().to_string() + "\"", log = "log=\"" + path + "\")";
  std::string args = call_text("", task.args());
  if (says_size(task.args())) {
    std::string sizes;
    const auto values = support::read_json<nlohmann::ordered_json>(task.args());
    for (const auto& [name, value] : values.items()) {
      const std::string number = support::to_text(value);
      sizes += (sizes.empty() ? name + ": [" + number + "]" : ", " + name + ": " + number);
    }
    return "tw.autotune.tune(tensors, sizes={" + sizes + "}, " + target + ", " + log;
  }
  if (task.args().starts_with("{"))
    return "tw.tune(\"" + task.name() + "\", " + args.substr(1, args.size() - 2) + ", " + target + ", " + log;
  if (args == "()") return "tw.autotune.tune(task, trials=128, " + log;
  if (args.find(',') == std::string::npos) args.insert(args.size() - 1, ",");
  return "tw.autotune.tune(tw.autotune.Task(" + task.name() + ", args=" + args + ", " + target + "), trials=128, " +
         log;
}

}  // namespace

void no_record(const Task& task, const std::string& path, const Log& log) {
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
  if (log.damaged > 0)
    notes.push_back(std::to_string(log.damaged) + " of the log's lines are damaged: tw log check says which");
  else if (log.records.empty())
    notes.push_back("the log is empty");
  notes.push_back("tune it with: " + tuning_call(task, path));
  throw Error(Diagnostic{ErrorKind::kNoRecord,
                         "no tuning record for " + call_text(task.name(), task.args()) + " on " +
                             task.target().to_string() + " in " + path,
                         {},
                         std::move(notes)});
}

Trial best(const Task& task, const std::string& path, const std::optional<MachineDescription>& machine) {
  const Log log = load_log(path, task.hash());
  const Record* record = best_record(records_for(log, task, machine));
  if (record == nullptr) no_record(task, path, load_log(path));
  return record->trial;
}

std::shared_ptr<const Module> build(const Task& task, const std::string& path, const std::string& name,
                                    const std::optional<MachineDescription>& machine) {
  const Trial trial = best(task, path, machine);
  const Scheduled s = task.built(task.replay(trial).value_or_throw()).value_or_throw();
  return tw::build(s.schedule, s.args, task.target(), name.empty() ? kernel_name(task) : name);
}

}  // namespace tw::autotune
