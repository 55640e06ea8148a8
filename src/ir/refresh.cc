// refresh: a copy that binds ids of its own.
#include "src/ir/walk.h"

namespace tw::ir {
namespace {

class Refresh {
 public:
  Stmt operator()(const Stmt& s) {
    if (const For* f = as<For>(s)) {
      Expr extent = (*this)(f->extent);
      Var var = fresh(f->var);
      return loop(var, extent, (*this)(f->body), f->kind, f->tail);
    }
    if (const LetStmt* l = as<LetStmt>(s)) {
      Expr value = (*this)(l->value);
      Var var = fresh(l->var);
      return let_stmt(var, value, (*this)(l->body));
    }
    if (const Allocate* a = as<Allocate>(s)) {
      forget_unless_first(buffers_.insert_or_assign(a->buffer.id(), Buffer::fresh_id()).second);
      const Buffer copy = renamed(a->buffer);
      return allocate(copy, (*this)(a->body));
    }
    Stmt result = map_children(
        s, [this](const Stmt& inner) { return (*this)(inner); }, [this](const Expr& e) { return (*this)(e); });
    const Store* st = as<Store>(result);
    if (!st || !buffers_.contains(st->buffer.id())) return result;
    return store(renamed(st->buffer), st->at, st->value, st->pred, st->arrival);
  }

  Expr operator()(const Expr& e) {
    if (const VarRef* ref = as<VarRef>(e)) {
      const auto found = vars_.find(ref->var.id());
      return found == vars_.end() ? e : Expr(found->second);
    }
    if (e.shared()) {
      if (const auto known = exprs_.find(e.get()); known != exprs_.end()) return known->second;
    }
    const Expr result = copy(e);
    if (e.shared()) exprs_.emplace(e.get(), result);
    return result;
  }

 private:
  Expr copy(const Expr& e) {
    if (const Let* l = as<Let>(e)) {
      Expr value = (*this)(l->value);
      Var var = fresh(l->var);
      return let(var, value, (*this)(l->body));
    }
    if (const Reduce* r = as<Reduce>(e)) {
      std::vector<ReduceAxis> axes;
      for (const ReduceAxis& axis : r->axes) {
        Expr min = (*this)(axis.min), extent = (*this)(axis.extent);
        axes.push_back({fresh(axis.var), min, extent});
      }
      Reduce made{r->op, {}, std::move(axes), {}, {}, r->value, r->combiner};
      for (const Expr& source : r->sources) made.sources.push_back((*this)(source));
      for (const Expr& init : r->init) made.init.push_back((*this)(init));
      if (r->where) made.where = (*this)(r->where);
      return reduce(std::move(made));
    }
    Expr result = map_children(e, [this](const Expr& child) { return (*this)(child); });
    if (const Address* a = as<Address>(result); a && buffers_.contains(a->buffer.id()))
      return address_of(renamed(a->buffer), a->at, a->read, a->written);
    const Load* l = as<Load>(result);
    return l && buffers_.contains(l->buffer.id()) ? load(renamed(l->buffer), l->at, l->pred) : result;
  }

  Var fresh(const Var& var) {
    Var made(var.name(), var.type());
    forget_unless_first(vars_.insert_or_assign(var.id(), made).second);
    return made;
  }

  // A statement that stands in two places of the tree is copied twice, its variables each time anew.
  void forget_unless_first(bool first_binding) {
    if (!first_binding) exprs_.clear();
  }

  Buffer renamed(const Buffer& buffer) {
    BufferNode copy = *map_sizes(buffer, [this](const Expr& size) { return (*this)(size); }).operator->();
    copy.id = buffers_.at(buffer.id());
    return Buffer(std::move(copy));
  }

  std::unordered_map<uint64_t, Var> vars_;
  std::unordered_map<uint64_t, uint64_t> buffers_;
  std::unordered_map<const void*, Expr> exprs_;
};

}  // namespace

Stmt refresh(const Stmt& s) { return s ? Refresh()(s) : s; }

}  // namespace tw::ir
