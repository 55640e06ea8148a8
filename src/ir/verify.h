// What every program satisfies, before and after each pass.
#pragma once

#include "tensorwright/ir.h"

namespace tw::ir {

// The first invariant that `p` breaks, as a Diagnostic of kind kInternal; or ok.
Status verify(const Program& p);

}  // namespace tw::ir
