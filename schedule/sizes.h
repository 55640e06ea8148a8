// Sizes in Steps that are no numbers: a Factor over scalars of the kernel, `split(i, factor=n // 4)`. Steps are data,
// so it is text over their names; a scalar of the tensor expression is meant where it has one of that name, else one
// that becomes an argument of the kernel. Every size but a positive one is refused by a condition of the kernel.
#pragma once

#include <vector>

#include "schedule/loop_nest.h"

namespace tw::schedule {

struct Size {
  Extent extent;
  std::vector<ir::Var> named;  // the scalars among its own that the nest does not know yet
};
Result<Size> size_of(const LoopNest&, const char* step, const char* field, const Factor&);

// The scalars that the Step's sizes speak of.
std::vector<std::string> names_in_sizes(const Step&);

// What a Step of that size brings into the nest.
void take_size(LoopNest&, const Size&);

// Refuses scalars that the Step could not hold by their names.
Status check_scalars(const LoopNest&, const char* step, const char* field, const Factor&);

// The nest of the schedule over scalars of these: where they have the names that its Steps say, they are meant.
Result<LoopNest> over_scalars(const Schedule&, const std::vector<ir::Var>& given);

// What the sizes require, as statements before the program's body. Its scalars are set.
Status add_size_requirements(ir::Program&, const LoopNest&, const std::vector<Step>&);

}  // namespace tw::schedule
