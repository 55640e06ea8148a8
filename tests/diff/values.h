// The data of a sample: one block of bytes per argument, drawn from its seed, and how two results are compared.
#pragma once

#include <string>
#include <vector>

#include "schedule/loop_nest.h"
#include "src/ir/interp.h"
#include "tests/diff/memory.h"
#include "tests/diff/sampler.h"

namespace tw::diff {

// An extent, with numbers for the symbols in it.
int64_t evaluate(const ir::Expr& extent, const std::vector<ir::Var>& symbols, const std::vector<int64_t>& sizes);

// The functions below take one of sample.sizes.

// What Facts say of the placeholders; outputs hold a poison. Python's `data` in script.cc gives the same.
Memory random_inputs(const Sample&, const std::vector<int64_t>& sizes);
// Any bits: NaNs, infinities, subnormal numbers, the ends of the integers. Nothing is known of the result, but that all
// back ends agree on it.
Memory wild_inputs(const Sample&, const std::vector<int64_t>& sizes);
// Floats that lie on no grid: their sums depend on the order.
Memory rough_inputs(const Sample&, Memory inputs);
// Of the program's scalars, in its order: the low bytes hold a value of the scalar's type.
std::vector<uint64_t> scalar_values(const Sample&, const std::vector<ir::Var>& scalars,
                                    const std::vector<int64_t>& sizes);

// What differs between two results of different schedules, or "": exact where the facts are.
std::string difference(const Sample&, const Memory& expected, const Memory& got);
// Bit for bit, but any NaN equals any other.
std::string bit_difference(const Sample&, const Memory& expected, const Memory& got);

// Whether the sizes that Steps gave over scalars are positive at these: else the kernel refuses to run.
bool takes(const Sample&, const std::vector<schedule::PositiveSize>&, const std::vector<int64_t>& sizes);

// Runs a program over a copy of `inputs` in the interpreter.
Result<Memory> interpret(const ir::Program&, const Memory& inputs, const ir::InterpOptions& = {});

// Whether a run ended since its sizes are not what the program requires.
bool refuses_sizes(const Diagnostic&);
// What is wrong with a run that is to be refused so, or "".
std::string not_refused(const Result<Memory>&);

// Checks the contract of bounds inference too, on a program as to_ir gives it for this nest.
ir::InterpOptions contract(const schedule::LoopNest&);

}  // namespace tw::diff
