#include "codegen/calibration.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "codegen/measure_rates.h"
#include "schedule/rates_json.h"
#include "src/runtime/kernel.h"
#include "src/support/file_bytes.h"
#include "src/support/json_text.h"
#include "src/support/replace_file.h"
#include "src/target/cpu.h"

namespace tw::codegen {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;  // of the file, and of what the numbers are about

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string key_of(const MachineDescription& here, const Target& target) {
  return here.hardware.to_string() + ", " + std::to_string(here.threads) + " threads, vectors of " +
         std::to_string(target.abilities.vector_bits) + " bits";
}

// Of all machines that the file knows; empty where it has no sense.
Json kept_machines() {
  const Json json = support::read_json<Json>(support::file_bytes(rates_path()).value_or(""));
  const bool sound = json.is_object() && json.contains("schema") && json["schema"] == kSchema &&
                     json.contains("machines") && json["machines"].is_object();
  return sound ? json["machines"] : Json::object();
}

// What this process has measured, whether or not it could be kept.
struct Measured {
  std::mutex mutex;
  std::map<std::string, Rates> rates;
};

Measured& of_process() {
  static Measured all;
  return all;
}

// What this process has measured, else what is kept.
std::optional<Rates> known_rates(const std::string& key) {
  {
    const std::lock_guard lock(of_process().mutex);
    const auto measured = of_process().rates.find(key);
    if (measured != of_process().rates.end()) return measured->second;
  }
  const Json machines = kept_machines();
  const auto kept = machines.find(key);
  return kept == machines.end() ? std::nullopt : schedule::rates_from(*kept);
}

void keep(const std::string& key, const Rates& rates) {
  const std::filesystem::path path = rates_path();
  if (path.empty()) return;
  Json machines = kept_machines();
  machines[key] = schedule::to_json(rates);
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  // Where that fails the disk is full, and what was kept stays.
  support::replace_file(path, support::to_printable_text(Json{{"schema", kSchema}, {"machines", machines}}, 2) + "\n");
}

}  // namespace

std::string rates_path() {
  if (const std::string folder = variable("TW_CACHE_DIR"); !folder.empty()) return folder + "/rates.json";
  std::string folder = variable("XDG_CACHE_HOME");
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.cache";
  return folder.empty() ? "" : folder + "/tensorwright/rates.json";
}

MachineDescription with_kept_rates(MachineDescription here, const Target& target) {
  if (const auto rates = known_rates(key_of(here, target))) here.rates[target.abilities.vector_bits] = *rates;
  return here;
}

Rates calibrate(const MachineDescription& here, const Target& target) {
  runtime::require_measuring_allowed("calibrate");
  const Rates rates = measure_rates(target, here);
  const std::lock_guard lock(of_process().mutex);
  of_process().rates[key_of(here, target)] = rates;
  keep(key_of(here, target), rates);
  return rates;
}

MachineDescription calibrated(MachineDescription here, const Target& target) {
  here = with_kept_rates(std::move(here), target);
  if (target.kind == "interp") return here;  // which has no use for them
  if (here.rates.count(target.abilities.vector_bits) > 0 || !target.arch.empty() ||
      !target::why_not_here(target).empty())
    return here;
  try {
    here.rates[target.abilities.vector_bits] = calibrate(here, target);
  } catch (const Error&) {
    // Without: rates of the CPU's table, or what CPUs have in common, serve as well.
  }
  return here;
}

}  // namespace tw::codegen
