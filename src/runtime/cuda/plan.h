// How a kernel is run on a device, as data: which functions of its image, with how many threads, on what.
//
// A call evaluates the formulas with its scalars and makes the launches one after the other.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "src/runtime/cuda/formula.h"

namespace tw::runtime::cuda {

enum class OperandKind : uint8_t { kArgument, kScratch, kScalar };
struct Operand {
  OperandKind kind;
  size_t number;  // among those of its kind
};

struct Launch {
  std::string symbol;                  // of the function
  std::string stages;                  // what it computes, for people
  Formula when;                        // 0: not at all
  std::array<Formula, 3> grid, block;  // x, y, z
  int64_t shared_bytes = 0;            // beyond those that the function has declared
  std::vector<Operand> operands;       // of the function, in order
};

struct Plan {
  std::string kernel;
  std::vector<ir::Type> scalars;  // of the kernel
  std::vector<Formula> scratch;   // bytes of each
  std::vector<int> alignment;     // of each argument's address, in bytes
  std::vector<Launch> launches;
};

// "tw_add_0: (n + 127) // 128 x 1 x 1 blocks of 128 x 1 x 1 threads, A, B, n": a line for each launch.
std::string to_string(const Plan&, const std::vector<std::string>& arguments, const std::vector<std::string>& scalars);

}  // namespace tw::runtime::cuda
