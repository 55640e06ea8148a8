// Subscripts become element offsets.

#include "src/lower/flatten.h"

#include <unordered_map>

#include "src/ir/equal.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

// A buffer in one dimension, and the strides that its subscripts are multiplied with.
struct Flat {
  Buffer buffer;
  std::vector<Expr> strides;
};

Flat flat_of(const Buffer& buffer) {
  Flat flat;
  flat.strides = buffer.strides();
  Expr elements = 1;
  if (flat.strides.empty()) {
    flat.strides.resize(buffer.rank());
    for (size_t d = buffer.rank(); d-- > 0;) {
      flat.strides[d] = elements;
      elements = multiply(buffer.shape()[d], elements);
    }
  } else {
    for (size_t d = 0; d < buffer.rank(); ++d) {
      if (is_int(buffer.shape()[d], 0)) elements = 0;
      if (!is_int(elements, 0)) elements = add(elements, multiply(subtract(buffer.shape()[d], 1), flat.strides[d]));
    }
  }
  BufferNode node = *buffer.operator->();
  node.shape = {elements};
  node.strides.clear();
  flat.buffer = Buffer(std::move(node));
  return flat;
}

class Flattener {
 public:
  Program run(const Program& p) {
    Program out = p;
    out.body = visit(p.body);
    return out;
  }

 private:
  const Flat& flat(const Buffer& buffer) {
    auto [it, fresh] = flats_.try_emplace(buffer.id());
    if (fresh) it->second = flat_of(buffer);
    return it->second;
  }

  std::vector<Expr> offset(const Flat& flat, const Buffer& buffer, const std::vector<Expr>& at) {
    Expr sum = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      const Expr subscript = visit(at[d]);
      sum = add(sum, multiply(has_load(at[d]) ? inside(subscript, buffer.shape()[d]) : subscript, flat.strides[d]));
    }
    return {sum};
  }

  // A subscript that is data may have any value: it is moved into the buffer.
  static Expr inside(const Expr& subscript, const Expr& extent) {
    const int lanes = subscript.type().lanes;
    const Expr last = with_lanes(subtract(extent, 1), lanes), first = with_lanes(0, lanes);
    const auto operand = [](const Expr& e, BinOp op, const Expr& with) {
      const auto* b = as<Binary>(e);
      return b && b->op == op && equal(b->b, with) ? b->a : Expr();
    };
    const Expr below = operand(subscript, BinOp::kMax, first);
    const bool clamped = static_cast<bool>(below) && static_cast<bool>(operand(below, BinOp::kMin, last));
    if (clamped) return subscript;
    return max(min(subscript, last), first);
  }

  Expr visit(const Expr& e) {
    if (!e) return e;
    auto [it, fresh] = done_.try_emplace(e.get());
    if (!fresh) return it->second;
    if (const auto* a = as<Address>(e)) {
      const Flat& to = flat(a->buffer);
      const Expr out = address_of(to.buffer, offset(to, a->buffer, a->at), a->read, a->written);
      return done_[e.get()] = out;
    }
    const auto* l = as<Load>(e);
    Expr out = l ? load(flat(l->buffer).buffer, offset(flat(l->buffer), l->buffer, l->at), visit(l->pred))
                 : map_children(e, [&](const Expr& child) { return visit(child); });
    return done_[e.get()] = out;
  }

  Stmt visit(const Stmt& s) {
    if (const auto* st = as<Store>(s)) {
      const Flat& to = flat(st->buffer);
      return store(to.buffer, offset(to, st->buffer, st->at), visit(st->value), visit(st->pred), st->arrival);
    }
    if (const auto* a = as<Allocate>(s)) return allocate(flat(a->buffer).buffer, visit(a->body));
    return map_children(
        s, [&](const Stmt& child) { return visit(child); }, [&](const Expr& child) { return visit(child); });
  }

  std::unordered_map<uint64_t, Flat> flats_;
  std::unordered_map<const ExprNode*, Expr> done_;  // the program keeps the keys alive
};

}  // namespace

Program flatten(const Program& p, const Target&) { return Flattener().run(p); }

Buffer flattened(const Buffer& buffer) { return flat_of(buffer).buffer; }

}  // namespace tw::lower
