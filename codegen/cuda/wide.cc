#include "codegen/cuda/wide.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/scratch.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using namespace ir;

namespace {

constexpr int kWidest = 16, kMostBytes = 64;  // of one access; of a vector, which may take several
constexpr int kMostHeld = 128;                // bytes that a choice reads beforehand: a quarter of a warp's registers

bool has_width(Type element, int lanes) {
  const int bytes = element.bytes() * lanes;
  return lanes > 1 && (lanes & (lanes - 1)) == 0 && bytes <= kMostBytes && !element.is_packed();
}

// A subscript base .. base + lanes - 1 at a multiple of the vector's size, or of 16 bytes.
const Ramp* aligned_ramp(Type element, const std::vector<Expr>& at) {
  const Ramp* ramp = at.size() == 1 ? as<Ramp>(at[0]) : nullptr;
  if (ramp == nullptr || !is_int(ramp->stride, 1) || !has_width(element, ramp->lanes)) return nullptr;
  const int multiple = std::min(ramp->lanes, kWidest / element.bytes());
  return is_int(simplify(floormod(ramp->base, Expr(multiple))), 0) ? ramp : nullptr;
}

bool may_be_vector(const Buffer& buffer) {
  const auto elements = known_elements(buffer);
  return buffer.scope() == Scope::kLocal && buffer.rank() == 1 && elements && *elements <= kMostBytes &&
         has_width(buffer.element(), static_cast<int>(*elements));
}

// Registers have no addresses: only a vector of its own is copied as a whole.
bool is_wide(const Buffer& buffer, const std::vector<Expr>& at) {
  const Ramp* ramp = aligned_ramp(buffer.element(), at);
  if (ramp == nullptr || buffer.scope() != Scope::kLocal) return ramp != nullptr;
  return is_int(ramp->base, 0) && known_elements(buffer) == ramp->lanes && may_be_vector(buffer);
}

// A condition that holds for all lanes or for none, as a scalar; empty predicates hold.
bool same_for_all(const Expr& pred) { return !pred || as<Broadcast>(pred); }

class Widener {
 public:
  Stmt visit(const Stmt& s) {
    if (const auto* st = as<Store>(s)) return store_of(*st, s);
    if (const auto* l = as<LetStmt>(s); l && !l->var.type().is_scalar()) {
      const Expr value = with_vectors(l->value);
      return around(let_stmt(l->var, value, visit_apart(l->body)));
    }
    return map_children(s, [&](const Stmt& child) { return visit_apart(child); }, [](const Expr& e) { return e; });
  }

 private:
  struct Read {
    Expr load;  // what is read, without its predicate
    Expr pred;  // of the whole, a scalar, or empty
    Buffer vector;
  };

  Stmt visit_apart(const Stmt& s) {
    const auto outer = std::exchange(reads_, {});
    const Stmt out = visit(s);
    reads_ = outer;
    return out;
  }

  // What is not stored is not read: a condition of the store guards its loads, too.
  Stmt store_of(const Store& st, const Stmt& whole) {
    if (st.pred) {
      const auto* all = as<Broadcast>(st.pred);
      if (all == nullptr) return whole;
      const Stmt always = store(st.buffer, st.at, st.value), wider = store_of(*as<Store>(always), always);
      const bool as_it_was = wider.same_as(always) && !is_wide_copy(*as<Store>(always));
      return as_it_was ? whole : if_then(all->value, wider);
    }
    if (is_wide_copy(st)) return whole;
    if (holds_many(st.value)) return chosen(st, st.value);
    const Expr value = with_vectors(st.value);
    const bool wide = st.buffer.scope() != Scope::kLocal && is_wide(st.buffer, st.at);
    if (!wide && reads_.empty()) return whole;
    if (!wide) return around(store(st.buffer, st.at, value));
    const int lanes = as<Ramp>(st.at[0])->lanes;
    const Expr all = ramp(Expr(0), Expr(1), lanes);
    const auto* read = as<Load>(value);
    const Buffer made = vector(st.buffer, lanes);
    const bool ready = read && !read->pred && may_be_vector(read->buffer) && is_wide(read->buffer, read->at);
    Stmt out = store(st.buffer, st.at, ready ? value : load(made, {all}));
    if (!ready) out = allocate(made, seq({store(made, {all}, value), out}));
    return around(out);
  }

  // Whether a choice that all lanes make alike takes too many registers where both of its sides are read beforehand.
  static bool holds_many(const Expr& value) {
    if (!is_choice_for_all(value)) return false;
    Widener apart;
    apart.with_vectors(value);
    int64_t bytes = 0;
    for (const Read& read : apart.reads_) bytes += read.load.type().bytes() * read.load.type().lanes;
    return bytes > kMostHeld;
  }
  static bool is_choice_for_all(const Expr& value) {
    const auto* choice = as<Select>(value);
    return choice && as<Broadcast>(choice->cond);
  }

  // A branch then, of which each side reads what is its own.
  Stmt chosen(const Store& st, const Expr& value) {
    if (is_choice_for_all(value)) {
      const auto* choice = as<Select>(value);
      const Stmt yes = chosen(st, choice->yes), no = chosen(st, choice->no);
      return if_then(as<Broadcast>(choice->cond)->value, yes, no);
    }
    const Stmt one = store(st.buffer, st.at, value);
    return store_of(*as<Store>(one), one);
  }

  static Buffer vector(const Buffer& of, int lanes) {
    return Buffer(of.name() + "_v", of.element(), {Expr(lanes)}, Scope::kLocal);
  }

