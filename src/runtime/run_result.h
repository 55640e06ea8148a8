// What becomes of a run's result: it is judged, and stands in a line of the log.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tensorwright/runtime.h"

namespace tw::runtime {

// Times come from a process that a candidate may have damaged, or over a network: some are none.
RunResult judged(RunResult);

// Less than the work takes at least, by more than that bound may be wrong.
bool too_fast(double seconds, double lower_bound_s);

// That which is called so.
std::optional<RunStatus> run_status(std::string_view name);

// Text of workers may hold any bytes; JSON is UTF-8. At most 2,000 of them.
std::string printable(std::string text);
std::string one_line(std::string text);

struct RecordedResult {
  std::string status;
  double seconds = 0, spread = 0;
  int runs = 0;
  std::string detail;
  double rtol = 0;  // of the check of its output; 0: exact
};
// The fields "result" and "check" of a record.
void put_result(nlohmann::ordered_json& record, const RecordedResult&);

// As records have it: 2026-01-31T12:00:00Z.
std::string utc_now();

}  // namespace tw::runtime
