// Tensor expressions as the Python that declares them.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/te.h"

namespace tw::diff {

std::string python_name(std::string tensor);  // T.v0 is T_v0

// One line per placeholder, reduction axis and stage, producers first; names are python_name() of the tensors'.
// The scalars come first.
std::string te_python(const std::vector<te::Tensor>& outputs, const std::vector<ir::Var>& scalars = {});

std::string python_text(const ir::Expr&);

}  // namespace tw::diff
