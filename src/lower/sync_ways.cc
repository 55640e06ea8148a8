#include "src/lower/sync_ways.h"

#include <algorithm>

#include "src/ir/async_copies.h"
#include "src/ir/group_products.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"

namespace tw::lower {

using namespace ir;

namespace {

template <class Which>
bool holds(std::unordered_map<const StmtNode*, bool>& known, const Stmt& s, const Which& which) {
  const auto found = known.find(s.get());
  if (found != known.end()) return found->second;
  bool any = false;
  walk(s, [&](const Stmt& inner) { return !(any = any || which(inner)); });
  return known[s.get()] = any;
}

bool is_async_fence(const Stmt& s) {
  const auto call = group_call(s);
  return call && call->op == GroupOp::kAsyncFence;
}

}  // namespace

bool SyncWays::has_sync(const Stmt& s) {
  return holds(syncs_, s,
               [](const Stmt& inner) { return as<Sync>(inner) != nullptr || is_wait(inner) || is_async_fence(inner); });
}

bool SyncWays::has_product(const Stmt& s) {
  return holds(products_, s, [](const Stmt& inner) { return is_of_warp(inner); });
}

bool SyncWays::has_group(const Stmt& s) {
  return holds(groups_, s, [](const Stmt& inner) { return is_of_group(inner) && !is_async_fence(inner); });
}

bool SyncWays::has_copies(const Stmt& s) {
  return holds(copies_, s, [](const Stmt& inner) {
    const auto* store = as<Store>(inner);
    const auto* sync = as<Sync>(inner);
    return (store && store->arrival != Arrival::kNow) || (sync && !is_barrier(sync->op)) || is_async(inner) ||
           is_of_group(inner);
  });
}

bool SyncWays::has_turns(const Stmt& s) {
  return holds(turns_, s, [](const Stmt& inner) { return is_async(inner); });
}

bool SyncWays::passes_barrier(const Stmt& s, const Bounds& bounds) const {
  const auto passes = [&](const Stmt& inner) { return passes_barrier(inner, bounds); };
  return match(
      s, [](const Store&) { return false; },
      [&](const For& f) { return passes(f.body) && interval_of(simplify(f.extent, bounds), bounds).lo >= 1; },
      [&](const If& i) { return !!i.otherwise && passes(i.then) && passes(i.otherwise); },
      [&](const Seq& q) { return std::ranges::any_of(q.stmts, passes); },
      [&](const Allocate& a) { return passes(a.body); }, [&](const LetStmt& l) { return passes(l.body); },
      [](const Evaluate&) { return false; }, [](const Sync& sync) { return is_barrier(sync.op); });
}

}  // namespace tw::lower