  // The expression with its loads of whole vectors read beforehand. Those that are not evaluated in any case stay.
  Expr with_vectors(const Expr& e) {
    if (const auto* l = as<Load>(e)) {
      if (l->buffer.scope() == Scope::kLocal || !is_wide(l->buffer, l->at) || !same_for_all(l->pred) || uses_bound(e))
        return e;
      return load(vector_read(*l), {ramp(Expr(0), Expr(1), e.type().lanes)});
    }
    if (const auto* c = as<Cast>(e)) return cast(e.type(), with_vectors(c->value));
    if (const auto* b = as<Binary>(e))
      return binary(b->op, with_vectors(b->a), b->op == BinOp::kAnd || b->op == BinOp::kOr ? b->b : with_vectors(b->b));
    if (const auto* n = as<Not>(e)) return logical_not(with_vectors(n->a));
    if (const auto* s = as<Select>(e)) return choice_with_vectors(*s);
    if (const auto* c = as<Call>(e)) {
      std::vector<Expr> args;
      for (const Expr& arg : c->args) args.push_back(with_vectors(arg));
      return c->fn == Fn::kReinterpret ? reinterpret(e.type(), args[0]) : call(c->fn, std::move(args));
    }
    if (const auto* l = as<Let>(e)) {
      const Expr value = with_vectors(l->value);
      bound_.push_back(l->var);
      const Expr body = with_vectors(l->body);
      bound_.pop_back();
      return let(l->var, value, body);
    }
    return e;
  }

  // Where all lanes choose alike, what is chosen is read beforehand, too.
  Expr choice_with_vectors(const Select& s) {
    const auto* all = as<Broadcast>(s.cond);
    if (all == nullptr || uses_bound(all->value)) return select(with_vectors(s.cond), s.yes, s.no);
    const auto side = [&](const Expr& chosen, const Expr& value) {
      const Expr outer = std::exchange(under_, under_ ? under_ && chosen : chosen);
      Expr out = with_vectors(value);
      under_ = outer;
      return out;
    };
    const Expr yes = side(all->value, s.yes), no = side(simplify(logical_not(all->value)), s.no);
    return are_zeros(s.no) && is_a_read(yes) ? yes : select(s.cond, yes, no);
  }

  static bool are_zeros(const Expr& e) {
    const auto* same = as<Broadcast>(e);
    const Expr& value = same ? same->value : e;
    return value.type().is_scalar() && equal(value, zero(value.type()));
  }

  // A vector that was read where the condition holds, and is zeros elsewhere, which stay zeros when they are converted
  // or are the bits of another type.
  bool is_a_read(const Expr& e) const {
    if (const auto* c = as<Cast>(e)) return is_a_read(c->value);
    if (const auto* c = as<Call>(e)) return c->fn == Fn::kReinterpret && is_a_read(c->args[0]);
    const auto* l = as<Load>(e);
    return l && std::any_of(reads_.begin(), reads_.end(), [&](const Read& read) { return read.vector == l->buffer; });
  }

  bool uses_bound(const Expr& e) const {
    return std::any_of(bound_.begin(), bound_.end(), [&](const Var& v) { return uses_var(e, v); });
  }

  const Buffer& vector_read(const Load& l) {
    const Expr wanted = load(l.buffer, l.at), own = l.pred ? as<Broadcast>(l.pred)->value : Expr();
    const Expr pred = !!own && !!under_ ? under_ && own : own ? own : under_;
    for (const Read& known : reads_)
      if (equal(known.load, wanted) && (!!known.pred && !!pred ? equal(known.pred, pred) : known.pred.same_as(pred)))
        return known.vector;
    reads_.push_back({wanted, pred, vector(l.buffer, wanted.type().lanes)});
    return reads_.back().vector;
  }

  // The statement behind the reads that it needs.
  Stmt around(Stmt out) {
    for (auto read = reads_.rbegin(); read != reads_.rend(); ++read) {
      const Expr all = ramp(Expr(0), Expr(1), read->load.type().lanes);
      Stmt fill = store(read->vector, {all}, read->load);
      if (read->pred)
        fill = if_then(read->pred, fill,
                       store(read->vector, {all}, broadcast(zero(read->vector.element()), read->load.type().lanes)));
      out = allocate(read->vector, seq({fill, out}));
    }
    reads_.clear();
    return out;
  }

  std::vector<Read> reads_;  // of the statement at hand
  Expr under_;               // a scalar: what holds where the expression at hand is evaluated; or empty
  std::vector<Var> bound_;   // by a let inside of it
};

}  // namespace

bool is_wide_copy(const Store& st) {
  const auto* from = as<Load>(st.value);
  return from && !st.pred && !from->pred && from->buffer.element() == st.buffer.element() &&
         is_wide(st.buffer, st.at) && is_wide(from->buffer, from->at);
}

std::unordered_set<uint64_t> vectors_in(const Stmt& body) {
  std::unordered_set<uint64_t> vectors;
  walk(body, [&](const Stmt& s) {
    const auto* st = as<Store>(s);
    if (!st || !is_wide_copy(*st)) return true;
    for (const Buffer& side : {st->buffer, as<Load>(st->value)->buffer})
      if (side.scope() == Scope::kLocal) vectors.insert(side.id());
    return true;
  });
  return vectors;
}

int argument_alignment(const Stmt& body, const Buffer& buffer) {
  int bytes = buffer.element().bytes();
  walk(body, [&](const Stmt& s) {
    const auto* st = as<Store>(s);
    if (!st || !is_wide_copy(*st)) return true;
    const auto* from = as<Load>(st->value);
    if (st->buffer == buffer || from->buffer == buffer)
      bytes = std::max(bytes, std::min(kWidest, from->buffer.element().bytes() * st->value.type().lanes));
    return true;
  });
  return bytes;
}

Stmt wide_accesses(const Stmt& body) { return Widener().visit(body); }

}  // namespace tw::codegen
