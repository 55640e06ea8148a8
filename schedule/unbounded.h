// Stages that are computed whole, or wider than they are read, in each iteration of the loop at which they stand, since
// a subscript there has no bound. The meaning is the same; the work may be that of all iterations, in each of them.
#pragma once

#include <string>
#include <vector>

#include "schedule/bounds.h"

namespace tw::schedule {

// By stage: "all of i in each iteration of C's loop i.o: C's subscript i*i % n has no bound there". Nothing of a nest
// that breaks a rule.
std::vector<std::vector<std::string>> unbounded_notes(const LoopNest&, const std::vector<Step>&);

// Refuses the first of them, and what Schedule::check refuses.
Status check_strictly(const Schedule&);

}  // namespace tw::schedule
