// Numbers of options as elements.
#pragma once

#include <optional>

#include "tensorwright/ir.h"
#include "tensorwright/ops/number.h"

namespace tw::te::ops {

// The number as one of the type: rounded to floats; nothing where an integer type, or bool, does not hold it.
std::optional<ir::Expr> exact(ir::Type, Number);

}  // namespace tw::te::ops
