// What the definition of a compute must satisfy: every variable is an axis of it, a reduction stands at its root only,
// and reads stay inside their tensors.
#pragma once

#include <string>

#include "te/read_notes.h"

namespace tw::te {

// Throws ExprError, or sets reads_before and clamps reads. `what` names the tensor: "compute C".
ReadNotes check_body(const std::string& what, Compute&, const SourceLine& where);

// The last part, in out_of_bounds.cc: reads outside are refused or clamped. One that is outside_early of the first axis
// is outside in the first iterations, unless it turns out that a scan needs later ones only: reads_before.
ReadNotes clamp_reads(const std::string& what, Compute&, const SourceLine& where);

// Throws where such a read outside is left.
void refuse_reads_before(const std::string& what, const Compute&, const SourceLine& where);

}  // namespace tw::te
