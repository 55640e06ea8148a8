// Several programs of one kernel as one that chooses among them by a size.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::aot {

// Up to each bound the program beside it, `otherwise` beyond the last. All are lowered for one target and take the
// same. Bounds ascend. kArgument where the programs differ in what they take, or `size` is none of their scalars.
Result<ir::Program> by_size(const std::string& size, const std::vector<std::pair<int64_t, ir::Program>>& bounded,
                            const ir::Program& otherwise);

}  // namespace tw::aot
