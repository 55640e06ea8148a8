// What every program satisfies, before and after each pass.
//
// Identity    Each parameter, allocation, loop variable and let statement has an id that nothing else in the program
//             binds. A let or a reduction inside an expression binds an id that is not bound around it (the same
//             expression may stand in several places).
// Scope       A variable is used only inside what binds it: the body of the loop or let, the source of the reduction. A
//             buffer is accessed only when it is a parameter or inside its allocation. No variable is free.
// Types       Every node keeps the rules of typing.h: operands of one type, conditions and predicates of bool,
//             subscripts and extents of index, the lanes of operands equal. A variable's use has the type of its
//             binding.
// Constants   An integer lies in the range of its type, a bool is 0 or 1, a float is a value of its type.
// Buffers     Extents are constants from 0 on, or expressions over the scalars of the program (of an allocation also
//             over what is bound around it) that read no memory; strides likewise, one for each dimension. Elements
//             have one lane. Parameters have the scope argument, allocations any other.
// Access      An access has the element type of the declaration, and either one subscript for each dimension, or one
//             for the whole buffer: the offset in elements (after `flatten`; the handle then has one dimension and no
//             strides). Only what is allocated or a parameter marked `written` is stored to. All lanes of a store's
//             value, of its subscripts and of its predicate agree.
// Loops       Run from 0. A vectorized loop has a constant extent.
// Launches    Indices of a device stand directly within each other, each kind once, blocks outside of threads, within no
//             other loop. Within the innermost, and nowhere else, stand syncs, cooperative loops and allocations of
//             shared memory; there are no parallel loops and no allocations of global memory.
// Sequences   Have none or at least two statements, and no sequence among them.
// Reductions  Have at least one axis and scalar sources. A combiner has a component for each source, all of that type;
//             its results see the two tuples only. (Only naive programs hold any.)
// Calls       An extern function takes scalars and addresses of single elements. Addresses stand nowhere else but in a
//             prefetch; through one that is `written` only what may be stored to is changed. A statement that evaluates
//             is one of the two.
#pragma once

#include "tensorwright/ir.h"

namespace tw::ir {

// The first invariant that `p` breaks, as a Diagnostic of kind kInternal; or ok.
Status verify(const Program& p);

}  // namespace tw::ir
