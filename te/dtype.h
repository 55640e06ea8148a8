// Names of dtypes as users write and read them.
#pragma once

#include <string>
#include <string_view>

#include "tensorwright/ir.h"

namespace tw::te {

// "float32" and its like; "int", "uint" and "float" are those of 32 bits, as in tvm. Throws DTypeError with the nearest
// names.
ir::Type dtype_named(std::string_view name);

// The other way; an index is int32 to the user.
std::string dtype_name(ir::Type);

// Of a dtype that is for storage only: how to calculate with its values.
std::string way_out_of_storage(ir::Type);

// A constant becomes a constant of the type, everything else a cast.
ir::Expr convert(ir::Type, ir::Expr);

}  // namespace tw::te
