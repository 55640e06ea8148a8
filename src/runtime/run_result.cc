#include "src/runtime/run_result.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>

namespace tw::runtime {
namespace {

constexpr double kTooFastShare = 0.75;  // of the lower bound
constexpr std::string_view kStatuses[] = {"ok",      "beaten",   "wrong_answer", "crashed",
                                          "timeout", "too_fast", "load_failed",  "device_lost"};

}  // namespace

std::string_view to_string(RunStatus status) { return kStatuses[static_cast<size_t>(status)]; }

std::optional<RunStatus> run_status(std::string_view name) {
  const auto found = std::ranges::find(kStatuses, name);
  if (found == std::end(kStatuses)) return std::nullopt;
  return static_cast<RunStatus>(found - std::begin(kStatuses));
}

bool too_fast(double seconds, double lower_bound_s) { return seconds < kTooFastShare * lower_bound_s; }

RunResult judged(RunResult result) {
  if (result.status != RunStatus::kOk && result.status != RunStatus::kBeaten) return result;
  const std::string reported = "reported a time of " + std::to_string(result.seconds) + " seconds";
  if (!std::isfinite(result.seconds) || !std::isfinite(result.spread)) return {RunStatus::kCrashed, 0, 0, 0, reported};
  if (result.seconds <= 0) return {RunStatus::kTooFast, 0, 0, 0, reported};
  return result;
}

std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return text.substr(0, 2000);
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void put_result(nlohmann::ordered_json& record, const RecordedResult& r) {
  const bool beaten = r.status == "beaten";
  record["result"] = {{"status", r.status}, {"seconds", r.seconds}, {"bound", beaten},
                      {"spread", r.spread}, {"runs", r.runs},       {"detail", printable(r.detail)}};
  record["check"] = {{"passed", r.status == "ok" || (beaten && r.runs > 0)}, {"rtol", r.rtol}};
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace tw::runtime
