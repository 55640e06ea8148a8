// Proposals that say where a stage is computed and where its values live.
#include <algorithm>

#include "schedule/group.h"
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

// The loops that stand around all of these stages.
std::vector<Place> common_loops(const Stepper& s, const std::set<std::string>& names) {
  std::vector<Place> common;
  bool first = true;
  for (const std::string& name : names) {
    const std::vector<Place> around = loops_around(s, name);
    if (first) common = around;
    std::erase_if(common, [&](const Place& p) { return std::find(around.begin(), around.end(), p) == around.end(); });
    first = false;
  }
  return common;
}

// All of the group at that loop, but for what stands inside of it.
bool put(Stepper& s, const std::vector<std::string>& members, const Place& place) {
  const StageNest& at = s.stage(place.stage);
  const std::string axis = at.axes[at.leaves[place.position]].name;
  for (const Step& step : place_group(s.nest(), members, place.stage, axis).value_or_throw())
    if (!s.may(step)) return false;
  const auto inside = [&](const std::string& name) { return std::ranges::find(members, name) != members.end(); };
  for (const std::string& name : members) {
    const Attach& attach = s.stage(name).attach;
    if (attach.kind == AttachKind::kInline || (attach.kind == AttachKind::kAt && inside(attach.stage))) continue;
    if (attach.kind != AttachKind::kAt || attach.stage != place.stage || at.axes[attach.axis].name != axis)
      s.fault("the group's stage " + name + " must stand at " + axis + " of " + place.stage);
    s.attached[name] = place;
  }
  return true;
}

}  // namespace

// A stage with those of its producers that nobody else reads, put at one loop and then at another.
void group(Stepper& s, const std::string& name) {
  const auto movable = [&](const std::string& stage) {
    return !s.stage(stage).is_placeholder() && !s.stage(stage).output && !s.inlined.contains(stage);
  };
  if (!movable(name)) return;
  std::set<std::string> members = {name};
  for (int i = s.nest().find_stage(name); i-- > 0;) {
    const std::string& producer = s.nest().stage(i).name;
    const std::set<std::string> readers = s.readers(producer);
    if (movable(producer) && !readers.empty() && std::ranges::includes(members, readers) && s.random().chance(80))
      members.insert(producer);
  }
  std::set<std::string> outside;
  std::vector<std::string> ordered;
  for (int i = 0; i < s.nest().size(); ++i)
    if (members.contains(s.nest().stage(i).name)) ordered.push_back(s.nest().stage(i).name);
  for (const std::string& member : ordered)
    for (const std::string& reader : s.readers(member))
      if (!members.contains(reader)) outside.insert(reader);
  std::vector<Place> places = common_loops(s, outside);
  std::erase_if(places, [&](const Place& p) { return members.contains(p.stage); });
  if (places.size() < 2) return;
  if (put(s, ordered, s.random().pick(places)) && put(s, ordered, s.random().pick(places))) s.count("group");
}

void compute_at(Stepper& s, const std::string& name) {
  const bool cache = name.find(".local") != std::string::npos || name.find(".global") != std::string::npos;
  const StageNest& stage = s.stage(name);
  if (stage.is_placeholder() || stage.output || !s.random().chance(cache ? 80 : 55)) return;
  const std::vector<Place> common = common_loops(s, s.readers(name));
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
