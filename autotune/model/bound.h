// The time under which no run of a candidate can be: what exceeds the best so far is never built, and what is faster is
// not believed.
//
//   max( terms of sums / what the vectors of its loops add in a cycle,
//        bytes that its footprints move into L1 / 64 a cycle, the same of L2 )  /  cores it uses * 6 GHz
//
// A roofline of the nest itself, with rates that no CPU that is sold exceeds. Only what is certain counts: work under a
// condition, or that another stage may make superfluous, does not.
#pragma once

#include <vector>

#include "schedule/machine.h"
#include "schedule/nest_view.h"
#include "tensorwright/schedule.h"

namespace tw::autotune {

double lower_bound_seconds(const schedule::LoopNest&, const std::vector<schedule::StageView>&,
                           const schedule::Machine&);
double lower_bound_seconds(const schedule::Schedule&, const schedule::Machine&);

}  // namespace tw::autotune
