// Logs as wholes.
#include "autotune/log/log_tools.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <unordered_set>

#include "autotune/log/winner.h"

namespace tw::autotune {

namespace {

struct KeyOrder {
  bool operator()(const RecordKey& a, const RecordKey& b) const {
    return std::tie(a.hash, a.target, a.threads, a.hardware) < std::tie(b.hash, b.target, b.threads, b.hardware);
  }
};

// The records of each key, the keys in the order in which they occur first.
std::vector<std::vector<const Record*>> by_key(const std::vector<Record>& records) {
  std::map<RecordKey, size_t, KeyOrder> place;
  std::vector<std::vector<const Record*>> groups;
  for (const Record& r : records) {
    const auto [at, fresh] = place.emplace(r.key, groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].push_back(&r);
  }
  return groups;
}

LogGroup group_of(const std::vector<const Record*>& records) {
  LogGroup group;
  const Record& any = *records.front();
  group.key = any.key;
  group.name = any.name;
  group.args = any.args;
  std::unordered_set<std::string> seen;
  for (const Record* r : records) {
    group.flops = std::max(group.flops, r->flops);
    group.bytes = std::max(group.bytes, r->bytes);
    if (group.first.empty() || r->time < group.first) group.first = r->time;
    group.last = std::max(group.last, r->time);
    if (r->kind != "trial") {
      ++group.confirmations;
    } else if (seen.insert(r->trial.knobs).second) {
      ++group.trials;
      ++group.statuses[r->trial.status];
    }
  }
  if (const Record* best = best_record(records)) group.best = *best;
  return group;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

// Files that are read may be replaced; others are somebody's.
void check_output(const std::string& output, const std::vector<std::string>& inputs) {
  struct stat info{};
  if (stat(output.c_str(), &info) != 0) return;
  for (const std::string& input : inputs)
    if (same_file(input, output)) return;
  throw Error(Diagnostic{ErrorKind::kLog,
                         "the output " + output + " exists already and is none of the logs that are read",
                         {},
                         {"name it among them to keep its records, or give another path"}});
}

// The lines of a log that hold records, as they stand there.
struct TextLine {
  std::string text;
  Record record;
};

std::vector<TextLine> valid_lines(const std::string& path, LogEdit& edit) {
  std::vector<TextLine> lines;
  for_each_line(path, [&](size_t number, std::string_view text, Result<Record> record) {
    if (record)
      lines.push_back({std::string(text) + "\n", *std::move(record)});
    else
      edit.dropped.push_back({path, {number, record.error().what}});
  });
  return lines;
}

// The configurations of one key that are best.
std::unordered_set<std::string> best_configurations(std::vector<const Record*> records, size_t keep) {
  std::unordered_set<std::string> chosen;
  while (chosen.size() < keep) {
    const Record* best = best_record(records);
    if (best == nullptr) break;
    const std::string here = configuration_of(best->trial);
    chosen.insert(here);
    std::erase_if(records, [&](const Record* r) { return configuration_of(r->trial) == here; });
  }
  return chosen;
}

}  // namespace

std::vector<LogGroup> summarise(const Log& log) {
  std::vector<LogGroup> groups;
  for (const auto& records : by_key(log.records)) groups.push_back(group_of(records));
  return groups;
}

std::vector<Record> pick_best(const Log& log) {
  std::vector<Record> out;
  for (const auto& records : by_key(log.records)) {
    if (const Record* best = best_record(records)) out.push_back(*best);
  }
  return out;
}

size_t pick_best(const std::string& log, const std::string& output) {
  check_output(output, {log});
  size_t kept = 0;
  support::replace_lines(output, [&] {
    std::string text;
    for (const Record& best : pick_best(load_log(log))) {
      text += to_line(best);
      ++kept;
    }
    return text;
  });
  return kept;
}

LogCheck check_log(const std::string& path) {
  LogCheck check;
  std::unordered_set<std::string> seen;
  for_each_line(path, [&](size_t number, std::string_view, const Result<Record>& record) {
    check.lines = number;
    if (!record) return check.damaged.push_back({number, record.error().what});
    if (record->kind != "trial") return static_cast<void>(++check.confirmations);
    ++check.trials;
    const RecordKey& k = record->key;
    const std::string what = k.hash + "\n" + k.target + "\n" + std::to_string(k.threads) + "\n" + k.hardware + "\n";
    if (!seen.insert(what + record->trial.knobs).second) ++check.repeated;
  });
  return check;
}

LogEdit merge_logs(const std::vector<std::string>& paths, const std::string& output) {
  check_output(output, paths);
  LogEdit edit;
  support::replace_lines(output, [&] {
    std::string text;
    std::unordered_set<std::string> seen;
    for (const std::string& path : paths) {
      for (TextLine& line : valid_lines(path, edit)) {
        if (!seen.insert(line.text).second) {
          ++edit.repeated;
          continue;
        }
        text += line.text;
        ++edit.kept;
      }
    }
    return text;
  });
  return edit;
}

LogEdit prune_log(const std::string& path, const std::string& output, size_t keep) {
  check_output(output, {path});
  LogEdit edit;
  support::replace_lines(output, [&] {
    std::vector<TextLine> lines = valid_lines(path, edit);
    std::map<RecordKey, std::vector<const Record*>, KeyOrder> groups;
    for (const TextLine& line : lines) groups[line.record.key].push_back(&line.record);
    std::map<RecordKey, std::unordered_set<std::string>, KeyOrder> chosen;
    std::unordered_set<const Record*> best;
    for (const auto& [key, records] : groups) {
      chosen[key] = best_configurations(records, keep);
      best.insert(best_record(records));
    }
    std::string text;
    for (const TextLine& line : lines) {
      const bool among_best =
          line.record.trial.ok() && chosen[line.record.key].contains(configuration_of(line.record.trial));
      const bool stays = keep == 0 ? best.contains(&line.record) : among_best;
      ++(stays ? edit.kept : edit.worse);
      if (stays) text += line.text;
    }
    return text;
  });
  return edit;
}

}  // namespace tw::autotune
