// Logs in review: what can no longer be used, and what one says that another does not.
#include <algorithm>

#include "autotune/log/log_tools.h"
#include "autotune/log/stock.h"
#include "autotune/log/winner.h"
#include "tensorwright/ops/kernels.h"

namespace tw::autotune {

namespace {

bool is_stock(const std::string& name) {
  const std::vector<te::ops::StockKernel>& all = te::ops::kernels();
  return std::any_of(all.begin(), all.end(), [&](const auto& kernel) { return kernel.name == name; });
}

// Why the best of these can't be built; empty: it can, as far as this release knows.
std::string why_stale(const LogGroup& group) {
  const Result<Target> target = Target::parse(group.key.target);
  if (!target) return target.error().what;
  // An operator's arguments are named; a template of that name has a list.
  if (!group.best || !is_stock(group.name) || !group.args.starts_with("{") || says_size(group.args)) return "";
  const std::optional<Task> task = recorded_task(*group.best);
  if (!task) return "the operator computes something else in this release";
  const Result<Scheduled> scheduled = task->replay(group.best->trial);
  return scheduled ? "" : scheduled.error().what;
}

}  // namespace

std::vector<StaleGroup> stale_records(const Log& log) {
  std::vector<StaleGroup> stale;
  for (const LogGroup& group : summarise(log)) {
    std::string why = why_stale(group);
    if (why.empty()) continue;
    const auto of_group = [&](const Record& r) { return r.key == group.key; };
    const auto count = static_cast<size_t>(std::count_if(log.records.begin(), log.records.end(), of_group));
    stale.push_back({group.key, group.name, group.args, std::move(why), count});
  }
  return stale;
}

std::vector<LogChange> diff_logs(const Log& before, const Log& after) {
  using Kind = LogChange::Kind;
  const std::vector<LogGroup> old_groups = summarise(before), new_groups = summarise(after);
  const auto find = [](const std::vector<LogGroup>& groups, const RecordKey& key) {
    const auto found = std::ranges::find(groups, key, &LogGroup::key);
    return found == groups.end() ? nullptr : &*found;
  };
  const auto seconds = [](const LogGroup* g) { return g && g->best ? g->best->trial.seconds : 0.0; };
  std::vector<LogChange> changes;
  for (const LogGroup& g : old_groups) {
    const LogGroup* now = find(new_groups, g.key);
    Kind kind = now ? Kind::kOther : Kind::kRemoved;
    if (now && static_cast<bool>(now->best) == static_cast<bool>(g.best) &&
        (!g.best || configuration_of(g.best->trial) == configuration_of(now->best->trial)))
      kind = Kind::kSame;
    changes.push_back({kind, g.key, g.name, g.args, seconds(&g), seconds(now)});
  }
  for (const LogGroup& g : new_groups)
    if (!find(old_groups, g.key)) changes.push_back({Kind::kAdded, g.key, g.name, g.args, 0, seconds(&g)});
  return changes;
}

}  // namespace tw::autotune
