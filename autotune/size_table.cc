#include "autotune/size_table.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "autotune/computation_hash.h"
#include "autotune/log/recorded_target.h"
#include "autotune/log/stock.h"
#include "src/support/json_text.h"

namespace tw::aot {

namespace {

using Json = nlohmann::ordered_json;

struct Sizes {
  std::optional<Json> first;       // the arguments of some record
  std::map<int64_t, int> threads;  // the most of each
};

std::string text_of(const Json& args) {
  std::string text = "by " + args.begin().key();
  for (auto other = std::next(args.begin()); other != args.end(); ++other)
    text += (text.find(" at ") == std::string::npos ? " at " : ", ") + other.key() + " = " + other.value().dump();
  return text;
}

// Records say their sizes in their arguments, {"n":8,"m":64}, that of the table first; whether these are this
// computation's the hash tells.
Sizes sizes_of(const std::string& log, const std::string& hash, const Target& target, const std::string& hardware) {
  Sizes sizes;
  autotune::OfTarget is_of_target(target);
  autotune::for_each_line(
      log,
      [&](size_t, std::string_view text, Result<autotune::Record> r) {
        if (!r || (!hardware.empty() && r->key.hardware != hardware)) return;
        if (!autotune::says_size(r->args) || r->key.hash != autotune::hash_at_sizes(hash, r->args)) return;
        if (!is_of_target(text)) return;
        const auto args = support::read_json<Json>(r->args);
        if (!sizes.first) sizes.first = args;
        if (text_of(args) != text_of(*sizes.first))
          throw Error(Diagnostic{ErrorKind::kLog,
                                 log + " has it tuned " + text_of(*sizes.first) + " and " + text_of(args) +
                                     ", and a kernel chooses by one of them",
                                 {},
                                 {"a log of its own for each says which"}});
        int& most = sizes.threads[args.begin()->get<int64_t>()];
        most = std::max(most, r->key.threads);
      },
      "\"args\":{\"");
  return sizes;
}

}  // namespace

std::optional<SizeTable> size_table(const std::string& log, const std::string& hash, const Target& target,
                                    const std::string& hardware, int threads) {
  const Sizes sizes = sizes_of(log, hash, target, hardware);
  if (!sizes.first) return std::nullopt;
  int wanted = threads;
  for (const auto& [value, most] : sizes.threads)
    if (threads == 0) wanted = std::max(wanted, most);
  Json args = *sizes.first;
  SizeTable table{args.begin().key(), {}, {}};
  for (auto other = std::next(args.begin()); other != args.end(); ++other)
    table.others.emplace_back(other.key(), other.value().get<int64_t>());
  for (const auto& [value, most] : sizes.threads) {
    args[table.size] = value;
    const std::string where = log + ", " + table.size + " = " + std::to_string(value);
    const RecordChoice choice(log, autotune::hash_at_sizes(hash, support::to_text(args)), target);
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
