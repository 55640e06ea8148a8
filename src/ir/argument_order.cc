#include "src/ir/argument_order.h"

namespace tw::ir {

std::vector<size_t> argument_order(const Program& program) {
  const size_t params = program.params.size();
  std::vector<size_t> order;
  size_t scalar = 0;
  for (size_t param = 0; param <= params; ++param) {
    for (; scalar < program.places.size() && program.places[scalar] <= static_cast<int>(param); ++scalar)
      order.push_back(params + scalar);
    if (param < params) order.push_back(param);
  }
  for (; scalar < program.scalars.size(); ++scalar) order.push_back(params + scalar);
  return order;
}

}  // namespace tw::ir
