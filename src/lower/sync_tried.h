// Whether the threads of one block touch different elements, by trying all of them: where subscripts and conditions are
// of few numbers, which no rule of ours may understand.
#pragma once

#include "src/ir/interval.h"
#include "src/lower/sync_access.h"

namespace tw::lower {

// True where each thread, with whatever its own variables may be, was seen to touch no element that the other access
// touches in another thread; for Apart::kNothing in any. Of blocks nothing is tried. `work`: what it took, in rows of
// systems (integer_system.h).
bool seen_apart(const Access& a, const Access& b, const LaunchIndices&, Apart, const ir::Bounds&, int64_t& work);

}  // namespace tw::lower
