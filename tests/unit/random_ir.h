// Random well-formed programs that use every construct of the IR; the same seed gives the same program.
// They are for printing, parsing and comparing: running them may read outside their buffers.
#pragma once

#include <random>

#include "tensorwright/ir.h"

namespace tw::ir {

class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : rng_(seed) {}

  Program make() {
    Program p{pick(2) ? "kernel name" : "f", {}, {}};
    for (int i = 0; i < 3; ++i) {
      std::vector<Expr> shape, strides;
      for (int64_t rank = pick(4); rank > 0; --rank) shape.push_back(1 + pick(9));
      if (pick(4) == 0) strides.assign(shape.size(), Expr(pick(20)));
      const Buffer b(pick(3) ? "A" : "odd name\"", data_type(), shape, Scope::kArgument, strides);
      p.params.push_back({b, true});
      buffers_.push_back(b);
      if (pick(3) == 0) buffers_.push_back(linear(b));
    }
    p.body = statement(5);
    return p;
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(rng_() % static_cast<uint64_t>(n)); }
  bool chance(int64_t in) { return pick(in) == 0; }

  Type data_type() {
    static const Type kTypes[] = {Type::f(32), Type::f(32), Type::f(32), Type::f(16), Type::bf16(), Type::f(64),
                                  Type::i(8),  Type::i(32), Type::u(8),  Type::u(64), Type::i(64),  Type::boolean()};
    return kTypes[pick(12)];
  }
  static Buffer linear(const Buffer& b) {
    BufferNode node = *b.operator->();
    node.shape = {1000};
    node.strides.clear();
    return Buffer(node);
  }

  // ---- statements

  Stmt statement(int depth) {
    recent_.clear();
    Stmt s = any_statement(depth);
    recent_.clear();
    return s;
  }

  Stmt any_statement(int depth) {
    if (depth == 0) return store();
    switch (pick(8)) {
      case 0:
        return loop(depth);
      case 1:
        return loop(depth);
      case 2:
        return if_then(expr(Type::boolean(), 3), statement(depth - 1), chance(2) ? Stmt() : statement(depth - 1));
      case 3:
        return seq({statement(depth - 1), statement(depth - 1), chance(5) ? seq({}) : statement(depth - 1)});
      case 4:
        return allocation(depth);
      case 5:
        return let(depth);
      case 6:
        return seq({let(depth - 1), statement(depth - 1)});
      default:
        return store();
    }
  }

  Stmt loop(int depth) {
    const Var v(chance(3) ? "i.o" : chance(3) ? "for" : "i");
    const auto kind = static_cast<ForKind>(pick(4));
    const Expr extent = kind == ForKind::kVectorized || chance(2) ? Expr(pick(100)) : max(expr(Type::index(), 2), 0);
    vars_.push_back(v);
    Stmt body = statement(depth - 1);
    vars_.pop_back();
    return ir::loop(v, extent, body, kind, static_cast<Tail>(pick(6)));
  }

  Stmt allocation(int depth) {
    const Buffer b("acc", data_type(), {1 + pick(9), 4}, chance(2) ? Scope::kLocal : Scope::kGlobal);
    buffers_.push_back(b);
    Stmt body = statement(depth - 1);
    std::erase_if(buffers_, [&](const Buffer& x) { return x == b; });
    return allocate(b, body);
  }

  Stmt let(int depth) {
    const Type type = (chance(3) ? Type::index() : data_type()).with_lanes(chance(3) ? 8 : 1);
    const Expr value = expr(type, 3);
    const Var v("x", type);
    vars_.push_back(v);
    Stmt body = statement(std::max(depth - 1, 0));
    vars_.pop_back();
    return let_stmt(v, value, body);
  }

  Stmt store() {
    const Buffer b = buffers_[static_cast<size_t>(pick(static_cast<int64_t>(buffers_.size())))];
    const int lanes = b.rank() > 0 && chance(2) ? 8 : 1;
    const Expr value = expr(b.element().with_lanes(lanes), 5);
    return ir::store(b, subscripts(b, lanes), value, chance(3) ? expr(Type::boolean(lanes), 3) : Expr());
  }

  std::vector<Expr> subscripts(const Buffer& b, int lanes) {
    std::vector<Expr> at;
    for (size_t d = 0; d < b.rank(); ++d) {
      const bool vector = lanes > 1 && (d + 1 == b.rank() || chance(3));
      at.push_back(vector && chance(2) ? ramp(expr(Type::index(), 1), 1, lanes)
                                       : expr(Type::index(vector ? lanes : 1), 2));
    }
    return at;
  }

  // ---- expressions

  Expr expr(Type type, int depth) {
    if (!recent_.empty() && chance(4)) {
      const Expr& again = recent_[static_cast<size_t>(pick(static_cast<int64_t>(recent_.size())))];
      if (again.type() == type) return again;
    }
    Expr e = depth == 0 ? leaf(type) : inner(type, depth - 1);
    if (scoped_ == 0) recent_.push_back(e);
    if (recent_.size() > 20) recent_.erase(recent_.begin());
    return e;
  }

