// What a template receives: knobs are collected in the first run and fixed in those that follow.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "autotune/space/knobs.h"
#include "autotune/space/trace.h"
#include "src/support/json_text.h"

namespace tw::autotune {

using schedule::Factor;
using schedule::Schedule;
using schedule::Split;
using schedule::Step;

Config::Config() = default;
Config::Config(const Space& space, Digits digits) : knobs_(space.knobs()), digits_(std::move(digits)), fixed_(true) {
  TW_CHECK(digits_.size() == knobs_.size());
}

Config Config::with_choices(const Space& known, Digits digits) {
  Config config(known, std::move(digits));
  config.fixed_ = false;
  return config;
}

void Config::define(Knob knob) {
  if (knob.name.empty()) tune_error("a knob must have a name");
  const auto at = std::find_if(knobs_.begin(), knobs_.end(), [&](const Knob& k) { return k.name == knob.name; });
  if (at != knobs_.end()) {
    if (at->kind == knob.kind && at->values == knob.values) return;
    tune_error(fixed_ ? "the template defines another knob \"" + knob.name + "\" in this run than in its first"
                      : "the knob \"" + knob.name + "\" is defined twice with different values",
               {"a knob's name, kind and values must depend on the template's arguments only"});
  }
  if (fixed_) {
    tune_error("the template defines a knob \"" + knob.name + "\" that its first run did not define",
               {"which knobs there are must not depend on the value of a knob or on chance"});
  }
  knobs_.push_back(std::move(knob));
  digits_.push_back(0);
}

void Config::define_split(const std::string& name, int64_t extent, const SplitOptions& options,
                          const std::string& axis) {
  define(Knob{name,
              KnobKind::kSplit,
              {axis.empty() ? "0.." + std::to_string(extent) : axis},
              split_values(name, extent, options)});
}

void Config::define_knob(const std::string& name, const std::vector<int64_t>& values) {
  std::vector<std::string> texts;
  for (int64_t v : values) texts.push_back(std::to_string(v));
  define_knob_json(name, texts);
}

void Config::define_knob_json(const std::string& name, const std::vector<std::string>& values) {
  Knob knob{name, KnobKind::kValue, {}, {}};
  for (const std::string& text : values) {
    const auto json = support::read_json<nlohmann::json>(text);
    if (json.is_discarded()) tune_error("define_knob: a value of \"" + name + "\" is no JSON: " + text);
    KnobValue value;
    if (json.is_number_integer())
      value.numbers = {json.get<int64_t>()};
    else
      value.text = support::to_text(json);
    if (json.is_array() && std::all_of(json.begin(), json.end(), [](const auto& v) { return v.is_number_integer(); }))
      value.numbers = json.get<std::vector<int64_t>>();
    if (std::find(knob.values.begin(), knob.values.end(), value) == knob.values.end())
      knob.values.push_back(std::move(value));
  }
  if (knob.values.empty()) tune_error("define_knob: \"" + name + "\" must have at least one value");
  define(std::move(knob));
}

void Config::define_reorder(const std::string& name, const std::vector<std::string>& axes,
                            const std::vector<std::vector<int>>& orders) {
  define(Knob{name, KnobKind::kReorder, axes, reorder_values(name, axes.size(), orders)});
}

void Config::define_annotate(const std::string& name, const std::vector<std::string>& axes, const std::string& policy) {
  define(Knob{name, KnobKind::kAnnotate, axes, annotate_values(name, axes.size(), policy)});
}

size_t Config::position(const std::string& name) const {
  for (size_t k = 0; k < knobs_.size(); ++k) {
    if (knobs_[k].name == name) return k;
  }
  std::string names;
  for (const Knob& knob : knobs_) names += (names.empty() ? "" : ", ") + knob.name;
  tune_error("there is no knob \"" + name + "\"",
             {names.empty() ? "no knob is defined yet" : "defined so far: " + names});
}

const Knob& Config::knob(const std::string& name) const { return knobs_[position(name)]; }
const KnobValue& Config::chosen(const std::string& name) const {
  const size_t k = position(name);
  return knobs_[k].values[digits_[k]];
}

void Config::choose(const std::string& name, KnobValue value) {
  const size_t k = position(name);
  std::vector<KnobValue>& values = knobs_[k].values;
  const auto known = std::find(values.begin(), values.end(), value);
  digits_[k] = static_cast<uint32_t>(known - values.begin());
  if (known == values.end()) values.push_back(std::move(value));
}

Factor Config::factor(const std::string& name, int part) const {
  const KnobValue& value = chosen(name);
  if (part < 0 || part >= std::ssize(value.numbers)) {
    tune_error("the knob \"" + name + "\" has " + std::to_string(value.numbers.size()) + " numbers; there is none at " +
               std::to_string(part));
  }
  return Factor(name, part, value.numbers[static_cast<size_t>(part)]);
}

void Config::mark_read(const std::string& name) {
  const size_t knob = position(name);
  if (std::find(read_.begin(), read_.end(), knob) == read_.end()) read_.push_back(knob);
}

int64_t Config::value(const std::string& name, int part) {
  mark_read(name);
  return factor(name, part).value;
}

std::string Config::value_json(const std::string& name) {
  mark_read(name);
  return to_json(knob(name), chosen(name));
}

void Config::mark_steps(const std::string& name, size_t first, size_t last, const std::string& stage,
                        const std::vector<std::string>& axes) {
  marks_.push_back(Mark{first, last, position(name), stage, axes});
}

namespace {

void expect(const Knob& knob, KnobKind kind, size_t given, const char* what) {
  if (knob.kind != kind) tune_error("the knob \"" + knob.name + "\" is no " + std::string(what));
  const size_t wanted = kind == KnobKind::kSplit ? given : knob.values[0].numbers.size();
  if (given != wanted) {
    tune_error("the knob \"" + knob.name + "\" is defined for " + std::to_string(wanted) + " axes and applied to " +
               std::to_string(given));
  }
}

}  // namespace

std::vector<std::string> Config::apply_split(const std::string& name, Schedule& s, const std::string& stage,
                                             const std::string& axis) {
  expect(knob(name), KnobKind::kSplit, 1, "split");
  const KnobValue& value = chosen(name);
  const size_t first = s.steps().size();
  std::vector<std::string> axes;
  std::string rest = axis;
  for (size_t part = value.numbers.size(); part-- > 1;) {
    s.apply(Split{stage, rest, factor(name, static_cast<int>(part)), std::nullopt, value.tail});
    axes.insert(axes.begin(), rest + ".i");
    rest += ".o";
  }
  axes.insert(axes.begin(), rest);
  mark_steps(name, first, s.steps().size(), stage, {axis});
  return axes;
}

void Config::apply_reorder(const std::string& name, Schedule& s, const std::string& stage,
                           const std::vector<std::string>& axes) {
  expect(knob(name), KnobKind::kReorder, axes.size(), "reorder");
  const size_t first = s.steps().size();
  for (Step& step : steps_of_choice(knob(name), chosen(name), stage, axes)) s.apply(std::move(step));
  mark_steps(name, first, s.steps().size(), stage, axes);
}

void Config::apply_annotate(const std::string& name, Schedule& s, const std::string& stage,
                            const std::vector<std::string>& axes) {
  expect(knob(name), KnobKind::kAnnotate, axes.size(), "annotation");
  const size_t first = s.steps().size();
  for (Step& step : steps_of_choice(knob(name), chosen(name), stage, axes)) s.apply(std::move(step));
  mark_steps(name, first, s.steps().size(), stage, axes);
}

}  // namespace tw::autotune
