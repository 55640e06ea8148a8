// Dot products of groups of lanes: one instruction where the target has it for this many lanes, else arithmetic that
// gives the same bits.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <numeric>

#include "codegen/llvm/compat.h"
#include "codegen/llvm/emitter.h"
#include "src/ir/typing.h"

namespace tw::codegen {

using ir::Fn;
using llvm::Value;

namespace {

int lanes_of(Value* v) { return static_cast<int>(llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements()); }

}  // namespace

Value* Emitter::emit_dot(const ir::Call& call) {
  const ir::DotForm form = ir::dot_form(call.fn);
  const int lanes = call.args[0].type().lanes;
  Value* c = emit(call.args[0]);
  Value* a = emit(call.args[1]);
  Value* b = emit(call.args[2]);
  if (lanes == 1) c = splat(c, 1);
  Value* sum = emit_dot_of_aarch64(call.fn, c, a, b);
  if (!sum && lanes > 1 && lanes_of(a) == form.group) a = repeated(a, lanes, b_.getInt32Ty());
  if (!sum) sum = emit_dot_of_x86(call.fn, c, a, b);
  if (!sum && form.columns > 0) {
    a = terms_of_lanes(a, form, &ir::DotForm::left_at);
    b = terms_of_lanes(b, form, &ir::DotForm::right_at);
  }
  if (!sum && call.fn == Fn::kDotBF16) sum = emit_dot_bfloats(c, a, b);
  if (!sum && form.left.is_half()) sum = emit_dot_to_odd(form.group, c, a, b);
  if (!sum) sum = emit_dot_bytes(call.fn, c, a, b);
  return lanes == 1 ? b_.CreateExtractElement(sum, uint64_t{0}) : sum;
}

// The terms that each lane of a matrix is made of.
Value* Emitter::terms_of_lanes(Value* rows, const ir::DotForm& form, int (ir::DotForm::*at)(int, int) const) {
  std::vector<int> terms;
  for (int lane = 0; lane < form.columns * form.columns; ++lane)
    for (int term = 0; term < form.group; ++term) terms.push_back((form.*at)(lane, term));
  return b_.CreateShuffleVector(rows, terms);
}

// A group, in the bits of one word, for each of so many lanes. A load is repeated as it is read, what is done with it
// is done for all lanes.
Value* Emitter::repeated(Value* group, int lanes, llvm::Type* word) {
  const auto* bits = llvm::dyn_cast<llvm::BinaryOperator>(group);
  if (bits && bits->getOpcode() == llvm::Instruction::Xor && llvm::isa<llvm::Constant>(bits->getOperand(1)))
    return b_.CreateXor(repeated(bits->getOperand(0), lanes, word), repeated(bits->getOperand(1), lanes, word));
  auto* type = llvm::FixedVectorType::get(llvm::cast<llvm::FixedVectorType>(group->getType())->getElementType(),
                                          static_cast<unsigned>(lanes * lanes_of(group)));
  return b_.CreateBitCast(splat(b_.CreateBitCast(group, word), lanes), type);
}

// The i-th of so many parts of a vector.
Value* Emitter::part(Value* vector, int i, int parts) {
  if (parts == 1) return vector;
  std::vector<int> lanes(static_cast<size_t>(lanes_of(vector) / parts));
  std::iota(lanes.begin(), lanes.end(), i * static_cast<int>(lanes.size()));
  return b_.CreateShuffleVector(vector, lanes);
}

// Registers of four sums; more lanes are several. A group that belongs to all lanes is the factor that a register holds
// several of: of unlike factors either is, of like ones the second.
Value* Emitter::emit_dot_of_aarch64(Fn fn, Value* c, Value* a, Value* b) {
  namespace I = llvm::Intrinsic;
  constexpr int kLanes = 4;
  struct Instruction {
    Fn fn;
    const char* feature;
    I::ID id;
  };
  constexpr Instruction kInstructions[] = {
      {Fn::kDotI8I8, "dotprod", I::aarch64_neon_sdot},  {Fn::kDotU8U8, "dotprod", I::aarch64_neon_udot},
      {Fn::kDotU8I8, "i8mm", I::aarch64_neon_usdot},    {Fn::kMatI8I8, "i8mm", I::aarch64_neon_smmla},
      {Fn::kDotBF16Odd, "bf16", I::aarch64_neon_bfdot}, {Fn::kMatBF16Odd, "bf16", I::aarch64_neon_bfmmla}};
  if (!target_.has("neon")) return nullptr;
  if (fn == Fn::kDotU8I8 && !target_.has("i8mm")) {
    Value* signed_a = b_.CreateXor(a, llvm::ConstantInt::get(a->getType(), 0x80));
    Value* sum = emit_dot_of_aarch64(Fn::kDotI8I8, c, signed_a, b);
    for (int half = 0; half < 2; ++half)  // of 128
      sum = emit_dot_of_aarch64(Fn::kDotI8I8, sum, llvm::ConstantInt::get(a->getType(), 64), b);
    return sum;
  }
  const auto* row = std::ranges::find(kInstructions, fn, &Instruction::fn);
  if (row == std::end(kInstructions) || lanes_of(c) % kLanes != 0) return nullptr;
  if (!target_.has(row->feature)) return emit_dot_of_pairs(fn, c, a, b);
  const int parts = lanes_of(c) / kLanes;
  const ir::DotForm form = ir::dot_form(fn);
  auto* operand = form.left.is_half() ? llvm::FixedVectorType::get(b_.getBFloatTy(), 8)
                                      : llvm::FixedVectorType::get(b_.getInt8Ty(), 16);
  auto* sum = llvm::FixedVectorType::get(c->getType()->getScalarType(), kLanes);
  const bool one_type = row->id == I::aarch64_neon_bfmmla;
  llvm::Function* instruction = compat::intrinsic(
      module_, row->id, one_type ? std::vector<llvm::Type*>() : std::vector<llvm::Type*>{sum, operand});
  const bool for_all = lanes_of(a) < lanes_of(b);
  if (for_all) a = repeated(a, kLanes, sum->getElementType());
  const bool swapped = for_all && fn != Fn::kDotU8I8;
  std::vector<Value*> sums;
  for (int i = 0; i < parts; ++i) {
    Value *left = for_all ? a : part(a, i, parts), *right = part(b, i, parts);
    if (swapped) std::swap(left, right);
    sums.push_back(b_.CreateCall(
        instruction, {part(c, i, parts), b_.CreateBitCast(left, operand), b_.CreateBitCast(right, operand)}));
  }
  return llvm::concatenateVectors(b_, sums);
}

// Of a NEON without an instruction for four bytes: products of the first two of each lane are words, and the next
// instruction adds neighbours among them to the sums; then those of the last two.
Value* Emitter::emit_dot_of_pairs(Fn fn, Value* c, Value* a, Value* b) {
  namespace I = llvm::Intrinsic;
  constexpr int kLanes = 4, kGroup = 4, kBytes = kLanes * kGroup;
  if (fn != Fn::kDotI8I8 && fn != Fn::kDotU8U8) return nullptr;
  const bool has_sign = fn == Fn::kDotI8I8;
  auto *bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), kBytes),
       *words = llvm::FixedVectorType::get(b_.getInt16Ty(), kBytes / 2),
       *lanes = llvm::FixedVectorType::get(b_.getInt32Ty(), kLanes);
  llvm::Function* multiply =
      compat::intrinsic(module_, has_sign ? I::aarch64_neon_smull : I::aarch64_neon_umull, {words});
  llvm::Function* neighbours =
      compat::intrinsic(module_, has_sign ? I::aarch64_neon_saddlp : I::aarch64_neon_uaddlp, {lanes, words});
  llvm::Function* lookup = compat::intrinsic(module_, I::aarch64_neon_tbl1, {bytes});
  // The first two bytes of all lanes, then the last two: an order that no instruction but a lookup makes in one.
  const auto by_halves = [&](Value* factors) {
    const bool for_all = lanes_of(factors) == kGroup;
    std::vector<llvm::Constant*> order;
    for (int half = 0; half < 2; ++half)
      for (int lane = 0; lane < kLanes; ++lane)
        for (int byte = 0; byte < 2; ++byte)
          order.push_back(b_.getInt8(static_cast<uint8_t>((for_all ? 0 : lane * kGroup) + 2 * half + byte)));
    if (for_all) {
      std::vector<int> widened(kBytes, llvm::PoisonMaskElem);
      std::iota(widened.begin(), widened.begin() + kGroup, 0);
      factors = b_.CreateShuffleVector(factors, widened);
    }
    return b_.CreateCall(lookup, {factors, llvm::ConstantVector::get(order)});
  };
  const bool for_all = lanes_of(a) < lanes_of(b);
  const int parts = lanes_of(c) / kLanes;
  std::vector<Value*> sums;
  for (int i = 0; i < parts; ++i) {
    Value *left = by_halves(for_all ? a : part(a, i, parts)), *right = by_halves(part(b, i, parts)),
          *sum = part(c, i, parts);
    for (const int half : {0, 1})
      sum = b_.CreateAdd(
          sum, b_.CreateCall(neighbours, {b_.CreateCall(multiply, {part(left, half, 2), part(right, half, 2)})}));
    sums.push_back(sum);
  }
  return llvm::concatenateVectors(b_, sums);
}

