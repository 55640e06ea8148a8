// Images without code, which hold what each function means as the text of a program: for a driver that interprets them,
// as that of tests/fake_cuda does. TW_CUDA_IMAGES=ir has all kernels made so.
#pragma once

#include <string>
#include <vector>

#include "src/runtime/cuda/image.h"
#include "tensorwright/ir.h"

namespace tw::codegen {

bool wants_program_images();
runtime::cuda::Image program_image(const std::vector<ir::Program>& functions, const std::string& arch);

}  // namespace tw::codegen
