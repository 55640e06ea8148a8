#include "autotune/log/recorded_target.h"

#include <map>
#include <mutex>

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

}  // namespace tw::autotune