// Products of bytes for which the only instruction takes left factors of the other sign.
std::optional<OtherSigns> Emitter::other_signs() const {
  const Abilities& has = target_.abilities;
  if (target_.has("avx512vnni") || target_.has("avxvnni"))
    return OtherSigns{Fn::kDotI8I8, Fn::kDotU8I8, has.dot_lanes(DotProduct::kI8I8)};
  if (target_.has("neon") && !target_.has("i8mm"))
    return OtherSigns{Fn::kDotU8I8, Fn::kDotI8I8, has.dot_lanes(DotProduct::kU8I8)};
  return std::nullopt;
}

Value* Emitter::emit_dot_of_x86(Fn fn, Value* c, Value* a, Value* b) {
  namespace I = llvm::Intrinsic;
  const int lanes = lanes_of(c);
  I::ID id = I::not_intrinsic;
  // The widest of the target, or half of it.
  const auto chosen = [&](const char* feature, const char* feature_of_8, I::ID of_16, I::ID of_8) {
    if (lanes == 16 && target_.has(feature)) return of_16;
    const bool narrow = (target_.has(feature) && target_.has("avx512vl")) || target_.has(feature_of_8);
    return lanes == 8 && narrow ? of_8 : I::ID{I::not_intrinsic};
  };
  if (fn == Fn::kDotU8I8 || fn == Fn::kDotI8I8)
    id = chosen("avx512vnni", "avxvnni", I::x86_avx512_vpdpbusd_512, I::x86_avx512_vpdpbusd_256);
  if (fn == Fn::kDotBF16) id = chosen("avx512bf16", "", I::x86_avx512bf16_dpbf16ps_512, I::x86_avx512bf16_dpbf16ps_256);
  if (fn == Fn::kDotU8I8Sat && lanes == 8 && target_.has("avx2")) {
    Value* pairs = b_.CreateCall(compat::intrinsic(module_, I::x86_avx2_pmadd_ub_sw, {}), {a, b});
    Value* ones = splat(b_.getInt16(1), 16);
    return b_.CreateAdd(c, b_.CreateCall(compat::intrinsic(module_, I::x86_avx2_pmadd_wd, {}), {pairs, ones}));
  }
  if (id == I::not_intrinsic) return emit_dot_of_words(fn, c, a, b);
  llvm::Function* instruction = compat::intrinsic(module_, id, {});
  llvm::FunctionType* type = instruction->getFunctionType();
  const auto added = [&](Value* to, Value* left) {
    return b_.CreateCall(
        instruction, {to, b_.CreateBitCast(left, type->getParamType(1)), b_.CreateBitCast(b, type->getParamType(2))});
  };
  if (fn != Fn::kDotI8I8) return added(c, a);
  // Outside of loops that signed_dots.h knows: (a + 128) * b - 128 * b in each product.
  Value* offset = llvm::ConstantInt::get(a->getType(), 0x80);
  Value* correction = added(llvm::Constant::getNullValue(c->getType()), offset);
  return added(b_.CreateSub(c, correction), b_.CreateXor(a, offset));
}

