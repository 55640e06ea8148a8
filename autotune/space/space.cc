// The space as a product of knobs: indices, digits and their text.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "autotune/space/knobs.h"
#include "schedule/loop_nest.h"
#include "src/support/json_text.h"

namespace tw::autotune {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kAnnotationNames[] = {"none", "unroll", "vectorize"};

Json json_of(const Knob& knob, const KnobValue& value) {
  switch (knob.kind) {
    case KnobKind::kSplit:
      if (value.tail == ir::Tail::kAuto) return value.numbers;
      return Json{{"size", value.numbers}, {"tail", schedule::to_string(value.tail)}};
    case KnobKind::kReorder:
      return value.numbers;
    case KnobKind::kAnnotate: {
      Json names = Json::array();
      for (int64_t n : value.numbers) names.push_back(kAnnotationNames[n]);
      return names;
    }
    case KnobKind::kValue:
      break;
  }
  return value.text.empty() ? Json(value.numbers.at(0)) : support::parse_json<Json>(value.text);
}

}  // namespace

std::string to_json(const Knob& knob, const KnobValue& value) { return support::to_text(json_of(knob, value)); }

Space::Space(std::vector<Knob> knobs) : knobs_(std::move(knobs)) {
  constexpr uint64_t kLargest = uint64_t{1} << 62;
  for (const Knob& knob : knobs_) {
    TW_CHECK(!knob.values.empty());
    if (size_ > kLargest / knob.values.size()) {
      tune_error("the space has more than 2^62 points",
                 {"knob " + knob.name + " is one too many; give its define_ call a filter"});
    }
    size_ *= knob.values.size();
  }
}

Digits Space::digits(uint64_t index) const {
  if (index >= size_) {
    throw Error(
        Diagnostic{ErrorKind::kArgument,
                   "index " + std::to_string(index) + " is outside a space of " + std::to_string(size_) + " points",
                   {},
                   {}});
  }
  Digits digits(knobs_.size());
  for (size_t k = 0; k < knobs_.size(); ++k) {
    digits[k] = static_cast<uint32_t>(index % knobs_[k].values.size());
    index /= knobs_[k].values.size();
  }
  return digits;
}

uint64_t Space::index(const Digits& digits) const {
  uint64_t index = 0;
  for (size_t k = knobs_.size(); k-- > 0;) index = index * knobs_[k].values.size() + digits.at(k);
  return index;
}

const KnobValue& Space::value(uint64_t index, size_t knob) const { return knobs_.at(knob).values[digits(index)[knob]]; }

std::string Space::describe(uint64_t index) const {
  const Digits d = digits(index);
  Json all = Json::object();
  for (size_t k = 0; k < knobs_.size(); ++k) all[knobs_[k].name] = json_of(knobs_[k], knobs_[k].values[d[k]]);
  return support::to_text(all);
}

Result<uint64_t> Space::find(const std::string& knobs_json) const {
  const auto refuse = [&](const std::string& why) {
    return Diagnostic{ErrorKind::kArgument, "these knob values are no point of the space: " + why, {}, {knobs_json}};
  };
  const Json all = support::read_json<Json>(knobs_json);
  if (!all.is_object() || all.size() != knobs_.size()) return refuse("other knobs");
  Digits digits(knobs_.size());
  for (size_t k = 0; k < knobs_.size(); ++k) {
    const Knob& knob = knobs_[k];
    if (!all.contains(knob.name)) return refuse("there is no " + knob.name);
    const Json& wanted = all[knob.name];
    const auto same = [&](const KnobValue& v) {
      const bool plain_list =
          knob.kind != KnobKind::kAnnotate && v.tail == ir::Tail::kAuto && v.text.empty() && wanted.is_array();
      if (plain_list && wanted.size() != v.numbers.size()) return false;  // cheap before exact
      if (plain_list && !v.numbers.empty() && wanted.back() != v.numbers.back()) return false;
      return json_of(knob, v) == wanted;
    };
    const auto at = std::find_if(knob.values.begin(), knob.values.end(), same);
    if (at == knob.values.end()) return refuse(knob.name + " cannot be " + support::to_text(wanted));
    digits[k] = static_cast<uint32_t>(at - knob.values.begin());
  }
  return index(digits);
}

bool Space::operator==(const Space& other) const {
  return std::equal(
      knobs_.begin(), knobs_.end(), other.knobs_.begin(), other.knobs_.end(),
      [](const Knob& a, const Knob& b) { return a.name == b.name && a.kind == b.kind && a.values == b.values; });
}

std::string to_string(const Space& space) {
  constexpr size_t kShown = 6;
  std::string text = "space of " + std::to_string(space.size()) + " points\n";
  for (const Knob& knob : space.knobs()) {
    text += "  " + knob.name + ": " + std::string(name_of(knob.kind));
    for (size_t i = 0; i < knob.axes.size(); ++i) text += (i == 0 ? " of " : ", ") + knob.axes[i];
    text += ", " + std::to_string(knob.values.size()) + (knob.values.size() == 1 ? " value: " : " values: ");
    for (size_t i = 0; i < std::min(kShown, knob.values.size()); ++i)
      text += (i == 0 ? "" : ", ") + to_json(knob, knob.values[i]);
    if (knob.values.size() > kShown) text += ", ... " + to_json(knob, knob.values.back());
    text += "\n";
  }
  return text;
}

}  // namespace tw::autotune
