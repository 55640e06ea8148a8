// How the schedule says no: one first line "split: factor must be a positive integer, not 0", then the thing with its
// extent, the reason and the way out.
#pragma once

#include <string>
#include <vector>

#include "schedule/loop_nest.h"

namespace tw::schedule {

Diagnostic refuse(const std::string& step, const std::string& rule);

std::string describe(const StageNest&);          // "stage C (i 0..64, j 0..64, k reduction over 0..32)"
std::string describe(const StageNest&, AxisId);  // "stage C, axis k (reduction over 0..1025)"
std::string join(const std::vector<std::string>&, const std::string& separator = ", ");
Diagnostic with_hint(Diagnostic, const std::string& wanted,
                     const std::vector<std::string>& names);  // "did you mean ...?"

// The stage of that name, which must be computed (not a placeholder).
Result<int> computed_stage(const LoopNest&, const char* step, const std::string& name);
Result<int> any_stage(const LoopNest&, const char* step, const std::string& name);
// The loop of that name.
Result<AxisId> leaf(const StageNest&, const char* step, const std::string& axis);
// The same, but for the time of a scan, which stays the outermost loop and serial.
Result<AxisId> free_leaf(const StageNest&, const char* step, const std::string& axis);
// A loop that is an index of a device is nothing else besides.
Status not_bound(const StageNest&, const char* step, AxisId axis);
// A loop without an annotation; the note says what is done before one is given.
Status plain(const StageNest&, const char* step, AxisId axis, const char* note);
// The number that a Factor stands for.
Result<int64_t> number(const char* step, const char* field, const Factor&);

}  // namespace tw::schedule
