// The parameters of a kernel as those of a C function.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::codegen {

const char* c_type_of(ir::Type type);  // of an element in memory, or of a scalar

// Names for C: one each, no keyword, no clash with a function's own. First of the parameters, then of the scalars.
std::vector<std::string> c_names(const ir::Program& program);

// Arrays and scalars in the order of the argument list, then the extents that shapes give.
std::vector<std::string> c_arguments(const ir::Program& program, const std::vector<std::string>& names);
std::string c_parameters(const ir::Program& program, const std::vector<std::string>& names);

// From the first element to behind the last one.
ir::Expr span_in_bytes(const ir::Buffer& buffer);

std::string shape_text(const ir::Buffer& buffer);  // "float32[n, 4]"

}  // namespace tw::codegen
