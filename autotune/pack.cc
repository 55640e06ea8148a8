// Tuning by file: what tune() would measure next, for somebody else to measure.
#include "rpc/pack.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "autotune/log/history.h"
#include "autotune/space/knobs.h"
#include "autotune/tuner.h"
#include "schedule/machine.h"

namespace tw::autotune {

namespace {

constexpr int kLikelyThreads = 4;  // of a board of which nothing is known

// The machines that the log has records of this task from, and that agree with what is known of `where`.
std::vector<MachineElsewhere> recorded_machines(const Task& task, const std::string& log,
                                                const MachineElsewhere& where) {
  std::set<std::pair<std::string, int>> found;
  if (!log.empty())
    for (const Record& r : load_log(log, task.hash()).records)
      if (r.key.hash == task.hash() && r.key.target == task.target().to_string())
        found.emplace(r.key.hardware, r.key.threads);
  std::vector<MachineElsewhere> machines;
  for (const auto& [hardware, threads] : found)
    if ((where.hardware.empty() || where.hardware == hardware) && (where.threads == 0 || where.threads == threads))
      machines.push_back({threads, hardware});
  return machines;
}

MachineElsewhere chosen(const Task& task, const std::string& log, const MachineElsewhere& where) {
  const std::vector<MachineElsewhere> machines = recorded_machines(task, log, where);
  if (machines.size() == 1) return machines[0];
  if (machines.empty()) return where;
  std::vector<std::string> notes;
  for (const MachineElsewhere& m : machines)
    notes.push_back(m.hardware + ", " + std::to_string(m.threads) + " threads");
  tune_error(
      "the log has records of " + call_text(task.name(), task.args()) + " of several machines, and none was named",
      std::move(notes));
}

}  // namespace

PackSummary pack(const Task& task, const TuneOptions& asked, const std::string& path,
                 const MachineElsewhere& requested) {
  if (task.target().abilities.device && requested.threads > 1)
    tune_error("pack: threads are those of a CPU, not " + std::to_string(requested.threads) + " for " +
                   task.target().to_string(),
               {"its schedules say how many threads of a device they have"});
  TuneOptions options = asked;
  std::error_code ignored;
  if (!std::filesystem::exists(options.log, ignored)) options.log.clear();  // the board will write it
  MachineElsewhere where = chosen(task, options.log, requested);
  if (task.target().abilities.device) where.threads = 1;  // of the host
  const MachineDescription machine{.hardware = schedule::usual_hardware(task.target()),
                                   .threads = where.threads > 0 ? where.threads : kLikelyThreads,
                                   .name = where.hardware};
  const std::unique_ptr<Tuning> tuning = start_packing(task, options, machine);
  tuning->begin();
  rpc::Pack made = tuning->pack(options.trials);
  made.checks.threads = where.threads;
  PackSummary summary{static_cast<int>(made.candidates.size()), 0, rpc::write_pack(made, path), where};
  for (const rpc::PackedCandidate& c : made.candidates) summary.not_built += c.object.size() == 0;
  return summary;
}

}  // namespace tw::autotune
