#include "src/ir/externs.h"

#include <algorithm>

#include "src/ir/async_copies.h"
#include "src/ir/group_products.h"
#include "src/ir/requirement.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"

namespace tw::ir {

std::vector<std::string> extern_symbols(const Program& p) {
  std::vector<std::string> symbols;
  walk(
      p.body, [](const Stmt&) { return true; },
      [&](const Expr& e) {
        const auto* call = as<CallExtern>(e);
        if (call && !is_requirement(call->symbol) && !is_of_warp(call->symbol) && !is_async(call->symbol) &&
            !is_of_group(call->symbol) && std::find(symbols.begin(), symbols.end(), call->symbol) == symbols.end())
          symbols.push_back(call->symbol);
        return true;
      });
  return symbols;
}

}  // namespace tw::ir
