#include "src/ir/interp_index.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "src/ir/interp_division.h"

namespace tw::ir::interp {
namespace {

using Parts = std::map<uint64_t, std::pair<Var, int64_t>>;

// The sum as variable * factor + ... + constant, when it is one.
bool as_affine(const Expr& e, int64_t scale, Parts& parts, int64_t& constant) {
  if (const auto* c = as<IntImm>(e)) {
    int64_t part;
    return !__builtin_mul_overflow(scale, c->value, &part) && !__builtin_add_overflow(constant, part, &constant);
  }
  if (const auto* v = as<VarRef>(e)) {
    auto& part = parts.insert({v->var.id(), {v->var, 0}}).first->second;
    part.second += scale;
    return true;
  }
  const auto* b = as<Binary>(e);
  if (!b) return false;
  if (b->op == BinOp::kAdd) return as_affine(b->a, scale, parts, constant) && as_affine(b->b, scale, parts, constant);
  if (b->op == BinOp::kSub) return as_affine(b->a, scale, parts, constant) && as_affine(b->b, -scale, parts, constant);
  const auto factor = b->op == BinOp::kMul ? as_int(b->b) : std::nullopt;
  constexpr int64_t kLargest = int64_t{1} << 31;
  if (!factor || *factor > kLargest || *factor < -kLargest || scale > kLargest || scale < -kLargest) return false;
  return as_affine(b->a, scale * *factor, parts, constant);
}

struct AffineCode final : ExprCode {
  Index sum;
  explicit AffineCode(Index s) : sum(std::move(s)) {}
  Value eval(State& s) const override {
    Value out{};
    out.i = sum.eval(s);
    return out;
  }
};

// What is not negative and fits in half of a word is divided as that, which takes a fraction of the time.
template <BinOp op>
int64_t divided(int64_t a, int64_t b) {
  if ((static_cast<uint64_t>(a) | static_cast<uint64_t>(b)) >> 32 == 0)
    return integer_division<op>(static_cast<uint32_t>(a), static_cast<uint32_t>(b));
  return integer_division<op>(a, b);
}

template <BinOp op>
int64_t operation(int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if constexpr (op == BinOp::kAdd) return static_cast<int64_t>(x + y);
  if constexpr (op == BinOp::kSub) return static_cast<int64_t>(x - y);
  if constexpr (op == BinOp::kMul) return static_cast<int64_t>(x * y);
  if constexpr (op == BinOp::kFloorDiv || op == BinOp::kFloorMod) return divided<op>(a, b);
  if constexpr (op == BinOp::kMin) return std::min(a, b);
  if constexpr (op == BinOp::kMax) return std::max(a, b);
  if constexpr (op == BinOp::kEq) return a == b;
  if constexpr (op == BinOp::kNe) return a != b;
  if constexpr (op == BinOp::kLt) return a < b;
  if constexpr (op == BinOp::kLe) return a <= b;
  if constexpr (op == BinOp::kGt) return a > b;
  if constexpr (op == BinOp::kGe) return a >= b;
}

template <BinOp op>
struct IndexCode final : ExprCode {
  Index a, b;
  IndexCode(Index x, Index y) : a(std::move(x)), b(std::move(y)) {}
  Value eval(State& s) const override {
    Value out{};
    const int64_t left = a.eval(s);
    out.i = operation<op>(left, b.eval(s));
    return out;
  }
};

}  // namespace

Index::Index(Preparation& preparation, const Expr& e) {
  const Type t = e.type();
  Parts parts;
  if (!t.is_index() || !t.is_scalar() || !as_affine(e, 1, parts, constant_)) {
    code_ = preparation.expr(e);
    return;
  }
  for (const auto& [id, part] : parts) parts_.push_back({preparation.slot_of(part.first, 1), part.second});
}

ExprPtr affine_code(Preparation& preparation, const Expr& e) {
  Parts parts;
  int64_t constant = 0;
  if (!e.type().is_index() || !e.type().is_scalar() || !as<Binary>(e) || !as_affine(e, 1, parts, constant))
    return nullptr;
  return std::make_shared<AffineCode>(Index(preparation, e));
}

ExprPtr index_code(Preparation& preparation, const Binary& b) {
  if (!b.a.type().is_index()) return nullptr;
  const auto code = [&]<BinOp op>() -> ExprPtr {
    Index left(preparation, b.a);
    return std::make_shared<IndexCode<op>>(std::move(left), Index(preparation, b.b));
  };
  switch (b.op) {
    case BinOp::kAdd:
      return code.operator()<BinOp::kAdd>();
    case BinOp::kSub:
      return code.operator()<BinOp::kSub>();
    case BinOp::kMul:
      return code.operator()<BinOp::kMul>();
    case BinOp::kFloorDiv:
      return code.operator()<BinOp::kFloorDiv>();
    case BinOp::kFloorMod:
      return code.operator()<BinOp::kFloorMod>();
    case BinOp::kMin:
      return code.operator()<BinOp::kMin>();
    case BinOp::kMax:
      return code.operator()<BinOp::kMax>();
    case BinOp::kEq:
      return code.operator()<BinOp::kEq>();
    case BinOp::kNe:
      return code.operator()<BinOp::kNe>();
    case BinOp::kLt:
      return code.operator()<BinOp::kLt>();
    case BinOp::kLe:
      return code.operator()<BinOp::kLe>();
    case BinOp::kGt:
      return code.operator()<BinOp::kGt>();
    case BinOp::kGe:
      return code.operator()<BinOp::kGe>();
    default:
      return nullptr;
  }
}

bool is_affine(const ExprCode& code) { return dynamic_cast<const AffineCode*>(&code) != nullptr; }

Subscripts::Subscripts(Preparation& preparation, const Buffer& buffer, const std::vector<Expr>& at)
    : memory_(preparation.memory_of(buffer)) {
  for (const Expr& subscript : at) at_.emplace_back(preparation, subscript);
}

int64_t Subscripts::offset(State& s) const {
  const Memory& memory = *s.memories[memory_];
  if (at_.size() != memory.rank()) {  // one subscript for the whole buffer: the offset itself
    TW_CHECK(at_.size() == 1, memory.name());
    const int64_t offset = at_[0].eval(s);
    if (offset < 0 || offset >= memory.span()) outside(s, 0, offset);
    return offset;
  }
  int64_t offset = 0;
  for (size_t d = 0; d < at_.size(); ++d) {
    const int64_t subscript = at_[d].eval(s);
    if (subscript < 0 || subscript >= memory.extent(d)) outside(s, d, subscript);
    offset += subscript * memory.stride(d);
  }
  return offset;
}

void Subscripts::outside(State& s, size_t d, int64_t subscript) const {
  const Memory& memory = *s.memories[memory_];
  std::string text = memory.name() + "[";
  for (size_t i = 0; i < at_.size(); ++i) text += (i ? ", " : "") + std::to_string(at_[i].eval(s));
  const int64_t extent = at_.size() == memory.rank() ? memory.extent(d) : memory.span();
  throw Fault{ErrorKind::kInternal,
              "interpret: " + text + "] is outside of the buffer",
              {"subscript " + std::to_string(d) + " is " + std::to_string(subscript) + ", the extent is " +
               std::to_string(extent)}};
}

}  // namespace tw::ir::interp
