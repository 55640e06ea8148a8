// Random index and bool expressions over bounded variables, and their values by definition.
#pragma once

#include <algorithm>
#include <random>
#include <sstream>
#include <unordered_map>

#include "src/ir/interval_arith.h"
#include "tensorwright/ir.h"

namespace tw::ir {

class RandomIndex {
 public:
  explicit RandomIndex(uint64_t seed) : generator_(seed) {
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      vars_.emplace_back(name);
      const int64_t lo = between(-3, 3) * (vars_.size() % 2);
      bounds_[vars_.back().id()] = {lo, lo + between(0, 20)};
    }
    draw();
  }

  const Bounds& bounds() const { return bounds_; }
  const std::vector<Var>& vars() const { return vars_; }
  int64_t between(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(generator_); }

  // New values for all variables, within bounds.
  void draw() {
    for (const Var& v : vars_) values_[v.id()] = between(bounds_[v.id()].lo, bounds_[v.id()].hi);
  }
  void set(const Var& v, int64_t value) { values_[v.id()] = value; }
  std::string point() const {
    std::ostringstream out;
    for (const Var& v : vars_) out << v.name() << "=" << values_.at(v.id()) << " ";
    return out.str();
  }

  Expr expression(Type type, int depth) {
    return type.is_bool() ? condition(type.lanes, depth) : index(type.lanes, depth);
  }

  // One sum written in two ways.
  std::pair<Expr, Expr> equal_sums() {
    std::vector<std::pair<Expr, int64_t>> terms;
    for (int n = 0; n < 5; ++n) terms.push_back({between(0, 3) ? Expr(pick()) : floordiv(pick(), 3), between(-4, 4)});
    auto sum = [&] {
      std::shuffle(terms.begin(), terms.end(), generator_);
      Expr out = 7;
      for (const auto& [atom, factor] : terms) {
        const int64_t part = between(-5, 5);
        out = between(0, 1) ? out + atom * Expr(factor) : (atom * Expr(factor - part) + out) + Expr(part) * atom;
      }
      return out;
    };
    return {sum(), sum()};
  }

  // The value of a lane by the definitions of ir.h.
  int64_t value(const Expr& e, int lane = 0) const {
    if (const auto* c = as<IntImm>(e)) return c->value;
    if (const auto* v = as<VarRef>(e)) return values_.at(v->var.id());
    if (const auto* b = as<Broadcast>(e)) return value(b->value);
    if (const auto* r = as<Ramp>(e)) return value(r->base) + lane * value(r->stride);
    if (const auto* n = as<Not>(e)) return !value(n->a, lane);
    if (const auto* s = as<Select>(e)) return value(s->cond, lane) ? value(s->yes, lane) : value(s->no, lane);
    const auto& b = std::get<Binary>(e->kind);
    return apply(b.op, value(b.a, lane), value(b.b, lane));
  }

 private:
  static int64_t apply(BinOp op, int64_t a, int64_t b) {
    switch (op) {
      case BinOp::kAdd:
        return a + b;
      case BinOp::kSub:
        return a - b;
      case BinOp::kMul:
        return a * b;
      case BinOp::kFloorDiv:
        return b == 0 ? 0 : (a - ((a % b) + b) % b) / b;
      case BinOp::kFloorMod:
        return b == 0 ? 0 : ((a % b) + b) % b;
      case BinOp::kTruncDiv:
        return b == 0 ? 0 : a / b;
      case BinOp::kTruncMod:
        return b == 0 ? 0 : a % b;
      case BinOp::kMin:
        return a < b ? a : b;
      case BinOp::kMax:
        return a > b ? a : b;
      case BinOp::kEq:
        return a == b;
      case BinOp::kNe:
        return a != b;
      case BinOp::kLt:
        return a < b;
      case BinOp::kLe:
        return a <= b;
      case BinOp::kGt:
        return a > b;
      case BinOp::kGe:
        return a >= b;
      case BinOp::kAnd:
        return a && b;
      case BinOp::kOr:
        return a || b;
      default:
        TW_CHECK(false, "not an operator of index expressions");
        return 0;
    }
  }

  const Var& pick() { return vars_[static_cast<size_t>(between(0, static_cast<int64_t>(vars_.size()) - 1))]; }

  Expr index(int lanes, int depth) {
    const int choice = static_cast<int>(between(0, depth == 0 ? 1 : 11));
    if (lanes > 1 && (choice == 1 || choice == 2))
      return ramp(index(1, depth > 0 ? depth - 1 : 0), choice == 1 ? Expr(between(-3, 3)) : Expr(pick()), lanes);
    if (choice == 0) return broadcast(pick(), lanes);
    if (choice == 1) return int_imm(Type::index(lanes), between(-20, 20));
    const Expr a = index(lanes, depth - 1);
    static constexpr int64_t kDivisors[] = {0, 1, 2, 3, 4, 6, 8, 16, -1, -4};
    const Expr divisor = int_imm(Type::index(lanes), kDivisors[between(0, 9)]);
    if (choice == 5 || choice == 6) return floordiv(a, divisor);
    if (choice == 7 || choice == 8) return floormod(a, divisor);
    if (choice == 9) return a * int_imm(Type::index(lanes), between(-16, 16));
    if (choice == 10) return select(condition(lanes, depth - 1), a, index(lanes, depth - 1));
    if (choice == 11 && between(0, 3) == 0)
      return binary(between(0, 1) ? BinOp::kTruncDiv : BinOp::kTruncMod, a, divisor);
    const Expr b = index(lanes, depth - 1);
    if (choice == 11) return between(0, 1) ? a * b : floormod(a, b);
    if (choice == 2) return a + b;
    if (choice == 3) return a - b;
    return between(0, 1) ? min(a, b) : max(a, b);
  }

  Expr condition(int lanes, int depth) {
    if (depth > 0 && between(0, 2) == 0) {
      const Expr a = condition(lanes, depth - 1);
      if (between(0, 4) == 0) return logical_not(a);
      return between(0, 2) ? a && condition(lanes, depth - 1) : a || condition(lanes, depth - 1);
    }
    static constexpr BinOp kOps[] = {BinOp::kEq, BinOp::kNe, BinOp::kLt, BinOp::kLe, BinOp::kGt, BinOp::kGe};
    const Expr a = index(lanes, depth > 0 ? depth - 1 : 0);
    return binary(kOps[between(0, 5)], a, index(lanes, depth > 0 ? depth - 1 : 0));
  }

  std::mt19937_64 generator_;
  std::vector<Var> vars_;
  Bounds bounds_;
  std::unordered_map<uint64_t, int64_t> values_;
};

}  // namespace tw::ir
