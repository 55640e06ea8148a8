// Unrolled loops become sequences; for a device long ones stay loops, which its compiler unrolls.

#include "src/lower/unroll.h"

#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/support/environment.h"

namespace tw::lower {

using namespace ir;

namespace {

// Statements that are written out one by one where the device's compiler can write them out as well.
constexpr int64_t kReadable = 64;

int64_t statements(const Stmt& s) {
  return match(
      s, [](const Store&) -> int64_t { return 1; }, [](const For& f) { return 1 + statements(f.body); },
      [](const If& i) { return 1 + statements(i.then) + (i.otherwise ? statements(i.otherwise) : 0); },
      [](const Seq& all) {
        int64_t sum = 0;
        for (const Stmt& child : all.stmts) sum += statements(child);
        return sum;
      },
      [](const Allocate& a) { return 1 + statements(a.body); }, [](const LetStmt& l) { return 1 + statements(l.body); },
      [](const Evaluate&) -> int64_t { return 1; }, [](const Sync&) -> int64_t { return 1; });
}

// Whether copies would bind an id twice.
bool binds(const Stmt& s) {
  bool found = false;
  walk(
      s,
      [&](const Stmt& at) {
        found = found || as<For>(at) || as<Allocate>(at) || as<LetStmt>(at);
        return !found;
      },
      [&](const Expr& e) {
        found = found || as<Let>(e);
        return !found;
      });
  return found;
}

bool meets(const Stmt& s) {
  bool found = false;
  walk(s, [&](const Stmt& at) { return !(found = found || as<Sync>(at)); }, [](const Expr&) { return false; });
  return found;
}

Stmt visit(const Stmt& s, int64_t max_statements, bool on_device) {
  const auto* f = as<For>(s);
  if (!f || f->kind != ForKind::kUnrolled)
    return map_children(
        s, [&](const Stmt& child) { return visit(child, max_statements, on_device); }, [](const Expr& e) { return e; });
  const Stmt body = visit(f->body, max_statements, on_device);
  const auto extent = as_int(f->extent);
  const int64_t all = extent ? *extent * statements(body) : max_statements + 1;
  if (all > max_statements) return loop(f->var, f->extent, body);
  if (on_device && all > kReadable && !meets(body)) return loop(f->var, f->extent, body, ForKind::kUnrolled);
  const bool fresh_ids = binds(body);
  std::vector<Stmt> copies;
  for (int64_t i = 0; i < *extent; ++i) {
    const Stmt copy = substitute(body, {{f->var.id(), Expr(i)}});
    copies.push_back(fresh_ids && i > 0 ? refresh(copy) : copy);
  }
  return seq(std::move(copies));
}

}  // namespace

Program unroll(const Program& p, const Target& target) {
  Program out = p;
  out.body = visit(p.body, support::max_unroll(), target.abilities.device.has_value());
  return out;
}

}  // namespace tw::lower
