// Parameters that a kernel takes packed, because transform_layout gave them another layout, and the program that packs
// one: it reads the placeholder as it is declared and writes what the kernel reads, padding included.
//
//   B: placeholder(64, 70, param)   B.transform_layout([i, j // 16, j % 16], pad_value=0)
//
//   ==>  for p0 in 0..64, p1 in 0..5, p2 in 0..16:
//          B.packed[p0, p1, p2] = p1*16 + p2 < 70 ? B[p0, p1*16 + p2] : 0
#pragma once

#include <string>
#include <vector>

#include "tensorwright/schedule.h"

namespace tw::schedule {

struct PackedParam {
  std::string placeholder;              // the name of its stage
  te::Tensor tensor;                    // the argument that it is
  std::vector<ir::Expr> shape, packed;  // as declared, and as the kernel reads it (compact)
  std::string layout;                   // "[i, j // 16, j % 16]": two kernels that agree in it take the same memory
};

// In the order of the schedule's stages. Empty when no placeholder has been transformed.
std::vector<PackedParam> packed_params(const Schedule&);

// Parameters: the placeholder as declared, then the packed one, which is written whole. Refuses a stage that is not in
// packed_params.
Result<ir::Program> pack_program(const Schedule&, const std::string& placeholder, std::string kernel_name);

}  // namespace tw::schedule
