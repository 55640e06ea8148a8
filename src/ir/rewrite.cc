// Bottom-up rewriting of expressions and statements, each shared part once; walk.cc has what only looks.
#include "src/ir/walk.h"

namespace tw::ir {
namespace {

// The node again with other children. Types follow from them: a wider operand makes a wider result.
Expr rebuild(const Expr& e, const std::function<Expr(const Expr&)>& f, bool& changed) {
  const auto at = [&](const Expr& child) {
    Expr mapped = child ? f(child) : child;
    changed |= !mapped.same_as(child);
    return mapped;
  };
  const auto all = [&](const std::vector<Expr>& list) {
    std::vector<Expr> mapped;
    mapped.reserve(list.size());
    for (const Expr& child : list) mapped.push_back(at(child));
    return mapped;
  };
  const auto or_same = [&](auto&& make) { return changed ? make() : e; };
  return match(
      e, [&](const IntImm&) { return e; }, [&](const FloatImm&) { return e; }, [&](const VarRef&) { return e; },
      [&](const Cast& c) {
        Expr value = at(c.value);
        return or_same([&] { return cast(e.type().with_lanes(value.type().lanes), value); });
      },
      [&](const Binary& b) {
        Expr x = at(b.a), y = at(b.b);
        return or_same([&] { return binary(b.op, x, y); });
      },
      [&](const Not& n) {
        Expr x = at(n.a);
        return or_same([&] { return logical_not(x); });
      },
      [&](const Select& s) {
        Expr cond = at(s.cond), yes = at(s.yes), no = at(s.no);
        return or_same([&] { return select(cond, yes, no); });
      },
      [&](const Load& l) {
        std::vector<Expr> subscripts = all(l.at);
        Expr pred = at(l.pred);
        return or_same([&] { return load(l.buffer, subscripts, pred); });
      },
      [&](const Call& c) {
        std::vector<Expr> args = all(c.args);
        if (c.fn != Fn::kReinterpret) return or_same([&] { return call(c.fn, args); });
        return or_same([&] { return reinterpret(e.type().with_lanes(args[0].type().lanes), args[0]); });
      },
      [&](const Ramp& r) {
        Expr base = at(r.base), stride = at(r.stride);
        return or_same([&] { return ramp(base, stride, r.lanes); });
      },
      [&](const Broadcast& b) {
        Expr value = at(b.value);
        return or_same([&] { return broadcast(value, b.lanes); });
      },
      [&](const Let& l) {
        Expr value = at(l.value), body = at(l.body);
        return or_same([&] { return let(l.var, value, body); });
      },
      [&](const Reduce& r) {
        std::vector<ReduceAxis> axes = r.axes;
        for (ReduceAxis& axis : axes) axis.min = at(axis.min), axis.extent = at(axis.extent);
        Reduce copy{r.op, all(r.sources), std::move(axes), at(r.where), all(r.init), r.value, r.combiner};
        return or_same([&] { return reduce(std::move(copy)); });
      },
      [&](const CallExtern& c) {
        std::vector<Expr> args = all(c.args);
        return or_same([&] { return call_extern(e.type(), c.symbol, args, c.pure); });
      },
      [&](const Address& a) {
        std::vector<Expr> subscripts = all(a.at);
        return or_same([&] { return address_of(a.buffer, subscripts, a.read, a.written); });
      });
}

class Rewrite {
 public:
  using OnStmt = std::function<Stmt(const Stmt&)>;
  using OnExpr = std::function<Expr(const Expr&)>;
  Rewrite(const OnStmt& on_stmt, const OnExpr& on_expr) : on_stmt_(on_stmt), on_expr_(on_expr) {}

  Expr operator()(const Expr& e) {
    if (!on_expr_) return e;
    if (!e.shared()) return on_expr_(map_children(e, self_));
    if (const auto known = exprs_.find(e.get()); known != exprs_.end()) return known->second.second;
    const Expr result = on_expr_(map_children(e, self_));
    exprs_.emplace(e.get(), std::pair(e, result));  // the handle keeps the address taken
    return result;
  }

  Stmt operator()(const Stmt& s) {
    if (s.shared()) {
      if (const auto known = stmts_.find(s.get()); known != stmts_.end()) return known->second.second;
    }
    Stmt result = map_children(s, stmt_self_, self_);
    if (on_stmt_) result = on_stmt_(result);
    if (s.shared()) stmts_.emplace(s.get(), std::pair(s, result));
    return result;
  }