  Expr leaf(Type type) {
    for (const Var& v : vars_) {
      if (v.type() == type && chance(2)) return v;
    }
    if (type.is_index() && type.lanes > 1 && chance(2)) return ramp(pick(9), pick(3), type.lanes);
    if (!type.is_float()) return int_imm(type, static_cast<int64_t>(rng_()) >> pick(64));
    const double specials[] = {
        0.0, -0.0, 1e-45, 3.4e38, 1.0 / 3, -65504, 1e300, static_cast<double>(INFINITY), static_cast<double>(NAN)};
    return float_imm(type, chance(2) ? specials[pick(9)] : static_cast<double>(pick(2000) - 1000) / 7);
  }

  Expr inner(Type type, int depth) {
    const auto same = [&] { return expr(type, depth); };
    switch (pick(12)) {
      case 0:
        return leaf(type);
      case 1:
        return type.is_scalar() ? same() : broadcast(expr(type.element(), depth), type.lanes);
      case 2:
        return type.is_scalar() ? let_expr(type, depth) : same();
      case 3:
        return select(expr(Type::boolean(type.lanes), depth), same(), same());
      case 4:
        return cast(type, expr((chance(2) ? Type::index() : data_type()).with_lanes(type.lanes), depth));
      case 5:
        return load_of(type, depth);
      case 6:
        return type.is_scalar() && !type.is_bool() ? reduction(type, depth) : same();
      case 7:
        return call_of(type, depth);
      default:
        return operation(type, depth);
    }
  }

  Expr let_expr(Type type, int depth) {
    const Type inner_type = data_type();
    const Expr value = expr(inner_type, depth);
    const Var v("t", inner_type);
    ++scoped_;
    vars_.push_back(v);
    Expr body = expr(type, depth);
    vars_.pop_back();
    --scoped_;
    return ir::let(v, value, body);
  }

  Expr reduction(Type type, int depth) {
    const Var k("k"), l("k");
    std::vector<ReduceAxis> axes = {{k, 0, 1 + pick(5)}};
    if (chance(2)) axes.push_back({l, expr(Type::index(), 1), expr(Type::index(), 1)});
    ++scoped_;
    for (const ReduceAxis& axis : axes) vars_.push_back(axis.var);
    Expr source = expr(type, depth);
    vars_.resize(vars_.size() - axes.size());
    --scoped_;
    return reduce(static_cast<ReduceOp>(pick(4)), source, axes);
  }

  Expr load_of(Type type, int depth) {
    for (const Buffer& b : buffers_) {
      if (b.element() != type.element() || (b.rank() == 0 && type.lanes > 1) || chance(2)) continue;
      return load(b, subscripts(b, type.lanes), chance(3) ? expr(Type::boolean(type.lanes), depth) : Expr());
    }
    return expr(type, depth);
  }

  Expr call_of(Type type, int depth) {
    if (!type.is_bool() && !type.is_index() && chance(4)) {
      return reinterpret(type,
                         expr((chance(2) ? Type::i(type.bits) : Type::u(type.bits)).with_lanes(type.lanes), depth));
    }
    if (!type.is_float()) return expr(type, depth);
    const auto fn = static_cast<Fn>(pick(14));
    std::vector<Expr> args(fn == Fn::kFma ? 3 : fn == Fn::kPow ? 2 : 1);
    for (Expr& arg : args) arg = expr(type, depth);
    return call(fn, args);
  }

  Expr operation(Type type, int depth) {
    const auto of = [&](BinOp op, Type t) { return binary(op, expr(t, depth), expr(t, depth)); };
    if (type.is_bool()) {
      if (chance(4)) return logical_not(expr(type, depth));
      if (chance(2)) return of(chance(2) ? BinOp::kAnd : BinOp::kOr, type);
      const Type operands = chance(2) ? Type::index() : data_type();
      return of(static_cast<BinOp>(static_cast<int>(BinOp::kEq) + pick(6)), operands.with_lanes(type.lanes));
    }
    static const BinOp kAny[] = {BinOp::kAdd, BinOp::kSub, BinOp::kMul, BinOp::kMin, BinOp::kMax};
    static const BinOp kIntegers[] = {BinOp::kFloorDiv, BinOp::kFloorMod, BinOp::kTruncDiv, BinOp::kTruncMod};
    static const BinOp kBits[] = {BinOp::kBitAnd, BinOp::kBitOr, BinOp::kBitXor, BinOp::kShl, BinOp::kShr};
    if (chance(2)) return of(kAny[pick(5)], type);
    if (type.is_float()) return of(BinOp::kDiv, type);
    return type.is_index() || chance(2) ? of(kIntegers[pick(4)], type) : of(kBits[pick(5)], type);
  }

  std::mt19937_64 rng_;
  std::vector<Buffer> buffers_;
  std::vector<Var> vars_;
  std::vector<Expr> recent_;  // of this scope: taken again, so that expressions share nodes
  int scoped_ = 0;
};

}  // namespace tw::ir
