// Samples from records.
#include "autotune/log/transfer.h"

#include <algorithm>
#include <cmath>

#include "autotune/model/features.h"

namespace tw::autotune {

namespace {

constexpr size_t kFewest = 4;  // trials of a group from which an order can be learned

bool is_sample(const Record& r) {
  return r.kind == "trial" && r.features.size() == nest_feature_names().size() && r.trial.status != "device_lost";
}

double seconds_of(const Record& r) { return r.trial.timed() ? r.trial.seconds : INFINITY; }

}  // namespace

Samples samples_of(const std::vector<Record>& records) {
  std::vector<std::vector<const Record*>> groups;
  for (const Record& r : records) {
    if (!is_sample(r)) continue;
    const auto same = [&](const auto& group) { return group.front()->key == r.key; };
    const auto at = std::find_if(groups.begin(), groups.end(), same);
    if (at == groups.end())
      groups.push_back({&r});
    else
      at->push_back(&r);
  }
  Samples samples;
  for (const auto& group : groups) {
    double best = INFINITY;
    for (const Record* r : group) best = std::min(best, seconds_of(*r));
    if (group.size() < kFewest || !std::isfinite(best)) continue;
    for (const Record* r : group) {
      samples.candidates.features.add(r->features);
      samples.candidates.prior.push_back(prior_of_features(r->features));
      samples.scores.push_back(static_cast<float>(best / seconds_of(*r)));
    }
    samples.groups.push_back(static_cast<unsigned>(group.size()));
  }
  return samples;
}

Samples samples_of_logs(const std::vector<std::string>& paths) {
  std::vector<Record> all;
  for (const std::string& path : paths) {
    Log log = load_log(path);
    all.insert(all.end(), std::make_move_iterator(log.records.begin()), std::make_move_iterator(log.records.end()));
  }
  return samples_of(all);
}

}  // namespace tw::autotune
