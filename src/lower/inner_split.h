// Conditions that a loop decides together with those around it, where a branch inside of it leaves fewer iterations to
// compute with conditions than one further out.
//
//   for t in 0..4 parallel:                                for t in 0..4 parallel:
//     for h in 0..28:                                        for h in 0..28:
//       for k in 0..7:                                         if 0 <= t*28 + h - 3 and t*28 + h + 3 < 112:
//         s(0 <= t*28 + h + k - 3 < 112)        ==>              for k in 0..7: s
//                                                              else:
//                                                                for k in 0..7: s(0 <= t*28 + h + k - 3 < 112)
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "src/lower/guard.h"

namespace tw::lower {

struct InnerSplit {
  ir::Expr holds;  // then all of the guards do, whatever the loops inside are at
  std::unordered_set<const Guard*> guards;
};

// `guards` are conditions below a loop over `var`; variables bound below it have their ranges in `inner`. Empty when
// none depends on the loop and on one around it, or none can hold throughout.
std::optional<InnerSplit> find_inner_split(const std::vector<const Guard*>& guards, const ir::Var& var,
                                           const Ranges& around, const ir::Bounds& inner);

// Whether an iteration goes on with what the one before has written: a sum, not elements of its own.
bool goes_on(const ir::For&);

// Iterations that are worth a branch each: they do not go on with a sum, and loops run in them.
bool takes_branch(const ir::For&);

// Whether loops that take a branch decide all those of the guards that depend on the atom.
bool decided_inside(const ir::Stmt& body, const std::vector<const Guard*>& guards, const ir::Expr& atom);

// Whether copies of an unrolled loop below have conditions, each of which the loop over `var` decides at another place.
bool decides_copies(const ir::Stmt& body, const std::vector<const Guard*>& guards, const ir::Var& var);

}  // namespace tw::lower
