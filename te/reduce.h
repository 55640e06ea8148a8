// What reductions of all kinds ask of their parts. Each throws an Error that begins with `name`, the function that was
// called.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/te.h"

namespace tw::te {

// At least one, each a reduce axis, each once.
std::vector<ir::ReduceAxis> reduced_axes(const std::string& name, const std::vector<IterVar>& axis);
// A condition, or empty.
Expr reduced_where(const std::string& name, Expr where);
// One value for each source, of its dtype.
std::vector<Expr> reduced_init(const std::string& name, const std::vector<Expr>& sources, std::vector<Expr> init);
// A value of component i, of its type; numbers take it. `what` it is stands in the message.
Expr of_component(const std::string& name, const std::string& what, size_t i, Expr value, Type);

}  // namespace tw::te
