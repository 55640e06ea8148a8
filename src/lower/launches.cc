#include "src/lower/launches.h"

#include "src/ir/async_copies.h"
#include "src/ir/group_products.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"

namespace tw::lower {

bool holds_launch(const ir::Program& program) {
  bool found = false;
  ir::walk(program.body, [&](const ir::Stmt& s) {
    const auto* loop = ir::as<ir::For>(s);
    return !(found = found || (loop != nullptr && ir::is_device_index(loop->kind)));
  });
  return found;
}

bool meets(const ir::Stmt& stmt) {
  bool found = false;
  ir::walk(stmt, [&](const ir::Stmt& s) {
    return !(found =
                 found || ir::as<ir::Sync>(s) != nullptr || ir::is_of_warp(s) || ir::is_async(s) || ir::is_of_group(s));
  });
  return found;
}

}  // namespace tw::lower
