//   for i in 0..100:                     for i in 0..100:
//     for j in 0..4:          ==>          for j in 0..4 unrolled:        // limit 4 .. 399
//       C[i] = ...                           C[i] = ...
//
// From the inside out: a loop is unrolled if everything inside it is and the statements that it makes stay within the
// limit.
#include <limits>

#include "schedule/emit.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

constexpr int64_t kTooMany = std::numeric_limits<int64_t>::max() / 2;

struct Unrolled {
  ir::Stmt stmt;
  int64_t statements = 0;  // that it stands for; kTooMany once a loop remains
};

Unrolled unroll(const ir::Stmt& stmt, int64_t limit) {
  if (ir::as<ir::Store>(stmt)) return {stmt, 1};
  int64_t statements = 0;
  ir::Stmt inside = ir::map_children(
      stmt,
      [&](const ir::Stmt& child) {
        Unrolled result = unroll(child, limit);
        statements = std::min(kTooMany, statements + result.statements);
        return result.stmt;
      },
      [](const ir::Expr& e) { return e; });
  const auto* loop = ir::as<ir::For>(inside);
  if (!loop || loop->kind == ir::ForKind::kVectorized) return {inside, statements};
  auto extent = ir::as_int(loop->extent);
  bool fits = extent && (*extent == 0 || statements <= limit / *extent);
  if (!fits || runs_concurrently(loop->kind)) return {inside, kTooMany};
  return {ir::loop(loop->var, loop->extent, loop->body, ir::ForKind::kUnrolled, loop->tail), statements * *extent};
}

}  // namespace

ir::Stmt auto_unroll(const ir::Stmt& loop, int64_t limit) { return unroll(loop, limit).stmt; }

}  // namespace tw::schedule
