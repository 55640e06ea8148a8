// The proof by running that an intrinsic's statements compute what its operation says: on small integers, which every
// dtype holds and adds exactly, in memory whose outputs hold values that nobody asked for.
#pragma once

#include "tensorwright/tensor_intrin.h"

namespace tw::te {

// What the statements call and nobody has registered or loaded; empty: the proof can run.
std::vector<std::string> missing_functions(const IntrinBodies&);

// ok, or what they compute instead. A body that adds to what it finds is dropped where an update does so too, since
// reset and update then say all there is.
Status prove_intrin(const Operation& op, IntrinBodies& does);

}  // namespace tw::te