 private:
  const OnStmt& on_stmt_;
  const OnExpr& on_expr_;
  const OnExpr self_ = [this](const Expr& e) { return (*this)(e); };
  const OnStmt stmt_self_ = [this](const Stmt& s) { return (*this)(s); };
  std::unordered_map<const void*, std::pair<Expr, Expr>> exprs_;
  std::unordered_map<const void*, std::pair<Stmt, Stmt>> stmts_;
};

const std::function<Stmt(const Stmt&)> kKeepStmt;

auto replacing(const Substitution& by) {
  return [&by](const Expr& e) {
    const VarRef* ref = as<VarRef>(e);
    if (ref == nullptr) return e;
    const auto found = by.find(ref->var.id());
    return found == by.end() ? e : found->second;
  };
}

Buffer mapped(const Buffer& buffer, const BufferMap& by) {
  const auto found = by.find(buffer.id());
  return found == by.end() ? buffer : found->second;
}

auto rebuffering(const BufferMap& by) {
  return [&by](const Expr& e) {
    if (const Address* a = as<Address>(e); a && by.contains(a->buffer.id()))
      return address_of(mapped(a->buffer, by), a->at, a->read, a->written);
    const Load* l = as<Load>(e);
    return l && by.contains(l->buffer.id()) ? load(mapped(l->buffer, by), l->at, l->pred) : e;
  };
}

}  // namespace

Expr map_children(const Expr& e, const std::function<Expr(const Expr&)>& f) {
  bool changed = false;
  return rebuild(e, f, changed);
}

Stmt map_children(const Stmt& s, const std::function<Stmt(const Stmt&)>& on_stmt,
                  const std::function<Expr(const Expr&)>& on_expr) {
  bool changed = false;
  const auto child = [&](const auto& handle) {
    auto mapped = handle;
    if constexpr (std::is_same_v<std::decay_t<decltype(handle)>, Stmt>) {
      if (handle && on_stmt) mapped = on_stmt(handle);
    } else {
      if (handle && on_expr) mapped = on_expr(handle);
    }
    changed |= !mapped.same_as(handle);
    return mapped;
  };
  const auto or_same = [&](auto&& make) { return changed ? make() : s; };
  return match(
      s,
      [&](const Store& st) {
        std::vector<Expr> at;
        for (const Expr& e : st.at) at.push_back(child(e));
        Expr value = child(st.value), pred = child(st.pred);
        return or_same([&] { return store(st.buffer, at, value, pred, st.arrival); });
      },
      [&](const For& f) {
        Expr extent = child(f.extent);
        Stmt body = child(f.body);
        return or_same([&] { return loop(f.var, extent, body, f.kind, f.tail); });
      },
      [&](const If& i) {
        Expr cond = child(i.cond);
        Stmt then = child(i.then), otherwise = child(i.otherwise);
        return or_same([&] { return if_then(cond, then, otherwise); });
      },
      [&](const Seq& q) {
        std::vector<Stmt> stmts;
        for (const Stmt& inner : q.stmts) stmts.push_back(child(inner));
        return or_same([&] { return seq(stmts); });
      },
      [&](const Allocate& a) {
        Stmt body = child(a.body);
        return or_same([&] { return allocate(a.buffer, body); });
      },
      [&](const LetStmt& l) {
        Expr value = child(l.value);
        Stmt body = child(l.body);
        return or_same([&] { return let_stmt(l.var, value, body); });
      },
      [&](const Evaluate& v) {
        Expr value = child(v.value);
        return or_same([&] { return evaluate(value); });
      },
      [&](const Sync&) { return s; });
}

Buffer map_sizes(const Buffer& buffer, const std::function<Expr(const Expr&)>& f) {
  BufferNode node = *buffer.operator->();
  bool changed = false;
  for (std::vector<Expr>* sizes : {&node.shape, &node.strides})
    for (Expr& size : *sizes) {
      Expr made = f(size);
      changed = changed || !made.same_as(size);
      size = std::move(made);
    }
  return changed ? Buffer(std::move(node)) : buffer;
}

namespace {

// The buffers that are allocated in `s` whose memory is made of what is replaced, as they are then.
BufferMap resized_allocations(const Stmt& s, const Substitution& by) {
  BufferMap resized;
  walk(s, [&](const Stmt& inner) {
    const auto* a = as<Allocate>(inner);
    if (!a) return true;
    const Buffer buffer = map_sizes(a->buffer, [&](const Expr& size) { return substitute(size, by); });
    if (buffer.operator->() != a->buffer.operator->()) resized.emplace(buffer.id(), buffer);
    return true;
  });
  return resized;
}

}  // namespace

Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f) { return e ? Rewrite(kKeepStmt, f)(e) : e; }

Stmt rewrite(const Stmt& s, const std::function<Stmt(const Stmt&)>& on_stmt,
             const std::function<Expr(const Expr&)>& on_expr) {
  return s ? Rewrite(on_stmt, on_expr)(s) : s;
}

Expr substitute(const Expr& e, const Substitution& by) { return by.empty() ? e : rewrite(e, replacing(by)); }

Stmt substitute(const Stmt& s, const Substitution& by) {
  if (by.empty()) return s;
  Stmt replaced = rewrite(s, kKeepStmt, replacing(by));
  const BufferMap resized = resized_allocations(s, by);
  if (resized.empty()) return replaced;
  const auto allocations = [&](const Stmt& inner) {
    const Allocate* a = as<Allocate>(inner);
    return a && resized.contains(a->buffer.id()) ? allocate(mapped(a->buffer, resized), a->body) : inner;
  };
  return rewrite(replace_buffers(replaced, resized), allocations, nullptr);
}

Expr replace_buffers(const Expr& e, const BufferMap& by) { return rewrite(e, rebuffering(by)); }

Stmt replace_buffers(const Stmt& s, const BufferMap& by) {
  const auto on_stmt = [&](const Stmt& inner) {
    const Store* st = as<Store>(inner);
    if (!st || !by.contains(st->buffer.id())) return inner;
    return store(mapped(st->buffer, by), st->at, st->value, st->pred, st->arrival);
  };
  return rewrite(s, on_stmt, rebuffering(by));
}

}  // namespace tw::ir
