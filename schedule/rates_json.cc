#include "schedule/rates_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace tw::schedule {

namespace {

struct Member {
  const char* name;
  double Rates::* value;
  bool may_be_zero;
  bool may_lack = false;  // as what was written before there was such a rate does
};
constexpr Member kMembers[] = {
    {"issue", &Rates::issue, false},
    {"l1_loads", &Rates::l1_loads, false},
    {"l2_bytes", &Rates::l2_bytes, false},
    {"l3_bytes", &Rates::l3_bytes, false},
    {"core_dram", &Rates::core_dram, false},
    {"all_dram", &Rates::all_dram, false},
    {"dot_u8i8", &Rates::dot_u8i8, true},
    {"dot_bf16", &Rates::dot_bf16, true},
    {"tile_rows", &Rates::tile_rows, false, true},
    {"clock", &Rates::clock, true},
    {"all_issue", &Rates::all_issue, false},
    {"all_l3", &Rates::all_l3, false},
};

}  // namespace

nlohmann::ordered_json to_json(const Rates& rates) {
  nlohmann::ordered_json json = {{"source", rates.source}};
  for (const Member& member : kMembers) json[member.name] = rates.*member.value;
  return json;
}

std::optional<Rates> rates_from(const nlohmann::ordered_json& json) {
  if (!json.is_object() || !json.contains("source") || !json["source"].is_string()) return std::nullopt;
  Rates rates;
  rates.source = json["source"].get<std::string>();
  for (const Member& member : kMembers) {
    const auto found = json.find(member.name);
    if (found == json.end() && member.may_lack) continue;
    if (found == json.end() || !found->is_number()) return std::nullopt;
    const auto value = found->get<double>();
    if (!std::isfinite(value) || value < 0 || (value == 0 && !member.may_be_zero)) return std::nullopt;
    rates.*member.value = value;
  }
  return rates;
}

}  // namespace tw::schedule
