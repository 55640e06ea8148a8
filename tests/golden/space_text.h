// Automatic spaces as text, for golden tests: `space: dense, M=128, N=768, K=768` on the first line, or `space: te` and
// the expression on the next ones (te_text.h).
#pragma once

#include <string>
#include <vector>

#include "tests/golden/te_text.h"

namespace tw::golden {

// The knobs of the space, and one candidate as Python; or the error. Further lines: `target: ...`, and
// `take: dense.tile=[6,64]`, the value of a knob in the candidate, which is the first one elsewhere.
std::string run_space(const std::string& arguments, const std::vector<Line>& lines);

}  // namespace tw::golden