// Of an x86 without an instruction for four bytes: the one for two words takes the even bytes, then the odd ones, each
// widened where it lies. Sums of two products of bytes are exact.
Value* Emitter::emit_dot_of_words(Fn fn, Value* c, Value* a, Value* b) {
  namespace I = llvm::Intrinsic;
  const bool wide = target_.has("avx512bw") && lanes_of(c) % 16 == 0;
  const int lanes = wide ? 16 : 8, parts = lanes_of(c) / lanes;
  const bool bytes = fn == Fn::kDotU8I8 || fn == Fn::kDotI8I8 || fn == Fn::kDotU8U8;
  if (!bytes || !target_.has("avx2") || lanes_of(c) % lanes != 0) return nullptr;
  llvm::Function* instruction =
      compat::intrinsic(module_, wide ? I::x86_avx512_pmaddw_d_512 : I::x86_avx2_pmadd_wd, {});
  const ir::DotForm form = ir::dot_form(fn);
  constexpr uint64_t kByte = 8, kEven = 0xFF;
  const auto words = [&](Value* v, ir::Type element, bool even) {
    Value* pairs = b_.CreateBitCast(v, llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(2 * lanes)));
    if (!element.is_int()) return even ? b_.CreateAnd(pairs, kEven) : b_.CreateLShr(pairs, kByte);
    return b_.CreateAShr(even ? b_.CreateShl(pairs, kByte) : pairs, kByte);
  };
  std::vector<Value*> sums;
  for (int i = 0; i < parts; ++i) {
    Value *left = part(a, i, parts), *right = part(b, i, parts), *sum = part(c, i, parts);
    for (const bool even : {true, false})
      sum =
          b_.CreateAdd(sum, b_.CreateCall(instruction, {words(left, form.left, even), words(right, form.right, even)}));
    sums.push_back(sum);
  }
  return llvm::concatenateVectors(b_, sums);
}

