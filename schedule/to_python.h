// A schedule as the Python that a person would write:
//
//   s = te.create_schedule(C)
//   C_local = s.cache_write(C, "local")
//   i, j = s[C].op.axis
//   io, ii = s[C].split(i, factor=16, tail="mask")
//   s[C_local].compute_at(s[C], io)
//
// Tensors are expected in variables of their names, with _ for what no identifier has. Running the text gives equal
// Steps.
#pragma once

#include <string>

#include "tensorwright/schedule.h"

namespace tw::schedule {

std::string to_python(const Schedule&);

}  // namespace tw::schedule
