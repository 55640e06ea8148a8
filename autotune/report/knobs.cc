// What the best has and the others do not: for each knob, how fast the fastest candidate with each of its values is.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "autotune/report/charts.h"
#include "autotune/report/svg.h"
#include "src/support/json_text.h"

namespace tw::autotune {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostKnobs = 12, kMostValues = 6;
constexpr double kWidth = 520, kRow = 22, kGap = 12, kBarLeft = 190, kBarRight = 430;

struct Value {
  std::string text;
  double fastest = 0;  // seconds
  int count = 0;
  bool of_best = false;
};

struct KnobUse {
  std::string name;
  std::vector<Value> values;  // the fastest first
  double loss = 1;            // the fastest time of the worst value shown / that of the best
};

std::vector<KnobUse> knob_uses(const Subject& s) {
  std::vector<std::string> names;
  std::map<std::string, std::map<std::string, Value>> uses;
  const Json best = s.best ? support::read_json<Json>(s.best->knobs) : Json();
  for (const Trial& t : s.trials) {
    const Json knobs = support::read_json<Json>(t.knobs);
    if (!t.ok() || !knobs.is_object()) continue;
    for (const auto& [name, value] : knobs.items()) {
      if (!uses.contains(name)) names.push_back(name);
      Value& use = uses[name][support::to_text(value)];
      use.text = value.is_string() ? value.get<std::string>() : support::to_text(value);
      use.fastest = use.count == 0 ? t.seconds : std::min(use.fastest, t.seconds);
      use.of_best = best.is_object() && best.contains(name) && best[name] == value;
      ++use.count;
    }
  }
  std::vector<KnobUse> out;
  for (const std::string& name : names) {
    KnobUse use{name, {}, 1};
    for (const auto& [key, value] : uses[name]) use.values.push_back(value);
    std::stable_sort(use.values.begin(), use.values.end(),
                     [](const Value& a, const Value& b) { return a.fastest < b.fastest; });
    if (use.values.size() > kMostValues) use.values.resize(kMostValues);
    use.loss = use.values.back().fastest / use.values.front().fastest;
    if (use.values.size() > 1) out.push_back(std::move(use));
  }
  std::stable_sort(out.begin(), out.end(), [](const KnobUse& a, const KnobUse& b) { return a.loss > b.loss; });
  if (out.size() > kMostKnobs) out.resize(kMostKnobs);
  return out;
}

}  // namespace

std::string knob_chart(const Subject& s) {
  const std::vector<KnobUse> uses = knob_uses(s);
  if (uses.empty()) return "";
  double height = kGap, fastest = uses.front().values.front().fastest;
  for (const KnobUse& use : uses) {
    height += kRow * static_cast<double>(use.values.size() + 1) + kGap;
    fastest = std::min(fastest, use.values.front().fastest);
  }
  Drawing drawing("chart knobs", "The fastest candidate with each value of each knob", kWidth, height);
  double top = kGap;
  for (const KnobUse& use : uses) {
    drawing.text("label strong", {16, top + 15}, use.name);
    top += kRow;
    for (const Value& value : use.values) {
      const double share = fastest / value.fastest;
      drawing.text("label", {kBarLeft - 8, top + 15}, value.text.substr(0, 26), "end");
      drawing.rectangle(value.of_best ? "value winner" : "value", {kBarLeft, top + 3}, (kBarRight - kBarLeft) * share,
                        kRow - 6, " data-share=\"" + number(share) + "\"",
                        use.name + " = " + value.text + ": " + std::to_string(value.count) + " trials");
      drawing.text("note", {kBarLeft + (kBarRight - kBarLeft) * share + 6, top + 15}, time_text(value.fastest));
      top += kRow;
    }
    top += kGap;
  }
  return std::move(drawing).svg();
}

}  // namespace tw::autotune