// Lanes first, first + group, ...
Value* Emitter::every(Value* vector, int group, int first) {
  std::vector<int> lanes;
  for (int lane = first; lane < lanes_of(vector); lane += group) lanes.push_back(lane);
  return b_.CreateShuffleVector(vector, lanes);
}

Value* Emitter::emit_dot_bytes(Fn fn, Value* c, Value* a, Value* b) {
  llvm::Type* type = c->getType();
  const ir::DotForm form = ir::dot_form(fn);
  const auto term = [&](Value* v, ir::Type element, int j) {
    return b_.CreateIntCast(every(v, form.group, j), type, element.is_int());
  };
  const auto product = [&](int j) { return b_.CreateMul(term(a, form.left, j), term(b, form.right, j)); };
  for (int j = 0; j < form.group; j += 2) {
    Value* both = b_.CreateAdd(product(j), product(j + 1));
    if (fn == Fn::kDotU8I8Sat) {
      both = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, both, llvm::ConstantInt::get(type, INT16_MAX));
      both = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, both, llvm::ConstantInt::getSigned(type, INT16_MIN));
    }
    c = b_.CreateAdd(c, both);
  }
  return c;
}

// A zero of the same sign for a denormal number.
Value* Emitter::flushed(Value* floats) {
  llvm::Type* bits = floats->getType()->getWithNewType(b_.getInt32Ty());
  Value* word = b_.CreateBitCast(floats, bits);
  Value* small =
      b_.CreateICmpEQ(b_.CreateAnd(word, llvm::ConstantInt::get(bits, 0x7F800000)), llvm::ConstantInt::get(bits, 0));
  Value* zero = b_.CreateAnd(word, llvm::ConstantInt::get(bits, 0x80000000));
  return b_.CreateBitCast(b_.CreateSelect(small, zero, word), floats->getType());
}

// Of one term of each group, in float64.
Value* Emitter::bfloats(Value* vector, int group, int j, llvm::Type* floats) {
  llvm::Type* bits = floats->getWithNewType(b_.getInt32Ty());
  Value* word = b_.CreateShl(b_.CreateZExt(every(vector, group, j), bits), 16);
  return b_.CreateFPExt(flushed(b_.CreateBitCast(word, floats)), floats->getWithNewType(b_.getDoubleTy()));
}

