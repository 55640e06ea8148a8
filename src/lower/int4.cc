// Bytes in the place of pairs of 4-bit integers.

#include "src/lower/int4.h"

#include <unordered_map>
#include <unordered_set>

#include "src/ir/register_lanes.h"
#include "src/ir/requirement.h"
#include "src/ir/shared_byte.h"
#include "src/ir/simplify_fold.h"
#include "src/ir/walk.h"
#include "src/lower/flatten.h"
#include "src/lower/index_math.h"
#include "src/lower/launches.h"

namespace tw::lower {

using namespace ir;

namespace {

// The 8-bit integers that hold the values.
Type wide(Type t) { return t.is_int() ? Type::i(8, t.lanes) : Type::u(8, t.lanes); }
Expr u8(int64_t value, int lanes) { return int_imm(Type::u(8, lanes), value); }
Expr quotient(const Expr& a, int64_t b) {
  return as_int(a) && a.type().is_scalar() ? Expr(*as_int(a) / b) : floordiv(a, int_imm(a.type(), b));
}
Expr half(const Expr& element) { return quotient(element, 2); }

// How far an element stands from the low end of its byte: 0 or 4 bits.
Expr shift_of(const Expr& element) {
  const Type t = element.type();
  return cast(Type::u(8, t.lanes), floormod(element, int_imm(t, 2)) * int_imm(t, 4));
}

// The low 4 bits as a number, and what else was there dropped.
Expr wrapped(Type packed, const Expr& x) {
  const Type t = x.type();
  if (packed.is_uint()) return binary(BinOp::kBitAnd, x, int_imm(t, 15));
  return binary(BinOp::kShr, binary(BinOp::kShl, x, int_imm(t, 4)), int_imm(t, 4));
}

Expr converted(Type to, const Expr& x) {
  if (!x.type().is_float()) return wrapped(to, cast(wide(to), x));
  const Type t = wide(to);
  const Expr lowest = int_imm(t, to.is_int() ? -8 : 0), highest = int_imm(t, to.is_int() ? 7 : 15);
  return binary(BinOp::kMin, binary(BinOp::kMax, cast(t, x), lowest), highest);
}

Buffer bytes_of(const Buffer& buffer) {
  BufferNode node = *flattened(buffer).operator->();
  const Expr elements = node.shape[0];
  node.element = Type::u(8);
  node.shape = {half(add(elements, 1))};
  return Buffer(std::move(node));
}

Buffer scratch(const char* name, Type element, int lanes) {
  return Buffer(name, element, {Expr(lanes)}, Scope::kLocal);
}

class Packer {
 public:
  Packer(int lanes, bool of_launches) : lanes_(lanes), of_launches_(of_launches) {}

  Program run(const Program& p) {
    Program out = p;
    for (Param& param : out.params) {
      if (!param.buffer.element().is_packed()) continue;
      param.declared = param.buffer;
      param.buffer = bytes(param.buffer);
    }
    const Stmt body = visit(p.body);
    std::vector<Stmt> stmts;
    for (const Param& param : out.params)
      if (halves_.contains(param.buffer.id())) stmts.insert(stmts.begin(), zeros(param.buffer));
    out.body = behind_requirements(seq(std::move(stmts)), body);
    return out;
  }

 private:
  const Buffer& bytes(const Buffer& buffer) {
    auto [it, fresh] = bytes_.try_emplace(buffer.id());
    if (fresh) it->second = bytes_of(buffer);
    return it->second;
  }

  Stmt zeros(const Buffer& b) const {
    // Rows that are padded span fewer than no elements where there is none.
    const Expr span = b.shape()[0], count = as_int(span) ? span : max(span, 0);
    if (of_launches_ && b.scope() <= Scope::kGlobal) return zeros_by_launch(b, count);
    const Var block("block"), rest("rest");
    const Expr whole = quotient(count, lanes_), first = multiply(whole, lanes_), left = subtract(count, first);
    std::vector<Stmt> stmts;
    if (!is_int(whole, 0))
      stmts.push_back(loop(block, whole, store(b, {ramp(multiply(block, lanes_), 1, lanes_)}, u8(0, lanes_))));
    if (!is_int(left, 0)) stmts.push_back(loop(rest, left, store(b, {add(first, rest)}, u8(0, 1))));
    return seq(std::move(stmts));
  }

