// Steps as JSON: one array per Step, its name and then its fields in the order of fields():
//
//   [["split","C","i",16,null,"mask"],["reorder","C",["i.o","j","i.i"]]]
//
// Fields that a Step had not from the beginning stand where they say something.
//
// A factor is a number, an expression over scalars as "n // 4", or {"knob":"tile_j","part":1,"value":8} when it refers
// to a tuner's knob.
#include <nlohmann/json.hpp>

#include "schedule/loop_nest.h"
#include "schedule/tails.h"
#include "src/support/json_text.h"

namespace tw::schedule {

using nlohmann::json;

namespace {

// How many fields a Step has, and how many it had when it was new: texts of then have no others.
template <class K>
constexpr size_t kFields = std::tuple_size_v<decltype(K{}.fields())>;
template <class K>
constexpr size_t kFirstFields = kFields<K>;
template <>
constexpr size_t kFirstFields<Prefetch> = 4;
template <>
constexpr size_t kFirstFields<CacheRead> = 3;

// ----------------------------------------------------------------------------------------------------------------
// writing

json write(const std::string& text) { return text; }
json write(int64_t value) { return value; }
json write(const std::optional<int64_t>& value) { return value ? json(*value) : json(nullptr); }
json write(Tail tail) { return to_string(tail); }
json write(Scope scope) { return to_string(scope); }
json write(const std::vector<std::string>& names) { return names; }
json write(const Factor& factor) {
  if (!factor.size.empty()) return factor.size;
  if (!factor.is_reference()) return factor.value;
  return {{"knob", factor.knob}, {"part", factor.part}, {"value", factor.value}};
}
json write(const std::optional<Factor>& factor) { return factor ? write(*factor) : json(nullptr); }

// ----------------------------------------------------------------------------------------------------------------
// reading

struct Malformed {
  std::string what;
};

template <class E, size_t N>
E one_of(const json& from, const E (&values)[N]) {
  std::string expected;
  for (E value : values) {
    if (from.is_string() && from.get_ref<const std::string&>() == to_string(value)) return value;
    expected += (expected.empty() ? "" : ", ") + to_string(value);
  }
  throw Malformed{"one of " + expected + ", not " + support::to_text(from)};
}

void read(const json& from, std::string& to) {
  if (!from.is_string()) throw Malformed{"a string, not " + support::to_text(from)};
  to = from.get<std::string>();
}
void read(const json& from, int64_t& to) {
  if (!from.is_number_integer()) throw Malformed{"an integer, not " + support::to_text(from)};
  to = from.get<int64_t>();
}
void read(const json& from, std::optional<int64_t>& to) {
  if (!from.is_null()) read(from, to.emplace());
}
void read(const json& from, Tail& to) { to = one_of(from, kTailsOfSplits); }
void read(const json& from, Scope& to) { to = one_of(from, ir::kScratchScopes); }
void read(const json& from, std::vector<std::string>& to) {
  if (!from.is_array()) throw Malformed{"an array of strings, not " + support::to_text(from)};
  for (const json& item : from) read(item, to.emplace_back());
}
void read(const json& from, Factor& to) {
  if (from.is_string() && !from.get_ref<const std::string&>().empty()) return read(from, to.size);
  if (!from.is_object()) return read(from, to.value);
  int64_t part = 0;
  if (!from.contains("knob") || !from.contains("part"))
    throw Malformed{"a number or an object with knob, part and value, not " + support::to_text(from)};
  read(from["knob"], to.knob);
  read(from["part"], part);
  to.part = static_cast<int>(part);
  if (from.contains("value")) read(from["value"], to.value);
}
void read(const json& from, std::optional<Factor>& to) {
  if (!from.is_null()) read(from, to.emplace());
}

// fields() is a tuple of references to const members; a Step under construction is ours to fill.
template <class T>
void read_field(const json& from, const T& field) {
  read(from, const_cast<T&>(field));
}

template <class K>
Step read_step(const json& from) {
  K step;
  const size_t given = from.size() - 1;
  if (given < kFirstFields<K> || given > kFields<K>)
    throw Malformed{std::to_string(kFields<K>) + " fields after \"" + K::kName + "\", not " + std::to_string(given)};
  size_t next = 1;
  const auto read_next = [&](const auto& field) {
    if (next < from.size()) read_field(from[next++], field);
  };
  std::apply([&](const auto&... field) { (read_next(field), ...); }, step.fields());
  return step;
}

template <size_t I = 0>
Step read_any(const std::string& name, const json& from) {
  if constexpr (I == std::variant_size_v<StepKind>) {
    throw Malformed{"the name of a Step, not \"" + name + "\""};
  } else {
    using K = std::variant_alternative_t<I, StepKind>;
    return name == K::kName ? read_step<K>(from) : read_any<I + 1>(name, from);
  }
}

Diagnostic malformed(const std::string& where, const std::string& what) {
  Diagnostic d;
  d.kind = ErrorKind::kParse;
  d.what = "steps: " + where + " must be " + what;
  d.notes.push_back(R"(Steps are written as [["split","C","i",16,null,"auto"],...])");
  return d;
}

}  // namespace

std::string to_json(const std::vector<Step>& steps) {
  json all = json::array();
  for (const Step& step : steps)
    std::visit(
        [&]<class K>(const K& kind) {
          json one = json::array({K::kName});
          std::apply([&](const auto&... field) { (one.push_back(write(field)), ...); }, kind.fields());
          while (one.size() > kFirstFields<K> + 1 && (one.back() == "" || one.back() == json::array()))
            one.erase(one.size() - 1);
          all.push_back(std::move(one));
        },
        step.kind);
  return support::to_printable_text(all);
}

Result<std::vector<Step>> steps_from_json(std::string_view text) {
  json all = support::read_json<json>(text);
  if (all.is_discarded()) return malformed("the text", "JSON");
  if (!all.is_array()) return malformed("the text", "an array of Steps, not " + support::to_text(all).substr(0, 60));
  std::vector<Step> steps;
  for (const json& one : all) {
    std::string where = "Step " + std::to_string(steps.size());
    if (!one.is_array() || one.empty() || !one[0].is_string())
      return malformed(where,
                       "an array that begins with the name of a Step, not " + support::to_text(one).substr(0, 60));
    try {
      steps.push_back(read_any(one[0].get<std::string>(), one));
    } catch (const Malformed& problem) {
      return malformed(where + ", " + support::to_text(one).substr(0, 60) + ",", problem.what);
    }
  }
  return steps;
}

}  // namespace tw::schedule
