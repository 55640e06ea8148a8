// Stock operators by name as text, for golden tests: `kernel: softmax, M=3, N=5` on the first line.
#pragma once

#include <string>

#include "tensorwright/ops.h"

namespace tw::golden {

// "softmax, M=3, N=5"; throws tw::Error.
te::ops::Made make_kernel(const std::string& arguments);

// What the operator means: its stages, each element by its definition; or the error. `arguments`: "softmax, M=3, N=5".
std::string run_kernel(const std::string& arguments);

}  // namespace tw::golden
