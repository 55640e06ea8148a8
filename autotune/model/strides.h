// How far an access goes when a loop takes one step, and what of it follows for its loads and stores.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/nest_view.h"

namespace tw::autotune {

bool moves_along(const schedule::AccessView&, size_t axis);
// Whether the lanes of the vectorized loop lie side by side.
bool is_contiguous(const schedule::AccessView&, const schedule::LoopView& vector);
// Bytes between neighbours along the loop; 0 where it does not touch the access or nobody knows.
int64_t byte_stride(const schedule::AccessView&, const schedule::LoopView&);
// Loads of whole registers for one of its lanes; of lanes that lie a few elements apart (codegen/llvm/emit_memory.cc)
// all that lies there. 0 where each lane is loaded or stored by itself.
int64_t loads_of_a_register(const schedule::StageView&, const schedule::AccessView&, const schedule::LoopView& vector,
                            double lanes);

// So many rows, each so many bytes behind the one before.
struct Walk {
  int64_t stride, rows;
};
// The most lines, where one walk is done within the other, that lie in one set of L1; 0: no row has a line of its own.
double lines_of_a_set(const std::vector<Walk>&);

}  // namespace tw::autotune
