// Values: every kind of expression but casts, division and loads.
//
// Nothing here may contract or reassociate: no fast-math flag is ever set, and a fused multiply-add comes only from
// Fn::kFma.
#include <llvm/ADT/APFloat.h>
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "codegen/llvm/compat.h"
#include "codegen/llvm/emitter.h"
#include "codegen/long_arm.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::BinOp;
using ir::Expr;
using ir::Fn;
using ir::Type;
using llvm::Value;

llvm::Type* Emitter::value_type(Type type) {
  llvm::Type* element = nullptr;
  if (type.is_bool())
    element = b_.getInt1Ty();
  else if (type.is_float() && type.bits == 32)
    element = b_.getFloatTy();
  else if (type.is_float() && type.bits == 64)
    element = b_.getDoubleTy();
  else
    element = b_.getIntNTy(type.bits);
  return type.lanes == 1 ? element : llvm::FixedVectorType::get(element, type.lanes);
}

llvm::Type* Emitter::memory_type(Type type) { return value_type(type.is_bool() ? Type::u(8, type.lanes) : type); }

Value* Emitter::emit_constant(Type type, int64_t value) {
  llvm::APInt bits(64, static_cast<uint64_t>(value), /*isSigned=*/true);
  return llvm::ConstantInt::get(value_type(type), bits.trunc(type.bits));
}

Value* Emitter::emit_float(Type type, double value) {
  if (!type.is_half()) return llvm::ConstantFP::get(value_type(type), value);
  llvm::APFloat half(value);
  bool inexact = false;
  half.convert(type.code == ir::TypeCode::kBFloat ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(),
               llvm::APFloat::rmNearestTiesToEven, &inexact);
  return llvm::ConstantInt::get(value_type(type), half.bitcastToAPInt());
}

Value* Emitter::emit(const Expr& expr) {
  auto [at, fresh] = cache_.try_emplace(expr.get(), nullptr);
  if (!fresh && at->second) return at->second;
  Value* value = emit_uncached(expr);
  cache_[expr.get()] = value;
  cached_.push_back(expr);
  return value;
}

void Emitter::forget(size_t mark) {
  for (size_t i = mark; i < cached_.size(); ++i) cache_.erase(cached_[i].get());
  cached_.erase(cached_.begin() + static_cast<std::ptrdiff_t>(mark), cached_.end());
}

Value* Emitter::emit_uncached(const Expr& expr) {
  const Type type = expr.type();
  return ir::match(
      expr,                                                                         //
      [&](const ir::IntImm& c) -> Value* { return emit_constant(type, c.value); },  //
      [&](const ir::FloatImm& c) -> Value* { return emit_float(type, c.value); },   //
      [&](const ir::VarRef& v) -> Value* {
        auto found = frame_.vars.find(v.var.id());
        TW_CHECK(found != frame_.vars.end(), "variable " + v.var.name() + " is not in scope");
        return found->second;
      },
      [&](const ir::Cast& cast) -> Value* { return emit_cast(type, cast.value); },          //
      [&](const ir::Binary& binary) -> Value* { return emit_binary(binary); },              //
      [&](const ir::Not& n) -> Value* { return b_.CreateNot(emit(n.a)); },                  //
      [&](const ir::Select& select) -> Value* { return emit_select(select); },              //
      [&](const ir::Load& load) -> Value* { return emit_load(load, type); },                //
      [&](const ir::Call& call) -> Value* { return emit_call(call, type); },                //
      [&](const ir::Ramp& ramp) -> Value* { return emit_ramp(ramp); },                      //
      [&](const ir::Broadcast& broadcast) -> Value* { return emit_broadcast(broadcast); },  //
      [&](const ir::Let& let) -> Value* {
        frame_.vars[let.var.id()] = emit(let.value);
        if (let.var.type().is_index()) bounds_[let.var.id()] = ir::interval_of(let.value, bounds_);
        return emit(let.body);
      },
      [&](const ir::Reduce&) -> Value* {
        TW_CHECK(false, "a Reduce reached code generation");
        return nullptr;
      },
      [&](const ir::CallExtern& c) -> Value* { return emit_extern(c, type); },  //
      [&](const ir::Address& a) -> Value* { return emit_address(a); });
}

