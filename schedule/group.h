// Groups: stages that are placed together.
//
//   B, C and D in a chain, group {B, C}; B.compute_at(C, i) places B inside of the group:
//     place_group at D's loop j      ==>  C.compute_at(D, j)
//
// A group is no part of a schedule, whose Steps say all there is: it is a set of names, and a way to make Steps.
#pragma once

#include "schedule/loop_nest.h"

namespace tw::schedule {

// The stages on the ways from `inputs` to `outputs`, producers first. Placeholders are none; a state of a scan may be
// an input. Refused where no way leads from the inputs to the outputs.
Result<std::vector<std::string>> group_members(const LoopNest&, const std::vector<te::Operation>& outputs,
                                               const std::vector<te::Operation>& inputs, bool include_inputs);

// What computes the members at that loop of `consumer`, or at root where it is empty, readers first: all but those that
// are computed inside another member, or inlined.
Result<std::vector<Step>> place_group(const LoopNest&, const std::vector<std::string>& members,
                                      const std::string& consumer, const std::string& axis,
                                      const SourceLine& where = {});

}  // namespace tw::schedule
