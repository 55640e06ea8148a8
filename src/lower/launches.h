// What passes ask of programs that hold launches.
#pragma once

#include "tensorwright/ir.h"

namespace tw::lower {

// Whether any of it runs on a device.
bool holds_launch(const ir::Program&);

// Whether threads wait for each other somewhere in there: neither may a copy of it stand beside it under another
// condition, nor may its loops run less often for some threads.
bool meets(const ir::Stmt&);

}  // namespace tw::lower
