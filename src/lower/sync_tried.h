// Whether the threads of one block touch different elements, by trying all of them: where subscripts and conditions are
// of few numbers, which no rule of ours may understand; and what a subscript is, likewise.
#pragma once

#include "src/ir/interval.h"
#include "src/lower/sync_access.h"

namespace tw::lower {

// True where each thread, with whatever its own variables may be, was seen to touch no element that the other access
// touches in another thread; for Apart::kNothing in any. Of blocks nothing is tried. `work`: what it took, in rows of
// systems (integer_system.h).
bool seen_apart(const Access& a, const Access& b, const LaunchIndices&, Apart, const ir::Bounds&, int64_t& work);

// The subscript, where what it adds up of quotients and rests is a sum of multiples of their variables, whatever these
// may be: digits of a number, each of which was simplified by itself.
ir::Expr straightened(const ir::Expr& at, const std::vector<OwnVariable>& own, const ir::Bounds&);

}  // namespace tw::lower