// a + b of float64. What is left over is one, too; a sum that is not exact is given an odd last bit, so that what is
// rounded from it is rounded once.
Value* Emitter::sum_to_odd(Value* a, Value* b) {
  llvm::Type* wide = a->getType();
  llvm::Type* bits = wide->getWithNewType(b_.getInt64Ty());
  Value* sum = b_.CreateFAdd(a, b);
  Value* rest = b_.CreateFSub(sum, a);
  Value* error = b_.CreateFAdd(b_.CreateFSub(a, b_.CreateFSub(sum, rest)), b_.CreateFSub(b, rest));
  Value* word = b_.CreateBitCast(sum, bits);
  Value* inexact = b_.CreateFCmpONE(error, llvm::Constant::getNullValue(wide));
  Value* even = b_.CreateICmpEQ(b_.CreateAnd(word, llvm::ConstantInt::get(bits, 1)), llvm::ConstantInt::get(bits, 0));
  // Towards the exact sum: away from zero where what is left over has the sum's sign.
  Value* outwards =
      b_.CreateICmpSGE(b_.CreateXor(word, b_.CreateBitCast(error, bits)), llvm::ConstantInt::get(bits, 0));
  Value* step = b_.CreateSelect(outwards, llvm::ConstantInt::get(bits, 1), llvm::ConstantInt::getSigned(bits, -1));
  Value* odd = b_.CreateBitCast(b_.CreateAdd(word, step), wide);
  return b_.CreateSelect(b_.CreateAnd(inexact, even), odd, sum);
}

// A product of two bfloat16 is exact in float64.
Value* Emitter::emit_dot_bfloats(Value* c, Value* a, Value* b) {
  llvm::Type* type = c->getType();
  llvm::Type* wide = type->getWithNewType(b_.getDoubleTy());
  c = flushed(c);
  for (int j : {1, 0}) {
    Value* product = b_.CreateFMul(bfloats(a, 2, j, type), bfloats(b, 2, j, type));
    c = rounded_or_zero(sum_to_odd(b_.CreateFPExt(c, wide), product), type);
  }
  return c;
}

// A float64 as a float32, to nearest; a zero of its sign where 24 bits of it would be less than the least normal
// number.
Value* Emitter::rounded_or_zero(Value* doubles, llvm::Type* floats) {
  Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, doubles);
  Value* small = b_.CreateFCmpOLT(size, llvm::ConstantFP::get(doubles->getType(), 0x1p-126 - 0x1p-151));
  llvm::Type* bits = floats->getWithNewType(b_.getInt32Ty());
  Value* word = b_.CreateBitCast(b_.CreateFPTrunc(doubles, floats), bits);
  Value* zero = b_.CreateAnd(word, llvm::ConstantInt::get(bits, 0x80000000));
  return b_.CreateBitCast(b_.CreateSelect(small, zero, word), floats);
}

// A float64 as a float32: towards zero, with an odd last bit where that is not exact; a zero for a denormal number.
Value* Emitter::to_odd(Value* doubles, llvm::Type* floats) {
  constexpr int64_t kDropped = (int64_t{1} << 29) - 1, kSmallest = int64_t{1023 - 126} << 52;
  llvm::Type* bits = doubles->getType()->getWithNewType(b_.getInt64Ty());
  const auto constant = [&](int64_t value) { return llvm::ConstantInt::getSigned(bits, value); };
  Value* word = b_.CreateBitCast(doubles, bits);
  Value* exact = b_.CreateICmpEQ(b_.CreateAnd(word, constant(kDropped)), constant(0));
  Value* kept =
      b_.CreateOr(b_.CreateAnd(word, constant(~kDropped)), b_.CreateSelect(exact, constant(0), constant(kDropped + 1)));
  Value* small = b_.CreateICmpSLT(b_.CreateAnd(word, constant(INT64_MAX)), constant(kSmallest));
  Value* zero = b_.CreateAnd(word, constant(INT64_MIN));
  return b_.CreateFPTrunc(b_.CreateBitCast(b_.CreateSelect(small, zero, kept), doubles->getType()), floats);
}

Value* Emitter::emit_dot_to_odd(int group, Value* c, Value* a, Value* b) {
  llvm::Type* type = c->getType();
  llvm::Type* wide = type->getWithNewType(b_.getDoubleTy());
  const auto product = [&](int j) {
    Value* exact = b_.CreateFMul(bfloats(a, group, j, type), bfloats(b, group, j, type));
    return b_.CreateFPExt(to_odd(exact, type), wide);
  };
  for (int j = 0; j < group; j += 2) {
    Value* both = b_.CreateFPExt(to_odd(sum_to_odd(product(j), product(j + 1)), type), wide);
    c = to_odd(sum_to_odd(b_.CreateFPExt(flushed(c), wide), both), type);
  }
  return c;
}

}  // namespace tw::codegen
