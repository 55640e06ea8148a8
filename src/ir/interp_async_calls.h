// The calls of src/ir/async_copies.h as a thread makes them.
#pragma once

#include "src/ir/interp_program.h"

namespace tw::ir::interp {

ExprPtr async_code(Preparation&, const CallExtern&);

}  // namespace tw::ir::interp