// A comparison of data is made in each lane, as wide as those of most sums: of a single one LLVM makes a branch, which
// data decide.
Value* Emitter::emit_broadcast(const ir::Broadcast& broadcast) {
  constexpr int kBits = 32;
  const auto* both = ir::as<ir::Binary>(broadcast.value);
  const Type compared = both ? both->a.type() : Type();
  if (!both || !broadcast.value.type().is_bool() || compared.is_index() || compared.bits > kBits || may_fault(both->b))
    return splat(emit(broadcast.value), broadcast.lanes);
  return emit(ir::binary(both->op, ir::broadcast(both->a, broadcast.lanes), ir::broadcast(both->b, broadcast.lanes)));
}

Value* Emitter::emit_ramp(const ir::Ramp& ramp) {
  Value* base = emit(ramp.base);
  Value* stride = emit(ramp.stride);
  auto* element = llvm::cast<llvm::IntegerType>(base->getType());
  std::vector<llvm::Constant*> lanes;
  for (int i = 0; i < ramp.lanes; ++i) lanes.push_back(llvm::ConstantInt::get(element, i));
  Value* steps = b_.CreateMul(llvm::ConstantVector::get(lanes), splat(stride, ramp.lanes));
  return b_.CreateAdd(splat(base, ramp.lanes), steps);
}

Value* Emitter::emit_binary(const ir::Binary& binary) {
  const Type type = binary.a.type();
  switch (binary.op) {
    case BinOp::kAnd:
    case BinOp::kOr:
      return emit_logical(binary);
    case BinOp::kFloorDiv:
    case BinOp::kFloorMod:
    case BinOp::kTruncDiv:
    case BinOp::kTruncMod:
      return emit_division(binary);
    case BinOp::kEq:
    case BinOp::kNe:
    case BinOp::kLt:
    case BinOp::kLe:
    case BinOp::kGt:
    case BinOp::kGe: {
      if (Value* mask = emit_lane_mask(binary)) return mask;
      Value* a = emit(binary.a);
      return emit_compare(binary.op, type, a, emit(binary.b));
    }
    case BinOp::kBitAnd:
    case BinOp::kBitOr:
    case BinOp::kBitXor:
    case BinOp::kShl:
    case BinOp::kShr: {
      Value* a = emit(binary.a);
      return emit_bits(binary.op, type, a, emit(binary.b));
    }
    default: {
      Value* a = emit(binary.a);
      return emit_arithmetic(binary.op, type, a, emit(binary.b));
    }
  }
}

Value* Emitter::emit_arithmetic(BinOp op, Type type, Value* a, Value* b) {
  TW_CHECK(!type.is_half(), "half arithmetic reached code generation");
  const bool real = type.is_float();
  const bool no_wrap = type.is_index();
  switch (op) {
    case BinOp::kAdd:
      return real ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b, "", false, no_wrap);
    case BinOp::kSub:
      return real ? b_.CreateFSub(a, b) : b_.CreateSub(a, b, "", false, no_wrap);
    case BinOp::kMul:
      return real ? b_.CreateFMul(a, b) : b_.CreateMul(a, b, "", false, no_wrap);
    case BinOp::kDiv:
      TW_CHECK(real);
      return b_.CreateFDiv(a, b);
    case BinOp::kMin:
    case BinOp::kMax: {
      const BinOp beats = op == BinOp::kMin ? BinOp::kLt : BinOp::kGt;
      Value* value = b_.CreateSelect(emit_compare(beats, type, a, b), a, b);
      // InstCombine makes one of max(max(1, x), 1), which keeps a NaN that the second replaces.
      return real ? b_.CreateArithmeticFence(value, value->getType()) : value;
    }
    default:
      TW_CHECK(false, "not arithmetic");
      return nullptr;
  }
}

Value* Emitter::emit_bits(BinOp op, Type type, Value* a, Value* b) {
  switch (op) {
    case BinOp::kBitAnd:
      return b_.CreateAnd(a, b);
    case BinOp::kBitOr:
      return b_.CreateOr(a, b);
    case BinOp::kBitXor:
      return b_.CreateXor(a, b);
    default:
      break;
  }
  Value* amount = b_.CreateAnd(b, llvm::ConstantInt::get(b->getType(), type.bits - 1));
  if (op == BinOp::kShl) return b_.CreateShl(a, amount);
  return type.is_uint() ? b_.CreateLShr(a, amount) : b_.CreateAShr(a, amount);
}

