// The identity of a computation, by which records are found again.
//
// A hash of a text in a form of its own (docs/tuning.md#records has it), not of the program as this release prints it:
// the same computation has the same hash in every process, on every machine and in every release of a schema. Its
// parts:
//   what is computed   operations in the order in which the outputs need them, with dtypes, extents and bodies
//   the arguments      their order, strides, ranges, and which may be packed: other kernels otherwise
//   names              of stages and axes, because a record's Steps say them: a schedule of `C` is none of `conv`.
//                      Variables inside bodies are known by their axes, so nothing depends on how they were made.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/te.h"

namespace tw::autotune {

// The text. `args` in the order of the kernel's.
std::string canonical_text(const std::vector<te::Tensor>& outputs, const std::vector<te::Tensor>& args);
// Those of a kernel's arguments that it computes.
std::vector<te::Tensor> outputs_among(const std::vector<te::Tensor>& args);
// 16 hexadecimal digits: FNV-1a, 64 bits, of the text.
std::string computation_hash(const std::vector<te::Tensor>& outputs, const std::vector<te::Tensor>& args);
// That of a computation of any size where sizes are as `args_json` says, {"n":8,"m":64}: Task::at_size.
std::string hash_at_sizes(const std::string& hash, const std::string& args_json);

}  // namespace tw::autotune
