#include "autotune/frozen/record_choice.h"

#include <algorithm>
#include <set>

#include "autotune/log/recorded_target.h"
#include "autotune/log/winner.h"

namespace tw::aot {

using autotune::Record;

namespace {

// The last field of a line.
std::string checksum_of(std::string_view line) {
  constexpr std::string_view kKey = "\"checksum\":\"";
  const size_t at = line.rfind(kKey);
  return at == std::string_view::npos ? "" : std::string(line.substr(at + kKey.size(), 16));
}

[[noreturn]] void refuse(std::string what, std::vector<std::string> notes) {
  throw Error(Diagnostic{ErrorKind::kLog, std::move(what), {}, std::move(notes)});
}

}  // namespace

RecordChoice::RecordChoice(const std::string& log, const std::string& hash, const Target& target) {
  autotune::OfTarget is_of_target(target);
  autotune::for_each_line(
      log,
      [&](size_t, std::string_view text, Result<Record> record) {
        if (!record || record->key.hash != hash || !is_of_target(text)) return;
        log_.records.push_back(*std::move(record));
        checksums_.push_back(checksum_of(text));
      },
      hash);
}

std::optional<RecordChoice::Best> RecordChoice::best(const std::string& log, const std::string& hardware,
                                                     int threads) const {
  std::set<std::string> classes;
  for (const Record& r : log_.records) classes.insert(r.key.hardware);
  if (hardware.empty() && classes.size() > 1)
    refuse(log + " has records of " + std::to_string(classes.size()) + " classes of hardware; --hardware says which",
           {classes.begin(), classes.end()});
  if (!hardware.empty() && !classes.contains(hardware) && !empty())
    refuse(log + " has no records of the hardware \"" + hardware + "\"", {classes.begin(), classes.end()});
  std::vector<const Record*> there;
  std::set<int> counts;
  for (const Record& r : log_.records) {
    if (!hardware.empty() && r.key.hardware != hardware) continue;
    there.push_back(&r);
    counts.insert(r.key.threads);
  }
  if (there.empty()) return std::nullopt;
  if (threads != 0 && !counts.contains(threads)) {
    std::string listed;
    for (const int count : counts) listed += (listed.empty() ? "" : ", ") + std::to_string(count);
    refuse(log + " has no records of " + std::to_string(threads) + " threads, but of " + listed, {});
  }
  const int wanted = threads != 0 ? threads : *counts.rbegin();
  std::erase_if(there, [&](const Record* r) { return r->key.threads != wanted; });
  const Record* best = autotune::best_record(there);
  if (best == nullptr) return std::nullopt;
  const std::string& checksum = checksums_[static_cast<size_t>(best - log_.records.data())];
  return Best{{checksum, best->trial.seconds, best->key.hardware, best->key.threads}, best->trial};
}

}  // namespace tw::aot
