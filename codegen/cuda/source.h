// Lowered programs as the text of one CUDA C++ file that includes nothing: a function for each launch.
//
// It reads as the schedule was written: a loop has the name of its axis, a stage that of its buffer, and what was left
// serial stays a loop.
#pragma once

#include <string>
#include <vector>

#include "src/runtime/cuda/plan.h"
#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

struct CudaSource {
  std::string text;
  std::vector<runtime::cuda::Plan> plans;  // of each program
  std::vector<ir::Program> functions;      // what each launch means, by its symbol (launch_program in launches.h)
};

// Programs are lowered, without cooperative and vectorized loops; their names differ. Throws tw::Error for what a
// device of the target cannot run.
CudaSource cuda_source(const std::vector<ir::Program>& programs, const Target& target);

}  // namespace tw::codegen
