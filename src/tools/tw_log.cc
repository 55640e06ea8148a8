// tw log: what is in a log, its best, whether it is whole; logs joined, shortened, compared, and those of AutoTVM.
#include <cstdio>
#include <memory>

#include "autotune/log/autotvm.h"
#include "autotune/log/history.h"
#include "autotune/log/log_tools.h"
#include "autotune/log/stock.h"
#include "autotune/report/charts.h"
#include "schedule/to_python.h"
#include "src/support/json_text.h"
#include "src/tools/tw_command.h"

namespace tw::tools {
namespace {

using namespace tw::autotune;

struct Options {
  std::vector<std::string> logs;
  std::string output;
  size_t keep = 1;
  bool fail_stale = false, best = false;
};

std::string subject_text(const RecordKey& key, const std::string& name, const std::string& args) {
  return call_text(name, args) + "\n  on " + key.target + ", " + std::to_string(key.threads) +
         (key.threads == 1 ? " thread" : " threads") + " of " + key.hardware;
}

std::string speed_text(double seconds, double flops) {
  return time_text(seconds) + (flops > 0 ? ", " + rate_text(flops / seconds) : "");
}

Json key_json(const RecordKey& key, const std::string& name, const std::string& args) {
  return {{"task", name},           {"args", support::read_json<Json>(args)},
          {"hash", key.hash},       {"target", key.target},
          {"threads", key.threads}, {"hardware", key.hardware}};
}

Json best_json(const Record& r) {
  Json json{{"seconds", r.trial.seconds}};
  if (r.flops > 0) json["gflops"] = r.flops / r.trial.seconds / 1e9;
  json["knobs"] = support::read_json<Json>(r.trial.knobs);
  json["steps"] = support::parse_json<Json>(schedule::to_json(r.trial.steps));
  return json;
}

int show(const Options& options, bool json) {
  const Log log = load_log(options.logs.front());
  Json groups = Json::array();
  for (const LogGroup& g : summarise(log)) {
    if (json) {
      Json group = key_json(g.key, g.name, g.args);
      group["trials"] = g.trials;
      group["statuses"] = g.statuses;
      group["confirmations"] = g.confirmations;
      group["best"] = g.best ? best_json(*g.best) : Json();
      group["first"] = g.first;
      group["last"] = g.last;
      groups.push_back(std::move(group));
      continue;
    }
    std::printf("%s\n  %d trials", subject_text(g.key, g.name, g.args).c_str(), g.trials);
    for (const auto& [status, count] : g.statuses) std::printf(", %d %s", count, status.c_str());
    std::printf("\n  %s\n",
                g.best ? ("best " + speed_text(g.best->trial.seconds, g.flops)).c_str() : "every one failed");
  }
  if (json)
    print_json({{"tasks", groups}, {"damaged", log.damaged}});
  else if (log.damaged > 0)
    std::printf("%d damaged lines; tw log check says which\n", log.damaged);
  return kDone;
}

int best(const Options& options, bool json) {
  const std::vector<Record> records = pick_best(load_log(options.logs.front()));
  if (!options.output.empty()) pick_best(options.logs.front(), options.output);
  Json all = Json::array();
  for (const Record& r : records) {
    if (json) {
      Json one = key_json(r.key, r.name, r.args);
      one["best"] = best_json(r);
      all.push_back(std::move(one));
      continue;
    }
    std::printf("%s\n  best %s\n  %s\n", subject_text(r.key, r.name, r.args).c_str(),
                speed_text(r.trial.seconds, r.flops).c_str(), r.trial.knobs.c_str());
    if (const std::optional<Task> task = recorded_task(r)) {
      const Result<Scheduled> s = task->replay(r.trial);
      if (s) std::printf("\n%s\n", schedule::to_python(s->schedule).c_str());
    }
  }
  if (json) print_json({{"best", all}});
  if (records.empty())
    throw Error(Diagnostic{ErrorKind::kNoRecord, "log best: no trial succeeded in " + options.logs.front(), {}, {}});
  return kDone;
}

int check(const Options& options, bool json) {
  const std::string& path = options.logs.front();
  const LogCheck c = check_log(path);
  std::vector<StaleGroup> stale;
  if (options.fail_stale) stale = stale_records(load_log(path));
  if (json) {
    Json damaged = Json::array(), old = Json::array();
    for (const SkippedLine& l : c.damaged) damaged.push_back({{"line", l.line}, {"why", l.why}});
    for (const StaleGroup& g : stale) {
      Json one = key_json(g.key, g.name, g.args);
      one["records"] = g.records;
      one["why"] = g.why;
      old.push_back(std::move(one));
    }
    Json out{{"ok", c.ok() && stale.empty()},    {"lines", c.lines},       {"trials", c.trials},
             {"confirmations", c.confirmations}, {"repeated", c.repeated}, {"damaged", damaged}};
    if (options.fail_stale) out["stale"] = old;
    print_json(out);
  } else {
    std::printf("%s: %zu lines, %zu trials, %zu confirmations, %zu repeated, %zu damaged\n", path.c_str(), c.lines,
                c.trials, c.confirmations, c.repeated, c.damaged.size());
    for (const SkippedLine& l : c.damaged) std::printf("  line %zu: %s\n", l.line, l.why.c_str());
    if (!c.ok()) std::printf("  the others count; tw log merge %s -o FILE keeps what is valid\n", path.c_str());
    for (const StaleGroup& g : stale)
      std::printf("stale: %s, %zu records\n  %s\n", subject_text(g.key, g.name, g.args).c_str(), g.records,
                  g.why.c_str());
  }
  return c.ok() && stale.empty() ? kDone : kFailed;
}

std::string seconds_text(double seconds) { return seconds > 0 ? time_text(seconds) : "none that succeeded"; }

int diff(const Options& options, bool json) {
  using Kind = LogChange::Kind;
  if (options.logs.size() != 2) fail("log diff: it takes two logs, the old one and the new one");
  static constexpr const char* kKinds[] = {"added", "removed", "same", "other"};
  Json all = Json::array();
  size_t same = 0, shown = 0;
  for (const LogChange& c : diff_logs(load_log(options.logs[0]), load_log(options.logs[1]))) {
    if (json) {
      Json one = key_json(c.key, c.name, c.args);
      one["change"] = kKinds[static_cast<size_t>(c.kind)];
      one["before"] = c.before_s > 0 ? Json(c.before_s) : Json();
      one["after"] = c.after_s > 0 ? Json(c.after_s) : Json();
      all.push_back(std::move(one));
      continue;
    }
    if (c.kind == Kind::kSame) {
      ++same;
      continue;
    }
    ++shown;
    const bool timed = c.kind == Kind::kOther && c.before_s > 0 && c.after_s > 0;
    char times[32] = "";
    if (timed) std::snprintf(times, sizeof times, ", %.2f x as fast", c.before_s / c.after_s);
    const std::string what = c.kind == Kind::kAdded     ? "added: " + seconds_text(c.after_s)
                             : c.kind == Kind::kRemoved ? "removed: " + seconds_text(c.before_s)
                                                        : "another schedule: " + seconds_text(c.before_s) + " -> " +
                                                              seconds_text(c.after_s) + times;
    std::printf("%s\n  %s\n", subject_text(c.key, c.name, c.args).c_str(), what.c_str());
  }
  if (json)
    print_json({{"changes", all}});
  else
    std::printf("%zu kernels change, %zu stay as they are\n", shown, same);
  return kDone;
}

int print_edit(const LogEdit& edit, const std::string& output, bool json) {
  if (json) {
    Json dropped = Json::array();
    for (const DroppedLine& d : edit.dropped)
      dropped.push_back({{"file", d.path}, {"line", d.line.line}, {"why", d.line.why}});
    print_json({{"output", output},
                {"kept", edit.kept},
                {"repeated", edit.repeated},
                {"worse", edit.worse},
                {"dropped", dropped}});
    return kDone;
  }
  std::printf("%s: %zu records kept", output.c_str(), edit.kept);
  if (edit.repeated > 0) std::printf(", %zu that were there already left out", edit.repeated);
  if (edit.worse > 0) std::printf(", %zu that are not among the best left out", edit.worse);
  std::printf("\n");
  for (const DroppedLine& d : edit.dropped)
    std::printf("  dropped %s:%zu: %s\n", d.path.c_str(), d.line.line, d.line.why.c_str());
  return kDone;
}

int merge(const Options& options, bool json) {
  return print_edit(merge_logs(options.logs, options.output), options.output, json);
}

int prune(const Options& options, bool json) {
  const std::string output = options.output.empty() ? options.logs.front() : options.output;
  return print_edit(prune_log(options.logs.front(), output, options.best ? 0 : options.keep), output, json);
}

int import_lines(const Options& options, bool json) {
  return print_edit(import_autotvm(options.logs.front(), options.output), options.output, json);
}

int export_lines(const Options& options, bool json) {
  return print_edit(export_autotvm(options.logs.front(), options.output), options.output, json);
}

}  // namespace

void add_log(CLI::App& app, Chosen& chosen) {
  CLI::App* group = app.add_subcommand("log", "Look into logs of measurements, check, join and shorten them");
  group->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, int (*run)(const Options&, bool), bool several = false) {
    const auto options = std::make_shared<Options>();
    CLI::App* command = group->add_subcommand(name, what);
    CLI::Option* logs = command->add_option(several ? "LOGS" : "LOG", options->logs, "what tune wrote")->required();
    if (!several) logs->expected(1);
    add_json_option(*command, chosen);
    command->callback(
        [options, run, &chosen] { chosen.run = [options, run, &chosen] { return run(*options, chosen.json); }; });
    return std::pair(command, options);
  };
  add("show", "what was measured, by task, target and threads", show);
  const auto [best_command, best_options] = add("best", "the fastest of each task", best);
  best_command->add_option("-o,--output", best_options->output, "also write their lines to this file");
  const auto [check_command, check_options] =
      add("check", "whether every line counts, and why not; exit code 1 if one does not", check);
  check_command->add_flag(
      "--fail-stale", check_options->fail_stale,
      "also name what nobody can build from any more: targets, operators and steps of another time");
  add("diff", "which kernels another log would change, and by how much", diff, true);
  const auto [merge_command, merge_options] = add("merge", "join logs: all valid lines, each once", merge, true);
  merge_command->add_option("-o,--output", merge_options->output, "the log that results")->required();
  const auto [prune_command, prune_options] = add("prune", "keep the fastest of each task", prune);
  prune_command->add_option("-o,--output", prune_options->output, "the log that results; the same file by default");
  CLI::Option* keep = prune_command
                          ->add_option("--keep", prune_options->keep,
                                       "so many configurations of each task, each with all its measurements")
                          ->capture_default_str();
  prune_command
      ->add_flag("--best", prune_options->best, "one line of each task, which decides: for a log that is reviewed")
      ->excludes(keep);
  const auto [import_command, import_options] =
      add("import", "a log of AutoTVM 0.2 to look at: it says knobs and times, not what was computed", import_lines);
  import_command->add_option("-o,--output", import_options->output, "the log that results")->required();
  const auto [export_command, export_options] = add("export", "a log in AutoTVM's format 0.2", export_lines);
  export_command->add_option("-o,--output", export_options->output, "the file that results")->required();
}

}  // namespace tw::tools