Value* Emitter::emit_compare(BinOp op, Type type, Value* a, Value* b) {
  using P = llvm::CmpInst::Predicate;
  struct Row {
    BinOp op;
    P real, with_sign, without;
  };
  static constexpr Row kRows[] = {
      {BinOp::kEq, P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ},   {BinOp::kNe, P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE},
      {BinOp::kLt, P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT}, {BinOp::kLe, P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE},
      {BinOp::kGt, P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT}, {BinOp::kGe, P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE},
  };
  TW_CHECK(!type.is_half(), "half comparison reached code generation");
  for (const Row& row : kRows)
    if (row.op == op)
      return b_.CreateCmp(type.is_float()                    ? row.real
                          : type.is_int() || type.is_index() ? row.with_sign
                                                             : row.without,
                          a, b);
  TW_CHECK(false, "not a comparison");
  return nullptr;
}

Value* Emitter::clamped(Value* count, int lanes) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(count))
    return index(std::clamp<int64_t>(known->getSExtValue(), 0, lanes));
  count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, index(0));
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, index(lanes));
}

// ramp(b, 1, L) < broadcast(n)  ==>  iota(L) < splat(clamp(n - b, 0, L)) in lanes just wide enough to hold L: one
// broadcast and one compare, instead of vectors of 64-bit indices. The other comparisons differ by one or by a
// negation.
Value* Emitter::emit_lane_mask(const ir::Binary& compare) {
  BinOp op = compare.op;
  const ir::Ramp* ramp = ir::as<ir::Ramp>(compare.a);
  const ir::Broadcast* limit = ir::as<ir::Broadcast>(compare.b);
  if (!ramp && !limit) {
    ramp = ir::as<ir::Ramp>(compare.b);
    limit = ir::as<ir::Broadcast>(compare.a);
    constexpr std::pair<BinOp, BinOp> kMirror[] = {
        {BinOp::kLt, BinOp::kGt}, {BinOp::kGt, BinOp::kLt}, {BinOp::kLe, BinOp::kGe}, {BinOp::kGe, BinOp::kLe}};
    for (auto [from, to] : kMirror)
      if (from == compare.op) op = to;
  }
  if (!ramp || !limit || !compare.a.type().is_index() || !ir::is_int(ramp->stride, 1)) return nullptr;
  if (op == BinOp::kEq || op == BinOp::kNe) return nullptr;

  const int lanes = ramp->lanes;
  const bool strict = op == BinOp::kLt || op == BinOp::kGe;  // ramp < n, or its negation
  Value* end = emit(limit->value);
  Value* count =
      b_.CreateSub(strict ? end : b_.CreateAdd(end, index(1), "", false, true), emit(ramp->base), "", false, true);
  count = clamped(count, lanes);
  auto* lane = b_.getIntNTy(lanes <= 16 ? 32 : lanes <= 32 ? 16 : lanes <= 64 ? 8 : 32);
  std::vector<llvm::Constant*> iota;
  for (int i = 0; i < lanes; ++i) iota.push_back(llvm::ConstantInt::get(lane, i));
  Value* mask = b_.CreateICmpULT(llvm::ConstantVector::get(iota), splat(b_.CreateTrunc(count, lane), lanes));
  return op == BinOp::kLt || op == BinOp::kLe ? mask : b_.CreateNot(mask);
}

Value* Emitter::emit_logical(const ir::Binary& binary) {
  const bool conjunction = binary.op == BinOp::kAnd;
  if (may_fault(binary.b)) {
    const bool scalar = binary.a.type().is_scalar();
    if (scalar && conjunction) return emit_branches(binary.a, binary.b, ir::boolean(false));
    if (scalar) return emit_branches(binary.a, ir::boolean(true), binary.b);
    Value* a = emit(binary.a);
    Value* b = emit_guarded(conjunction ? a : b_.CreateNot(a), binary.b);
    return conjunction ? b_.CreateAnd(a, b) : b_.CreateOr(a, b);
  }
  Value* a = emit(binary.a);
  Value* b = emit(binary.b);
  return conjunction ? b_.CreateAnd(a, b) : b_.CreateOr(a, b);
}

Value* Emitter::emit_select(const ir::Select& select) {
  const bool plain = !may_fault(select.yes) && !may_fault(select.no);
  if (!plain && select.cond.type().is_scalar()) return emit_branches(select.cond, select.yes, select.no);
  if (plain && has_long_arm(select)) return emit_long_arm(select);
  Value* cond = emit(select.cond);
  if (plain) {
    Value* yes = emit(select.yes);
    return b_.CreateSelect(cond, yes, emit(select.no));
  }
  Value* yes = emit_guarded(cond, select.yes);
  Value* no = emit_guarded(b_.CreateNot(cond), select.no);
  return b_.CreateSelect(cond, yes, no);
}

