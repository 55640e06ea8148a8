#include "autotune/no_result.h"

#include <algorithm>

#include "autotune/log/history.h"
#include "autotune/space/knobs.h"

namespace tw::autotune {

void every_candidate_failed(const Task& task, const TuneResult& result, const std::map<std::string, int>& refusals,
                            size_t refused) {
  std::map<std::string, int> reasons;
  for (const Trial& t : result.failures) ++reasons[t.status + ": " + t.detail.substr(0, 200)];
  const std::map<std::string, int>& counts = reasons.empty() ? refusals : reasons;
  const auto commonest =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> notes = {"task " + call_text(task.name(), task.args()) + ", a space of " +
                                    std::to_string(task.space().size()) + " points"};
  if (commonest != counts.end()) {
    notes.push_back("the commonest reason, " + std::to_string(commonest->second) + " times: " + commonest->first);
  }
  const size_t tried = reasons.empty() ? refused : result.trials.size();
  tune_error("every candidate failed: " + std::to_string(tried) +
                 (reasons.empty() ? " were refused as illegal schedules" : " were measured"),
             notes);
}

}  // namespace tw::autotune
