// Kernels of modules whose code this machine cannot run.
#pragma once

#include <memory>
#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/runtime.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// As kernels_of: they say what they take, and throw kTarget where they are run.
std::vector<std::shared_ptr<const runtime::Kernel>> foreign_kernels(const std::vector<ir::Program>& programs,
                                                                    const Target& target);

}  // namespace tw::codegen
