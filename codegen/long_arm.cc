#include "codegen/long_arm.h"

#include "src/ir/walk.h"

namespace tw::codegen {

namespace {

constexpr int kShort = 24, kLong = 150;  // nodes

bool has_more_nodes(const ir::Expr& e, int most) {
  ir::walk(e, [&](const ir::Expr&) { return most-- > 0; });
  return most < 0;
}

}  // namespace

bool has_long_arm(const ir::Select& select) {
  return select.yes.type().is_float() && has_more_nodes(select.yes, kShort) && has_more_nodes(select.no, kLong);
}

}  // namespace tw::codegen