  static Stmt zeros_by_launch(const Buffer& b, const Expr& count) {
    const Var block("block"), thread("thread");
    const Expr at = add(multiply(block, kThreads), thread);
    const Stmt one = if_then(at < count, store(b, {at}, u8(0, 1)));
    return loop(block, quotient(add(count, Expr(kThreads - 1)), kThreads),
                loop(thread, kThreads, one, ForKind::kThreadX), ForKind::kBlockX);
  }

  // ---- values

  Expr visit(const Expr& e) {
    if (!e) return e;
    auto [it, fresh] = done_.try_emplace(e.get());
    if (!fresh) return it->second;
    const Expr out = e.type().is_packed() ? number(e) : other(e);
    return done_[e.get()] = out;
  }

  Expr other(const Expr& e) {
    if (const auto* c = as<Cast>(e); c && c->value.type().is_packed()) return cast(e.type(), visit(c->value));
    if (const auto* l = as<Let>(e); l && l->var.type().is_packed()) return named(*l);
    if (const auto* a = as<Address>(e); a && a->buffer.element().is_packed())
      return address_of(bytes(a->buffer), {half(visit(a->at[0]))}, a->read, a->written);
    return map_children(e, [&](const Expr& child) { return visit(child); });
  }

  Expr named(const Let& l) {
    const Expr value = visit(l.value);
    return let(widened(l.var), value, visit(l.body));
  }

  // Of a 4-bit integer, the 8-bit integer that is the same number.
  Expr number(const Expr& e) {
    return match(
        e, [&](const IntImm& i) { return int_imm(wide(e.type()), i.value); },
        [&](const Load& l) { return loaded(l, e.type()); }, [&](const VarRef& v) { return Expr(widened(v.var)); },
        [&](const Cast& c) { return converted(e.type(), visit(c.value)); },
        [&](const Select& s) { return select(visit(s.cond), visit(s.yes), visit(s.no)); },
        [&](const Broadcast& b) { return broadcast(visit(b.value), b.lanes); },
        [&](const Let& l) { return l.var.type().is_packed() ? named(l) : let(l.var, visit(l.value), visit(l.body)); },
        [&](const auto&) {
          TW_CHECK(false, "no 4-bit integer can be " + to_string(e));
          return e;
        });
  }

  Expr loaded(const Load& l, Type packed) {
    const Expr at = visit(l.at[0]);
    const Expr byte = load(bytes(l.buffer), {half(at)}, visit(l.pred));
    const int lanes = byte.type().lanes;
    const Expr shift = with_lanes(shift_of(at), lanes);
    if (packed.is_uint()) return binary(BinOp::kBitAnd, binary(BinOp::kShr, byte, shift), u8(15, lanes));
    const Expr left = cast(wide(packed), u8(4, lanes) - shift);
    return binary(BinOp::kShr, binary(BinOp::kShl, cast(wide(packed), byte), left), int_imm(wide(packed), 4));
  }

  Var widened(const Var& var) { return vars_.try_emplace(var.id(), Var(var.name(), wide(var.type()))).first->second; }

  // ---- statements

  Stmt visit(const Stmt& s) {
    if (const auto* st = as<Store>(s); st && st->buffer.element().is_packed()) return stored(*st);
    if (const auto* a = as<Allocate>(s); a && a->buffer.element().is_packed()) {
      const Buffer& b = bytes(a->buffer);
      const Stmt body = visit(a->body);
      return allocate(b, halves_.contains(b.id()) ? seq({zeros(b), body}) : body);
    }
    if (const auto* l = as<LetStmt>(s); l && l->var.type().is_packed()) {
      const Expr value = visit(l->value);
      return let_stmt(widened(l->var), value, visit(l->body));
    }
    return map_children(
        s, [&](const Stmt& child) { return visit(child); }, [&](const Expr& child) { return visit(child); });
  }

  Stmt stored(const Store& st) {
    const Buffer& b = bytes(st.buffer);
    const Expr at = visit(st.at[0]), pred = visit(st.pred);
    const int lanes = lanes_of(st);
    if (const Expr from = copied_bytes(st); !!from && begins_byte(at) && !pred)
      return store(b, {bytes_from(as<Ramp>(at)->base, lanes / 2)}, from);
    const Expr value = with_lanes(wrapped(Type::u(4), cast(Type::u(8, st.value.type().lanes), visit(st.value))), lanes);
    if (lanes == 1) return half_stored(b, at, value, pred);
    const Buffer values = scratch("values", Type::u(8), lanes);
    const Stmt all = store(values, {ramp(0, 1, lanes)}, value, pred);
    const bool whole = begins_byte(at) && !pred;
    return allocate(
        values, whole ? seq({all, pairs(b, as<Ramp>(at)->base, values, lanes)}) : one_by_one(b, at, pred, values, all));
  }

