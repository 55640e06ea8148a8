// What kernels are measured and checked with, from their argument specifications alone: the same bytes on every
// machine.
#pragma once

#include <vector>

#include "tensorwright/blob.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {

// Told apart by whoever has another's inputs made: other values, another number.
constexpr int kInputsVersion = 1;

// The inputs, outputs as zeros, laid out as in RunRequest::inputs. Floats in -1..1, integers in -8..8 or 0..8, both
// values of bool; what the caller promises of a range is kept. Throws tw::Error when there is no memory.
Blob random_inputs(const std::vector<ArgSpec>&);

constexpr int kCopiesOfRun = 3;  // of the arguments, at once: inputs, reference, the worker's
// Throws TuneError where this machine has no memory for so many.
void require_memory(const std::vector<ArgSpec>&, int copies);

// That goes with a relative one: of the largest finite magnitude in the argument, of which `contents` are the bytes.
double absolute_tolerance(const ArgSpec&, const void* contents, double rtol);

}  // namespace tw::runtime
