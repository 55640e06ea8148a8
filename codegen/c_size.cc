#include "codegen/c_size.h"

namespace tw::codegen {

const char* const kSizeFunctions = R"(
#ifndef TENSORWRIGHT_SIZES
#define TENSORWRIGHT_SIZES
static inline int64_t tensorwright_add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}
static inline int64_t tensorwright_sub(int64_t a, int64_t b) {
  int64_t difference;
  if (__builtin_sub_overflow(a, b, &difference)) return a < 0 ? INT64_MIN : INT64_MAX;
  return difference;
}
static inline int64_t tensorwright_mul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
  return product;
}
static inline int64_t tensorwright_div(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? tensorwright_sub(0, a) : a / b; }
static inline int64_t tensorwright_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static inline int64_t tensorwright_floordiv(int64_t a, int64_t b) {
  const int64_t rest = tensorwright_mod(a, b);
  return tensorwright_div(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}
static inline int64_t tensorwright_floormod(int64_t a, int64_t b) {
  const int64_t rest = tensorwright_mod(a, b);
  return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}
static inline int64_t tensorwright_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tensorwright_max(int64_t a, int64_t b) { return a > b ? a : b; }
#endif
)";

namespace {

using ir::BinOp;

struct Operation {
  BinOp op;
  const char* function;  // or
  const char* infix;
};
const Operation kOperations[] = {
    {BinOp::kAdd, "add", nullptr},           {BinOp::kSub, "sub", nullptr},
    {BinOp::kMul, "mul", nullptr},           {BinOp::kFloorDiv, "floordiv", nullptr},
    {BinOp::kFloorMod, "floormod", nullptr}, {BinOp::kTruncDiv, "div", nullptr},
    {BinOp::kTruncMod, "mod", nullptr},      {BinOp::kMin, "min", nullptr},
    {BinOp::kMax, "max", nullptr},           {BinOp::kEq, nullptr, " == "},
    {BinOp::kNe, nullptr, " != "},           {BinOp::kLt, nullptr, " < "},
    {BinOp::kLe, nullptr, " <= "},           {BinOp::kGt, nullptr, " > "},
    {BinOp::kGe, nullptr, " >= "},           {BinOp::kAnd, nullptr, " && "},
    {BinOp::kOr, nullptr, " || "},
};

std::optional<std::string> of_binary(const ir::Binary& b, const CNamesOf& names) {
  const auto left = c_size(b.a, names), right = c_size(b.b, names);
  if (!left || !right) return std::nullopt;
  for (const Operation& operation : kOperations) {
    if (operation.op != b.op) continue;
    if (operation.infix) return "(" + *left + operation.infix + *right + ")";
    return std::string("tensorwright_") + operation.function + "(" + *left + ", " + *right + ")";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> c_size(const ir::Expr& e, const CNamesOf& names) {
  const ir::Type type = e.type();
  if (!type.is_scalar() || !(type.is_integer() || type.is_bool())) return std::nullopt;
  if (const auto* c = ir::as<ir::IntImm>(e)) return std::to_string(c->value);
  if (const auto* v = ir::as<ir::VarRef>(e)) {
    const auto found = names.find(v->var.id());
    return found == names.end() ? std::nullopt : std::optional(found->second);
  }
  if (const auto* c = ir::as<ir::Cast>(e)) return c_size(c->value, names);
  if (const auto* b = ir::as<ir::Binary>(e)) return of_binary(*b, names);
  if (const auto* n = ir::as<ir::Not>(e)) {
    const auto a = c_size(n->a, names);
    return a ? std::optional("!" + *a) : std::nullopt;
  }
  if (const auto* s = ir::as<ir::Select>(e)) {
    const auto cond = c_size(s->cond, names), yes = c_size(s->yes, names), no = c_size(s->no, names);
    if (!cond || !yes || !no) return std::nullopt;
    return "(" + *cond + " ? " + *yes + " : " + *no + ")";
  }
  return std::nullopt;
}

}  // namespace tw::codegen
