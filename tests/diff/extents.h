// What the loops of a view claim, against those of the derived program.
#pragma once

#include <string>

#include "tensorwright/schedule.h"

namespace tw::diff {

// Empty, or the first loop of which they differ.
std::string extents_differ(const schedule::Schedule&);

}  // namespace tw::diff
