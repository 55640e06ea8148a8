// What the definition of a compute must satisfy: every variable is an axis of it, a reduction stands at its root only,
// and no read is provably outside its tensor.
#pragma once

#include <string>

#include "tensorwright/te.h"

namespace tw::te {

// Throws ExprError. `what` names the tensor: "compute C".
void check_body(const std::string& what, const Compute&, const SourceLine& where);

// The second half, in out_of_bounds.cc.
void check_reads(const std::string& what, const Compute&, const SourceLine& where);

}  // namespace tw::te
