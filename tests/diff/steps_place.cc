// Proposals that say where a stage is computed and where its values live.
#include <algorithm>

#include "tests/diff/sample_steps.h"

namespace tw::diff {

namespace {

using Place = Stepper::Place;

// All loops around the computation of a stage's elements.
std::vector<Place> loops_around(const Stepper& s, const std::string& name) {
  std::vector<Place> places;
  for (size_t i = 0; i < s.stage(name).leaves.size(); ++i) places.push_back({name, static_cast<int>(i)});
  for (auto at = s.attached.find(name); at != s.attached.end(); at = s.attached.find(at->second.stage))
    for (int i = 0; i <= at->second.position; ++i) places.push_back({at->second.stage, i});
  return places;
}

}  // namespace

void compute_at(Stepper& s, const std::string& name) {
  const bool cache = name.find(".local") != std::string::npos || name.find(".global") != std::string::npos;
  const StageNest& stage = s.stage(name);
  if (stage.is_placeholder() || stage.output || !s.random().chance(cache ? 80 : 55)) return;
  std::vector<Place> common;
  bool first = true;
  for (const std::string& reader : s.readers(name)) {
    const std::vector<Place> around = loops_around(s, reader);
    if (first) common = around;
    std::erase_if(common, [&](const Place& p) { return std::find(around.begin(), around.end(), p) == around.end(); });
    first = false;
  }
  if (common.empty()) return;
  const Place place = s.random().pick(common);
  const StageNest& at = s.stage(place.stage);
  if (!s.must(ComputeAt{name, place.stage, at.axes[at.leaves[place.position]].name})) return;
  s.attached[name] = place;
  if (s.random().chance(8) && s.must(ComputeRoot{name})) s.attached.erase(name);
}

void set_scope(Stepper& s, const std::string& name) {
  if (!s.stage(name).is_placeholder() && !s.stage(name).output) s.must(SetScope{name, s.scope()});
}

}  // namespace tw::diff
