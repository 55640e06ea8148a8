#include "autotune/size_table.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "autotune/task_hash.h"
#include "src/support/json_text.h"

namespace tw::aot {

namespace {

struct Sizes {
  std::string name;
  std::map<int64_t, int> threads;  // the most of each
};

// Records say their size in their arguments, {"n":8}; whether it is this computation's the hash tells.
Sizes sizes_of(const std::string& log, const std::string& hash, const Target& target, const std::string& hardware) {
  Sizes sizes;
  autotune::for_each_line(
      log,
      [&](size_t, std::string_view, Result<autotune::Record> r) {
        if (!r || r->key.target != target.to_string() || (!hardware.empty() && r->key.hardware != hardware)) return;
        const auto args = support::read_json<nlohmann::ordered_json>(r->args);
        if (!args.is_object() || args.size() != 1 || !args.begin()->is_number_integer()) return;
        const auto value = args.begin()->get<int64_t>();
        if (r->key.hash != autotune::hash_at_size(hash, args.begin().key(), value)) return;
        sizes.name = args.begin().key();
        int& most = sizes.threads[value];
        most = std::max(most, r->key.threads);
      },
      "\"args\":{\"");
  return sizes;
}

}  // namespace

std::optional<SizeTable> size_table(const std::string& log, const std::string& hash, const Target& target,
                                    const std::string& hardware, int threads) {
  const Sizes sizes = sizes_of(log, hash, target, hardware);
  if (sizes.threads.empty()) return std::nullopt;
  int wanted = threads;
  for (const auto& [value, most] : sizes.threads)
    if (threads == 0) wanted = std::max(wanted, most);
  SizeTable table{sizes.name, {}};
  for (const auto& [value, most] : sizes.threads) {
    const std::string where = log + ", " + sizes.name + " = " + std::to_string(value);
    const RecordChoice choice(log, autotune::hash_at_size(hash, sizes.name, value), target);
    const auto best = choice.best(where, hardware, wanted);
    if (!best)
      throw Error(Diagnostic{ErrorKind::kLog, where + ": all candidates failed", {}, {"tune again with other sizes"}});
    table.sizes.push_back({value, best->trial.steps, best->record});
  }
  return table;
}

std::vector<FrozenRange> joined(const std::vector<FrozenRange>& sizes) {
  std::vector<FrozenRange> ranges;
  for (const FrozenRange& one : sizes) {
    if (!ranges.empty() && ranges.back().steps == one.steps) ranges.pop_back();
    ranges.push_back(one);
  }
  return ranges;
}

}  // namespace tw::aot
