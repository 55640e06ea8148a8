#include "schedule/nontemporal.h"

#include "schedule/refuse.h"

namespace tw::schedule {

Status check_nontemporal(const LoopNest& nest, const Placement& placed, const std::vector<Step>& steps) {
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    if (stage.nontemporal == kNone || !placed.live(i)) continue;
    const auto wrong = [&](const std::string& rule, const std::string& why, const std::string& way_out) {
      return blame(refuse(Nontemporal::kName, rule) << describe(stage) << why << way_out, steps, stage.nontemporal);
    };
    const std::string apart =
        "cache_write(" + stage.name + ") computes it elsewhere, and then each element is stored once";
    if (stage.is_reduction())
      return wrong("stage must not be a reduction, as " + stage.name + " is",
                   "its elements are read and written for each term", apart);
    if (stage.op->scan())
      return wrong("stage must not be a scan, as " + stage.name + " is", "later times read the states of earlier ones",
                   "copy it to a stage of its own");
    if (!placed.readers[i].empty())
      return wrong("stage must not be read by another, as " + stage.name + " is by " +
                       nest.stage(placed.readers[i].front()).name,
                   "what is stored past the caches comes back from memory", "copy it to a stage of its own");
  }
  return Unit{};
}

}  // namespace tw::schedule
