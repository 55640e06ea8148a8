// Stock operators by name as text, for golden tests: `kernel: softmax, M=3, N=5` on the first line.
#pragma once

#include <string>

namespace tw::golden {

// What the operator means: its stages, each element by its definition; or the error. `arguments`: "softmax, M=3, N=5".
std::string run_kernel(const std::string& arguments);

}  // namespace tw::golden
