#include "src/ir/tile_products.h"

#include "src/ir/typing.h"
#include "src/ir/walk.h"

namespace tw::ir {

const Call* tile_product(const Stmt& s) {
  const auto* store = as<Store>(s);
  const auto* call = store ? as<Call>(store->value) : nullptr;
  return call && is_tile(call->fn) ? call : nullptr;
}

int rows_of_tile(const Call& product) { return dot_form(product.fn, product.args).rows; }

int groups_of_tile(const Call& product) {
  const DotForm form = dot_form(product.fn, product.args);
  return form.group / form.packed;
}

bool has_tile_product(const Stmt& s) {
  bool found = false;
  if (!s) return false;
  walk(s, [&](const Stmt& at) {
    found = found || tile_product(at);
    return !found;
  });
  return found;
}

}  // namespace tw::ir