// A value whose loads are wanted only where `mask` is true.
Value* Emitter::emit_guarded(Value* mask, const Expr& expr) {
  if (!may_fault(expr)) return emit(expr);
  CacheLevel level(*this);
  Value* outer = guard_;
  guard_ = outer ? b_.CreateAnd(outer, mask) : mask;
  Value* value = emit(expr);
  guard_ = outer;
  return value;
}

Value* Emitter::emit_branches(const Expr& cond, const Expr& yes, const Expr& no) {
  llvm::BasicBlock* on_yes = block("yes");
  llvm::BasicBlock* on_no = block("no");
  llvm::BasicBlock* after = block("join");
  b_.CreateCondBr(emit(cond), on_yes, on_no);
  auto arm = [&](llvm::BasicBlock* at, const Expr& expr) {
    CacheLevel level(*this);
    b_.SetInsertPoint(at);
    Value* value = emit(expr);
    llvm::BasicBlock* end = b_.GetInsertBlock();
    b_.CreateBr(after);
    return std::pair(value, end);
  };
  auto [yes_value, yes_end] = arm(on_yes, yes);
  auto [no_value, no_end] = arm(on_no, no);
  b_.SetInsertPoint(after);
  llvm::PHINode* phi = b_.CreatePHI(yes_value->getType(), 2);
  phi->addIncoming(yes_value, yes_end);
  phi->addIncoming(no_value, no_end);
  return phi;
}

Value* Emitter::emit_call(const ir::Call& call, Type type) {
  using I = llvm::Intrinsic::ID;
  if (ir::is_prefetch(call.fn)) return emit_prefetch(call);
  if (ir::is_dot(call.fn)) return emit_dot(call);
  std::vector<Value*> args;
  for (const Expr& arg : call.args) args.push_back(emit(arg));
  auto intrinsic = [&](I id) { return b_.CreateCall(compat::intrinsic(module_, id, {value_type(type)}), args); };
  if (call.fn == Fn::kReinterpret) return b_.CreateBitCast(args[0], value_type(type));
  if (call.fn == Fn::kAbs && type.is_integer()) {
    if (type.is_uint()) return args[0];
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, args[0], b_.getFalse());
  }
  if (type.is_integer() || type.is_bool()) return emit_bit_call(call.fn, args[0]);
  TW_CHECK(type.is_float() && !type.is_half(), "a function of floats on " + ir::to_string(type));
  switch (call.fn) {
    case Fn::kSqrt:
      return intrinsic(llvm::Intrinsic::sqrt);
    case Fn::kAbs:
      return intrinsic(llvm::Intrinsic::fabs);
    case Fn::kFloor:
      return intrinsic(llvm::Intrinsic::floor);
    case Fn::kCeil:
      return intrinsic(llvm::Intrinsic::ceil);
    case Fn::kTrunc:
      return intrinsic(llvm::Intrinsic::trunc);
    case Fn::kRound:
      return intrinsic(llvm::Intrinsic::roundeven);
    case Fn::kFma:
      TW_CHECK(target_.abilities.fma, "fma for a target without it");
      return intrinsic(llvm::Intrinsic::fma);
    case Fn::kScale:
      return emit_scale(type, args[0], args[1]);
    default:
      TW_CHECK(false, "a function that lowering should have expanded");
      return nullptr;
  }
}

// popcount and clz of integers, isnan and isinf of floats.
Value* Emitter::emit_bit_call(Fn fn, Value* value) {
  switch (fn) {
    case Fn::kPopcount:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, value);
    case Fn::kClz:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, value, b_.getFalse());
    case Fn::kIsNan:
      return b_.CreateFCmpUNO(value, value);
    case Fn::kIsInf: {
      Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
      return b_.CreateFCmpOEQ(size, llvm::ConstantFP::getInfinity(value->getType()));
    }
    default:
      TW_CHECK(false, "not a function of bits");
      return nullptr;
  }
}

// Whether the expression reads a place that may not be there. What cannot fault needs no branch and no guard.
bool Emitter::may_fault(const Expr& expr) {
  auto found = may_fault_.find(expr.get());
  if (found != may_fault_.end()) return found->second;
  const auto* call = ir::as<ir::CallExtern>(expr);
  bool result = call != nullptr;
  if (const auto* load = ir::as<ir::Load>(expr)) {
    const auto memory = frame_.buffers.find(load->buffer.id());
    result = memory == frame_.buffers.end() || load->at.empty() || !surely_inside(memory->second, load->at[0]);
  }
  for (const Expr& child : ir::children(expr)) result = result || may_fault(child);
  may_fault_[expr.get()] = result;
  return result;
}

}  // namespace tw::codegen
