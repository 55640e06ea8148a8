#include "schedule/meetings.h"

#include "src/ir/async_copies.h"
#include "src/ir/walk.h"

namespace tw::schedule {

void Meetings::add(const ir::Stmt& stmt) {
  if (const auto* all = ir::as<ir::Seq>(stmt)) {
    for (const ir::Stmt& one : all->stmts) add(one);
    return;
  }
  kept_.push_back(stmt);
  known_.insert(stmt.get());
}

bool Meetings::is_one(const ir::Stmt& stmt) const {
  return ir::as<ir::Sync>(stmt) != nullptr || ir::is_wait(stmt) || known_.contains(stmt.get());
}

bool Meetings::in(const ir::Stmt& stmt) const {
  bool found = false;
  ir::walk(stmt, [&](const ir::Stmt& s) { return !(found = found || is_one(s)); });
  return found;
}

ir::Stmt Meetings::guarded(const ir::Expr& condition, const ir::Stmt& body) const {
  if (is_one(body)) return body;
  if (!in(body)) return ir::if_then(condition, body);
  const auto inside = [&](const ir::Stmt& s) { return s ? guarded(condition, s) : s; };
  if (const auto* all = ir::as<ir::Seq>(body)) return each_guarded(condition, *all);
  return ir::map_children(body, inside, [](const ir::Expr& e) { return e; });
}

ir::Stmt Meetings::each_guarded(const ir::Expr& condition, const ir::Seq& all) const {
  std::vector<ir::Stmt> out, alone;
  const auto close = [&] {
    if (!alone.empty()) out.push_back(ir::if_then(condition, ir::seq(std::move(alone))));
    alone.clear();
  };
  for (const ir::Stmt& one : all.stmts) {
    if (!in(one)) {
      alone.push_back(one);
      continue;
    }
    close();
    out.push_back(guarded(condition, one));
  }
  close();
  return ir::seq(std::move(out));
}

}  // namespace tw::schedule
