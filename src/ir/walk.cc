#include "src/ir/walk.h"

#include "src/ir/fields.h"

namespace tw::ir {
namespace {

// Distinct nodes, each once. A node with one holder is reached on one path only and needs no memory.
template <class Handle>
class Once {
 public:
  bool first(const Handle& h) { return !h.shared() || seen_.insert(h.get()).second; }

 private:
  std::unordered_set<const void*> seen_;
};

class Walk {
 public:
  using VisitStmt = std::function<bool(const Stmt&)>;
  using VisitExpr = std::function<bool(const Expr&)>;
  Walk(const VisitStmt* on_stmt, const VisitExpr* on_expr) : on_stmt_(on_stmt), on_expr_(on_expr) {}

  void run(const Expr& root) {
    std::vector<const Expr*> waiting{&root};
    while (!waiting.empty()) {
      const Expr& e = *waiting.back();
      waiting.pop_back();
      if (!exprs_.first(e) || !(*on_expr_)(e)) continue;
      const size_t base = waiting.size();
      for_each_child(*e, [&](const Expr& child) { waiting.push_back(&child); });
      std::reverse(waiting.begin() + static_cast<ptrdiff_t>(base), waiting.end());
    }
  }

  void run(const Stmt& root) {
    std::vector<std::variant<const Expr*, const Stmt*>> waiting{&root};
    while (!waiting.empty()) {
      const auto next = waiting.back();
      waiting.pop_back();
      if (const auto* e = std::get_if<const Expr*>(&next)) {
        run(**e);
        continue;
      }
      const Stmt& s = *std::get<const Stmt*>(next);
      if (!stmts_.first(s) || !(*on_stmt_)(s)) continue;
      const size_t base = waiting.size();
      for_each_child(*s, [&](const auto& child) { keep(waiting, child); });
      std::reverse(waiting.begin() + static_cast<ptrdiff_t>(base), waiting.end());
    }
  }

 private:
  template <class List>
  void keep(List& waiting, const Stmt& s) {
    waiting.push_back(&s);
  }
  template <class List>
  void keep(List& waiting, const Expr& e) {
    if (on_expr_ != nullptr && *on_expr_) waiting.push_back(&e);
  }

  const VisitStmt* on_stmt_;
  const VisitExpr* on_expr_;
  Once<Expr> exprs_;
  Once<Stmt> stmts_;
};

// Variables bound by statements, lets and reductions.
template <class F>
void for_bound(const Stmt& s, F&& f) {
  if (const For* loop = as<For>(s)) f(loop->var);
  if (const LetStmt* let = as<LetStmt>(s)) f(let->var);
}
template <class F>
void for_bound(const Expr& e, F&& f) {
  if (const Let* let = as<Let>(e)) f(let->var);
  if (const Reduce* r = as<Reduce>(e)) {
    for (const ReduceAxis& axis : r->axes) f(axis.var);
  }
}

// What an allocation's memory is made of, which walks do not see.
template <class F>
void for_extents(const Stmt& s, F&& f) {
  if (const Allocate* a = as<Allocate>(s))
    for (const std::vector<Expr>* sizes : {&a->buffer.shape(), &a->buffer.strides()})
      for (const Expr& size : *sizes) f(size);
}

struct Uses {
  std::unordered_set<uint64_t> used, bound;
  std::vector<Var> order;
  void note(const Expr& e) {
    if (const VarRef* ref = as<VarRef>(e); ref && used.insert(ref->var.id()).second) order.push_back(ref->var);
    for_bound(e, [&](const Var& v) { bound.insert(v.id()); });
  }
  void note(const Stmt& s) {
    for_bound(s, [&](const Var& v) { bound.insert(v.id()); });
  }
};

template <class Root>
Uses uses_of(const Root& root) {
  Uses uses;
  const auto on_expr = [&](const Expr& e) { return uses.note(e), true; };
  if constexpr (std::is_same_v<Root, Stmt>) {
    walk(
        root,
        [&](const Stmt& s) {
          uses.note(s);
          for_extents(s, [&](const Expr& extent) { walk(extent, on_expr); });
          return true;
        },
        on_expr);
  } else {
    walk(root, on_expr);
  }
  return uses;
}

}  // namespace

void walk(const Expr& root, const std::function<bool(const Expr&)>& visit) {
  if (root) Walk(nullptr, &visit).run(root);
}

void walk(const Stmt& root, const std::function<bool(const Stmt&)>& visit_stmt,
          const std::function<bool(const Expr&)>& visit_expr) {
  if (root) Walk(&visit_stmt, &visit_expr).run(root);
}

std::vector<Expr> children(const Expr& e) {
  std::vector<Expr> all;
  for_each_child(*e, [&](const Expr& child) { all.push_back(child); });
  return all;
}

bool uses_var(const Expr& e, const Var& var) {
  bool found = false;
  walk(e, [&](const Expr& x) {
    const VarRef* ref = as<VarRef>(x);
    found |= ref && ref->var == var;
    return !found;
  });
  return found;
}

bool uses_var(const Stmt& s, const Var& var) {
  bool found = false;
  const auto on_expr = [&](const Expr& x) {
    const VarRef* ref = as<VarRef>(x);
    found |= ref && ref->var == var;
    return !found;
  };
  const auto on_stmt = [&](const Stmt& inner) {
    for_extents(inner, [&](const Expr& extent) { walk(extent, on_expr); });
    return !found;
  };
  walk(s, on_stmt, on_expr);
  return found;
}

std::unordered_set<uint64_t> used_vars(const Expr& e) {
  Uses uses = uses_of(e);
  uses.used.merge(uses.bound);
  return std::move(uses.used);
}

std::unordered_set<uint64_t> used_vars(const Stmt& s) {
  Uses uses = uses_of(s);
  uses.used.merge(uses.bound);
  return std::move(uses.used);
}

std::vector<Var> free_vars(const Stmt& s) {
  Uses uses = uses_of(s);
  std::erase_if(uses.order, [&](const Var& v) { return uses.bound.contains(v.id()); });
  return std::move(uses.order);
}

std::vector<Buffer> free_buffers(const Stmt& s) {
  std::vector<Buffer> order;
  std::unordered_set<uint64_t> used, allocated;
  const auto use = [&](const Buffer& b) {
    if (used.insert(b.id()).second) order.push_back(b);
  };
  const auto on_stmt = [&](const Stmt& inner) {
    if (const Store* st = as<Store>(inner)) use(st->buffer);
    if (const Allocate* a = as<Allocate>(inner)) allocated.insert(a->buffer.id());
    return true;
  };
  const auto on_expr = [&](const Expr& e) {
    if (const Load* l = as<Load>(e)) use(l->buffer);
    if (const Address* a = as<Address>(e)) use(a->buffer);
    return true;
  };
  walk(s, on_stmt, on_expr);
  std::erase_if(order, [&](const Buffer& b) { return allocated.contains(b.id()); });
  return order;
}

bool has_load(const Expr& e) {
  bool found = false;
  walk(e, [&](const Expr& x) { return !(found |= as<Load>(x) != nullptr); });
  return found;
}

bool reads(const Expr& e, const Buffer& buffer) {
  bool found = false;
  walk(e, [&](const Expr& x) {
    const Load* l = as<Load>(x);
    const Address* a = as<Address>(x);
    return !(found |= (l && l->buffer == buffer) || (a && a->buffer == buffer));
  });
  return found;
}

}  // namespace tw::ir
