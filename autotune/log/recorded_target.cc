#include "autotune/log/recorded_target.h"

#include <mutex>
#include <nlohmann/json.hpp>

#include "src/support/json_text.h"

namespace tw::autotune {

std::string target_today(const std::string& recorded, const Target* here) {
  const size_t options = recorded.find(' ');  // ours begin with the CPU; other programs' lines stay as they came
  if (options == std::string::npos || !recorded.substr(options).starts_with(" -mcpu=")) return recorded;
  const Result<Target> target = Target::parse(recorded);
  if (!target.ok() || target->to_string() == recorded) return recorded;
  const bool same =
      here && here->kind == target->kind && here->triple == target->triple && here->features == target->features;
  return same ? here->to_string() : target->to_string();
}

std::string target_today(const std::string& recorded, const std::string& hardware) {
  static std::mutex lock;
  static std::map<std::pair<std::string, bool>, std::string> known;  // logs have many lines and few targets
  const bool measured_here = hardware == host_hardware().to_string();
  std::lock_guard guard(lock);
  const auto [found, is_new] = known.try_emplace({recorded, measured_here});
  if (is_new) {
    const Target here = Target::host();
    found->second = target_today(recorded, measured_here ? &here : nullptr);
  }
  return found->second;
}

bool OfTarget::operator()(std::string_view line) {
  const auto json = support::read_json<nlohmann::json>(line);
  const std::string recorded = json.is_object() ? json.value("target", "") : "";
  const auto [known, fresh] = known_.try_emplace(recorded, false);
  if (fresh) known->second = is(recorded);
  return known->second;
}

bool OfTarget::is(const std::string& recorded) const {
  if (recorded == text_) return true;
  const Result<Target> target = Target::parse(recorded);
  if (!target || target->to_string() == recorded) return false;
  return target->kind == wanted_.kind && target->triple == wanted_.triple && target->arch == wanted_.arch &&
         target->features == wanted_.features && target->sve_bits == wanted_.sve_bits;
}

}  // namespace tw::autotune
