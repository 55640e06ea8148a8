// What the definition of a compute must satisfy: every variable is an axis of it, a reduction stands at its root only,
// and no read is provably outside its tensor.
#pragma once

#include <string>

#include "tensorwright/te.h"

namespace tw::te {

// Throws ExprError, or sets reads_before. `what` names the tensor: "compute C".
void check_body(const std::string& what, Compute&, const SourceLine& where);

// The last part, in out_of_bounds.cc. A read A[t - c, ...] of a placeholder, t the first axis and c > 0, is outside in
// the first iterations, unless A turns out to be the state of a scan: kBefore. With `strict` it is refused like the
// others.
enum class Reads { kInside, kBefore };
Reads check_reads(const std::string& what, const Compute&, const SourceLine& where, bool strict = false);

}  // namespace tw::te
