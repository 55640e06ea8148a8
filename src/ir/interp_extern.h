// Calls of C functions from the interpreter.
#pragma once

#include "src/ir/interp_program.h"

namespace tw::ir::interp {

ExprPtr extern_code(Preparation&, const CallExtern&, Type result);

}  // namespace tw::ir::interp
