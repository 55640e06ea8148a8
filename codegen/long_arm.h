// A select of which one arm takes long, and the other a good part of that: lanes, or threads, rarely want the long one.
#pragma once

#include "tensorwright/ir.h"

namespace tw::codegen {

// Where the short arm is a constant or the like, lanes want either.
bool has_long_arm(const ir::Select&);

}  // namespace tw::codegen
