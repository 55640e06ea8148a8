#include "rpc/tracker/facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/support/json_text.h"

namespace tw::rpc {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 8;

bool is_list_of_texts(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& item) { return item.is_string(); });
}

void collect(const Json& json, const std::string& path, int depth, Facts& facts) {
  if (json.is_object() && depth < kDeepest) {
    for (const auto& [name, field] : json.items())
      collect(field, path.empty() ? name : path + "." + name, depth + 1, facts);
  } else if (json.is_boolean()) {
    facts[path] = json.get<bool>();
  } else if (json.is_number()) {
    facts[path] = json.get<double>();
  } else if (json.is_string()) {
    facts[path] = json.get<std::string>();
  } else if (is_list_of_texts(json)) {
    facts[path] = json.get<std::vector<std::string>>();
  }
}

}  // namespace

Result<Facts> facts_of(std::string_view description) {
  const Json json = support::read_json<Json>(description);
  if (!json.is_object())
    return Diagnostic{
        ErrorKind::kRpc, "the board's description is no JSON object", {}, {"is tw-board of this release?"}};
  Facts facts;
  collect(json, "", 0, facts);
  return facts;
}

}  // namespace tw::rpc