  // Whether neighbours fill whole bytes.
  static bool begins_byte(const Expr& at) {
    const auto* run = as<Ramp>(at);
    return run && is_int(run->stride, 1) && at.type().lanes % 2 == 0 && is_even(run->base);
  }
  static Expr bytes_from(const Expr& element, int count) {
    return count == 1 ? half(element) : ramp(half(element), 1, count);
  }
  // The bytes of neighbours that are stored as they were loaded; none where they are not.
  Expr copied_bytes(const Store& st) {
    const auto* from = as<Load>(st.value);
    if (!from || !!from->pred || from->buffer.element() != st.buffer.element()) return {};
    const Expr at = visit(from->at[0]);
    if (!begins_byte(at)) return {};
    return load(bytes(from->buffer), {bytes_from(as<Ramp>(at)->base, at.type().lanes / 2)});
  }

  static int lanes_of(const Store& st) { return std::max<int>(st.value.type().lanes, st.at[0].type().lanes); }

  // The half of the byte that this store leaves alone is kept.
  Stmt half_stored(const Buffer& b, const Expr& at, const Expr& value, const Expr& pred) {
    halves_.insert(b.id());
    const Expr shift = shift_of(at);
    const Expr kept = binary(BinOp::kBitAnd, load(b, {half(at)}, pred), binary(BinOp::kShr, u8(240, 1), shift));
    return store(b, {half(at)}, binary(BinOp::kBitOr, kept, binary(BinOp::kShl, value, shift)), pred);
  }

  static Stmt pairs(const Buffer& b, const Expr& base, const Buffer& values, int lanes) {
    const int count = lanes / 2;
    const auto every_other = [&](int first) {
      return load(values, {count == 1 ? Expr(first) : ramp(first, 2, count)});
    };
    const Expr byte = binary(BinOp::kBitOr, every_other(0), binary(BinOp::kShl, every_other(1), u8(4, count)));
    return store(b, {bytes_from(base, count)}, byte);
  }

  // Lanes in their order; where their elements follow no rule, these are written down first, as is which are wanted.
  Stmt one_by_one(const Buffer& b, const Expr& at, const Expr& pred, const Buffer& values, Stmt all) {
    const int lanes = at.type().lanes;
    const Var lane("lane");
    const auto* run = as<Ramp>(at);
    Expr element = run ? add(run->base, multiply(lane, run->stride)) : Expr();
    std::vector<Buffer> lists;
    if (!run) {
      lists.push_back(scratch("elements", Type::i(64), lanes));
      all = seq({all, store(lists.back(), {ramp(0, 1, lanes)}, cast(Type::i(64, lanes), at), pred)});
      element = cast(Type::index(), load(lists.back(), {lane}));
    }
    Stmt one = half_stored(b, element, load(values, {lane}), {});
    if (pred) {
      lists.push_back(scratch("wanted", Type::boolean(), lanes));
      all = seq({all, store(lists.back(), {ramp(0, 1, lanes)}, pred)});
      one = if_then(load(lists.back(), {lane}), one);
    }
    Stmt out = seq({all, loop(lane, lanes, one)});
    for (const Buffer& list : lists) out = allocate(list, out);
    return out;
  }

  static constexpr int64_t kThreads = 256;  // of a block, when a launch clears a buffer

  const int lanes_;         // of bytes, when a buffer is cleared
  const bool of_launches_;  // the program's statements are
  std::unordered_map<uint64_t, Buffer> bytes_;
  std::unordered_set<uint64_t> halves_;  // buffers of which some store changes half a byte
  std::unordered_map<uint64_t, Var> vars_;
  std::unordered_map<const ExprNode*, Expr> done_;  // the program keeps the keys alive
};

bool has_packed(const Program& p) {
  bool found = false;
  for (const Param& param : p.params) found = found || param.buffer.element().is_packed();
  walk(
      p.body,
      [&](const Stmt& s) {
        const auto* a = as<Allocate>(s);
        found = found || (a && a->buffer.element().is_packed());
        return !found;
      },
      [&](const Expr& e) {
        found = found || e.type().is_packed();
        return !found;
      });
  return found;
}

}  // namespace

Program int4(const Program& p, const Target& target) {
  return has_packed(p) ? Packer(std::max(2, register_lanes(target, Type::u(8))), holds_launch(p)).run(p) : p;
}

}  // namespace tw::lower
