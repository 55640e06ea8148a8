// Tensors as JSON text: the graph of operations that they need, which the same release reads back.
//
//   {"tensorwright": "0.1.0", "vars": [...], "nodes": [...], "operations": [...], "tensors": [[2, 0]]}
//
// An operation that was read before, in this process, and still lives is the same operation again, so that tensors
// which were written one by one fit together.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/te.h"

namespace tw::schedule {

// Throws where a stage is extern: its statement may call functions of this process.
std::string tensors_to_json(const std::vector<te::Tensor>&);
// Throws ParseError for anything but such a text, and what te says of a graph that has no meaning.
std::vector<te::Tensor> tensors_from_json(const std::string&);

}  // namespace tw::schedule
