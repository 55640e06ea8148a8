#include "rpc/check/checks_text.h"

#include <bit>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "src/runtime/inputs.h"

namespace tw::rpc {
namespace {

using Json = nlohmann::ordered_json;
using runtime::ArgSpec;
using runtime::Probe;

Json to_json(const ArgSpec& spec) {
  Json json{{"name", spec.name}, {"dtype", ir::to_string(spec.dtype)}, {"shape", spec.shape}};
  if (!spec.strides.empty()) json["strides"] = spec.strides;
  json["written"] = spec.written;
  if (spec.range) json["range"] = {spec.range->first, spec.range->second};
  return json;
}

ArgSpec arg_from(const Json& json) {
  ArgSpec spec;
  spec.name = json.at("name").get<std::string>();
  const std::optional<ir::Type> type = ir::parse_type(json.at("dtype").get<std::string>());
  if (!type) throw std::runtime_error("an argument of no known type");
  spec.dtype = *type;
  spec.shape = json.at("shape").get<std::vector<int64_t>>();
  if (json.contains("strides")) spec.strides = json["strides"].get<std::vector<int64_t>>();
  spec.written = json.at("written").get<bool>();
  if (json.contains("range")) spec.range = json["range"].get<std::pair<int64_t, int64_t>>();
  return spec;
}

// A double as its bits: JSON has neither NaN nor infinities.
Json to_json(const Probe& p) { return Json{p.argument, p.element, std::bit_cast<uint64_t>(p.expected)}; }
Probe probe_from(const Json& json) {
  return {json.at(0).get<size_t>(), json.at(1).get<int64_t>(), std::bit_cast<double>(json.at(2).get<uint64_t>())};
}

}  // namespace

nlohmann::ordered_json to_json(const Checks& checks) {
  Json json;
  json["target"] = checks.target;
  json["needs"] = {{"triple", checks.triple}, {"features", checks.features}, {"sve_bits", checks.sve_bits}};
  json["hardware"] = checks.hardware;
  json["threads"] = checks.threads;
  json["kernel"] = checks.kernel;
  json["inputs"] = runtime::kInputsVersion;
  json["args"] = Json::array();
  for (const ArgSpec& spec : checks.args) json["args"].push_back(to_json(spec));
  json["rtol"] = checks.rtol;
  json["reference"] = Json::object();
  if (checks.made_reference) {
    Json& probes = json["reference"]["probes"] = Json::array();
    for (const Probe& probe : checks.made_reference->probes) probes.push_back(to_json(probe));
  }
  json["limits"] = {{"timeout_s", checks.timeout_s}, {"number", checks.number}, {"repeat", checks.repeat}};
  return json;
}

Checks checks_from(const nlohmann::ordered_json& json) {
  if (json.at("inputs").get<int>() != runtime::kInputsVersion)
    throw Error(Diagnostic{ErrorKind::kTune,
                           "needs inputs that this release does not make",
                           {},
                           {"use the same release of Tensorwright on both sides"}});
  Checks checks;
  checks.target = json.at("target").get<std::string>();
  const Json& needs = json.at("needs");
  checks.triple = needs.at("triple").get<std::string>();
  checks.features = needs.at("features").get<std::vector<std::string>>();
  checks.sve_bits = needs.at("sve_bits").get<int>();
  checks.hardware = json.at("hardware").get<std::string>();
  checks.threads = json.at("threads").get<int>();
  checks.kernel = json.at("kernel").get<std::string>();
  for (const Json& arg : json.at("args")) checks.args.push_back(arg_from(arg));
  checks.rtol = json.at("rtol").get<std::vector<double>>();
  const Json& reference = json.at("reference");
  if (reference.contains("probes")) {
    checks.made_reference.emplace();
    for (const Json& probe : reference["probes"]) checks.made_reference->probes.push_back(probe_from(probe));
  }
  const Json& limits = json.at("limits");
  checks.timeout_s = limits.at("timeout_s").get<double>();
  checks.number = limits.at("number").get<int>();
  checks.repeat = limits.at("repeat").get<int>();
  if (const std::string why = unsound_arguments(checks); !why.empty()) throw std::runtime_error(why);
  return checks;
}

}  // namespace tw::rpc
