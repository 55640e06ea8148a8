// The calls of src/ir/group_products.h as a thread makes them.
#pragma once

#include "src/ir/interp_program.h"

namespace tw::ir::interp {

ExprPtr group_code(Preparation&, const CallExtern&);

}  // namespace tw::ir::interp
