// Lines of the log.
//
//   {"tensorwright":1,"kind":"trial","task":{...},"target":"...",...,"checksum":"0123456789abcdef"}
//
// The first key names the schema, so that a line that was cut off is still known as ours.
#include "autotune/log/record.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autotune/log/recorded_target.h"
#include "autotune/model/features.h"
#include "schedule/rates_json.h"
#include "src/runtime/run_result.h"
#include "src/support/json_text.h"
#include "src/support/release.h"

namespace tw::autotune {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::string_view kMagic = "{\"tensorwright\":";

Json json_or_null(const std::string& text) {
  Json json = support::read_json<Json>(text);
  return json.is_discarded() ? Json() : json;
}

Json to_json(const runtime::RunPlace& place) {
  return {{"name", runtime::printable(place.board)},
          {"hertz", place.hertz},
          {"celsius", place.celsius},
          {"governor", runtime::printable(place.governor)}};
}

runtime::RunPlace place_from(const Json& json) {
  return {json.value("name", ""), json.value("hertz", 0.0), json.value("celsius", 0.0), json.value("governor", "")};
}

Record record_from(const Json& json) {
  Record r;
  r.kind = json.at("kind").get<std::string>();
  const Json& task = json.at("task");
  const auto hardware = json.at("hardware").get<std::string>();
  r.key = RecordKey{task.at("hash").get<std::string>(), target_today(json.at("target").get<std::string>(), hardware),
                    json.at("threads").get<int>(), hardware};
  r.name = task.at("name").get<std::string>();
  r.args = support::to_text(task.at("args"));
  r.flops = task.value("flops", 0.0);
  r.bytes = task.value("bytes", 0.0);
  r.trial.knobs = support::to_text(json.at("knobs"));
  r.trial.steps = schedule::steps_from_json(support::to_text(json.at("steps"))).value_or_throw();
  const Json& result = json.at("result");
  r.trial.status = result.at("status").get<std::string>();
  r.trial.seconds = result.at("seconds").get<double>();
  r.trial.spread = result.at("spread").get<double>();
  r.trial.runs = result.at("runs").get<int>();
  r.trial.detail = result.at("detail").get<std::string>();
  if (r.kind == "range") r.at = json.at("at").get<int64_t>();
  if (json.contains("check")) r.trial.rtol = json["check"].value("rtol", 0.0);
  const Json& environment = json.at("environment");
  r.version = environment.at("version").get<std::string>();
  r.time = environment.at("time").get<std::string>();
  r.seed = environment.at("seed").get<uint64_t>();
  r.number = environment.value("number", int64_t{0});
  r.pruned = environment.value("pruned", int64_t{0});
  r.lag = environment.value("lag", 0);
  if (environment.contains("board")) r.trial.place = place_from(environment["board"]);
  r.trial.place.drift = environment.value("drift", 1.0);
  if (environment.contains("rates")) r.rates = schedule::rates_from(environment["rates"]);
  if (json.contains("features") && json["features"].value("version", 0) == kFeatureVersion)
    r.features = json["features"].value("values", std::vector<float>{});
  return r;
}

// What no release has written: a line that bears a right checksum and makes no sense.
std::string nonsense(const Record& r) {
  if (r.kind != "trial" && r.kind != "confirm" && r.kind != "range") return "a record of kind " + r.kind;
  if (r.key.threads < 1) return "measured on " + std::to_string(r.key.threads) + " threads";
  if (r.trial.timed() && !(r.trial.seconds > 0 && std::isfinite(r.trial.seconds)))
    return "took " + std::to_string(r.trial.seconds) + " seconds";
  return {};
}

// Logarithms and shares: a hundredth is more than is known.
Json rounded(const std::vector<float>& values) {
  Json out = Json::array();
  for (float v : values) {
    const double hundredths = std::round(100.0 * v);
    if (std::fmod(hundredths, 100) == 0)
      out.push_back(static_cast<int64_t>(hundredths / 100));
    else
      out.push_back(hundredths / 100);
  }
  return out;
}

}  // namespace

TW_DEFINE_VALUE(Record);
Record::Record() = default;

std::string to_line(const Record& r) {
  const Trial& t = r.trial;
  Json json;
  json["tensorwright"] = kSchema;
  json["kind"] = r.kind;
  if (r.at != 0) json["at"] = r.at;
  json["task"] = {
      {"hash", r.key.hash}, {"name", r.name}, {"args", json_or_null(r.args)}, {"flops", r.flops}, {"bytes", r.bytes}};
  json["target"] = r.key.target;
  json["threads"] = r.key.threads;
  json["hardware"] = runtime::printable(r.key.hardware);
  json["knobs"] = json_or_null(t.knobs);
  json["steps"] = json_or_null(schedule::to_json(t.steps));
  runtime::put_result(json, {t.status, t.seconds, t.spread, t.runs, t.detail, t.rtol});
  json["environment"] = {{"version", r.version.empty() ? support::kRelease : r.version},
                         {"time", r.time.empty() ? runtime::utc_now() : r.time},
                         {"seed", r.seed},
                         {"number", r.number},
                         {"pruned", r.pruned}};
  if (r.lag != 0) json["environment"]["lag"] = r.lag;
  if (t.place.drift != 1) json["environment"]["drift"] = t.place.drift;
  if (!t.place.board.empty()) json["environment"]["board"] = to_json(t.place);
  if (r.rates) json["environment"]["rates"] = schedule::to_json(*r.rates);
  if (!r.features.empty()) json["features"] = {{"version", kFeatureVersion}, {"values", rounded(r.features)}};
  return support::sealed(support::to_printable_text(json));
}

Result<Record> parse_line(std::string_view line) {
  const auto refuse = [](std::string why) { return Diagnostic{ErrorKind::kLog, std::move(why), {}, {}}; };
  if (!line.starts_with(kMagic)) return refuse("not a line of a tuning log");
  int schema = 0;
  std::from_chars(line.data() + kMagic.size(), line.data() + line.size(), schema);
  if (schema > kSchema)
    return refuse("schema " + std::to_string(schema) + " is newer than this release's " + std::to_string(kSchema));
  TW_TRY(const std::string object, support::unsealed(line));
  try {
    Record record = record_from(support::parse_json<Json>(object));
    if (const std::string why = nonsense(record); !why.empty()) return refuse("malformed: " + why);
    return record;
  } catch (const std::exception& e) {
    return refuse(std::string("malformed: ") + e.what());
  }
}

}  // namespace tw::autotune
