// Logs of AutoTVM, format 0.2: one JSON object per line.
//
//   {"input": [target, template, [argument, ...], {}],
//    "config": {"index": 172, "code_hash": null, "entity": [["tile_oc", "sp", [-1, 4]], ["unroll_kw", "ot", false]]},
//    "result": [[seconds, ...], error number, seconds in all, time], "version": 0.2, "tvm_version": "0.10.0"}
//
// A line of theirs says what knobs were chosen and how long it took, not what was computed nor on what: as a record it
// has a hash of its own (nothing of ours meets it), no Steps, and can be looked at. With the task whose template has
// those knobs it becomes a measurement of that task, which a tuner goes on from. A line of ours that was exported holds
// the record besides, where AutoTVM does not look, and comes back as it was.
#pragma once

#include <string>
#include <string_view>

#include "autotune/log/log_tools.h"

namespace tw::autotune {

std::string to_autotvm(const Record&);  // ends in a newline
Result<Record> from_autotvm(std::string_view line);
// As a record of that machine, on which AutoTVM's line is silent. Refused when the knobs are no point of the task's
// space.
Result<Record> from_autotvm(std::string_view line, const Task&, const MachineDescription&);

// Knobs as JSON, {"tile": [-1, 16]}, with the outermost extents that the task's space has for the inner ones.
std::string knobs_in(const Task&, const std::string& knobs_json);

// Whole files; `output` must not exist. What is no line of the format is dropped and named; throws LogError where no
// line is one.
LogEdit import_autotvm(const std::string& path, const std::string& output, const Task* task = nullptr,
                       const MachineDescription& machine = {});
LogEdit export_autotvm(const std::string& log, const std::string& output);

}  // namespace tw::autotune
