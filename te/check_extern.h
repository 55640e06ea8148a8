// Whether the statement of an extern stage reads its outputs before it has written them.
//
// Two ways to find out: an element of an output that the first of all accesses to it reads, for any extents; and
// running the statement on small integers where its extents are numbers and it calls nobody, for what stands under
// conditions.
#pragma once

#include <string>

#include "tensorwright/ir.h"

namespace tw::te {

// What it reads too early; empty: nothing that could be found.
std::string reads_unwritten(const ir::Program& alone);

}  // namespace tw::te
