// How a kernel is run on a device, as data: which functions of its image, with how many threads, on what.
//
// A call evaluates the formulas with its scalars and makes the launches one after the other.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "src/runtime/cuda/formula.h"

namespace tw::runtime::cuda {

enum class OperandKind : uint8_t { kArgument, kScratch, kScalar, kMap };
struct Operand {
  OperandKind kind;
  size_t number;  // among those of its kind
};

// An array as copies of its boxes know it: what the driver makes a tensor map of, at each call.
struct TensorMap {
  Operand of;  // kArgument or kScratch
  int element_bytes = 1;
  std::vector<Formula> extents, strides;  // outermost first; strides in elements, the last is 1
  std::vector<int64_t> box;               // elements
  int64_t swizzle = 0;                    // bytes
};

struct Launch {
  std::string symbol;                  // of the function
  std::string stages;                  // what it computes, for people
  Formula when;                        // 0: not at all
  std::array<Formula, 3> grid, block;  // x, y, z
  int64_t shared_bytes = 0;            // beyond those that the function has declared
  std::vector<Operand> operands;       // of the function, in order
  std::vector<TensorMap> maps;
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
