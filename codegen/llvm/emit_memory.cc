// Loads and stores. The form of the subscript decides:
//
//   a scalar                    one element; a predicate becomes a branch
//   ramp(b, 1, L)               one vector, masked when there is a predicate
//   ramp(b, -1, L)              the vector below it, reversed
//   ramp(b, 2, L), 3 or 4       loads of the vectors that hold the lanes, and a shuffle
//   broadcast(x, L)             one element in all lanes
//   x + ramp(0, 1, L) // 2      a load of L / 2, each in two lanes; likewise other places that are known but for x and
//                               lie within L elements
//   ramp(b, 1, L) % n           one vector where b % n <= n - L, else a gather; likewise // n
//   ramp(b, n, L)               as many loads as lanes, while several are in one line of the cache: prefetching follows
//                               these, and not what a gather reads
//   anything else               gather or scatter
//
// The mask of a load is its own predicate together with the guard that the select, and, or around it gives it.
#include <llvm/Analysis/VectorUtils.h>

#include <numeric>

#include "codegen/llvm/emitter.h"
#include "src/ir/register_lanes.h"
#include "tensorwright/machine.h"

namespace tw::codegen {

using ir::Expr;
using ir::Type;
using llvm::Value;

namespace {

llvm::Align block_alignment(const Memory& memory, Type type, int64_t base_multiple) {
  const int64_t element = type.bytes();
  return llvm::Align(
      std::min<int64_t>(static_cast<int64_t>(memory.align.value()), (element & -element) * base_multiple));
}

// The number of lanes when a mask is known to let just the first ones through; 0 otherwise.
int prefix_lanes(Value* mask) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  const auto lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  unsigned wanted = 0, first_unwanted = lanes;
  for (unsigned i = 0; constant && i < lanes; ++i) {
    const llvm::Constant* lane = constant->getAggregateElement(i);
    if (!lane || !llvm::isa<llvm::ConstantInt>(lane)) return 0;
    if (lane->isZeroValue())
      first_unwanted = std::min(first_unwanted, i);
    else
      ++wanted;
  }
  return constant && wanted == first_unwanted ? static_cast<int>(wanted) : 0;
}

// The condition that all lanes of a mask share; null when they need not agree.
Value* shared_condition(llvm::IRBuilder<>& b, Value* mask) {
  if (Value* one = llvm::getSplatValue(mask)) return one;
  const auto* both = llvm::dyn_cast<llvm::BinaryOperator>(mask);
  if (!both || both->getOpcode() != llvm::Instruction::And) return nullptr;
  Value* left = shared_condition(b, both->getOperand(0));
  Value* right = left ? shared_condition(b, both->getOperand(1)) : nullptr;
  return right ? b.CreateAnd(left, right) : nullptr;
}

// 0, 1, ... count - 1, and from there on `rest`.
std::vector<int> lane_numbers(int count, int lanes, int rest) {
  std::vector<int> numbers(static_cast<size_t>(lanes), rest);
  std::iota(numbers.begin(), numbers.begin() + count, 0);
  return numbers;
}

}  // namespace

Value* Emitter::from_memory(Type type, Value* value) {
  if (!type.is_bool()) return value;
  return b_.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
}

Value* Emitter::to_memory(Type type, Value* value) {
  return type.is_bool() ? b_.CreateZExt(value, memory_type(type)) : value;
}

void Emitter::mark(llvm::Instruction* access, const Memory& memory) {
  if (!memory.scope) return;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, memory.scope);
  if (memory.noalias) access->setMetadata(llvm::LLVMContext::MD_noalias, memory.noalias);
}

Value* Emitter::address(const Memory& memory, Type element, Value* at) {
  return b_.CreateInBoundsGEP(memory_type(element.element()), memory.address, at);
}

// One address per lane. Offsets that fit are computed in 32 bits: gathers and scatters then take half the registers.
Value* Emitter::addresses(const Memory& memory, Type element, const Expr& at) {
  Value* offsets = emit(at);
  const ir::Interval range = ir::interval_of(at, bounds_);
  if (range.lo >= INT32_MIN && range.hi <= INT32_MAX)
    offsets = b_.CreateTrunc(offsets, llvm::FixedVectorType::get(b_.getInt32Ty(), at.type().lanes));
  return b_.CreateGEP(memory_type(element.element()), memory.address, offsets);
}

Value* Emitter::any_lane(Value* mask) { return mask->getType()->isVectorTy() ? b_.CreateOrReduce(mask) : mask; }

bool Emitter::surely_inside(const Memory& memory, const Expr& at) const {
  if (memory.elements == 0) return false;
  const ir::Interval range = ir::interval_of(at, bounds_);
  return range.lo >= 0 && range.hi < memory.elements;
}

// Null when every lane is wanted. One lane is wanted when any lane of the guard is.
Value* Emitter::load_mask(const Expr& pred, int lanes) {
  Value* mask = pred ? emit(pred) : nullptr;
  if (mask && lanes > 1 && !mask->getType()->isVectorTy()) mask = splat(mask, lanes);
  if (!guard_) return mask;
  Value* guard = lanes == 1 ? any_lane(guard_) : guard_;
  TW_CHECK(lanes == 1 || llvm::cast<llvm::FixedVectorType>(guard->getType())->getNumElements() == unsigned(lanes),
           "a guard of other lanes than the load's");
  return mask ? b_.CreateAnd(mask, guard) : guard;
}

Value* Emitter::emit_load(const ir::Load& load, Type type) {
  const auto found = frame_.buffers.find(load.buffer.id());
  TW_CHECK(found != frame_.buffers.end(), "buffer " + load.buffer.name() + " is not in scope");
  TW_CHECK(load.at.size() <= 1, "a subscript that is not flat reached code generation");
  const Memory& memory = found->second;
  const Expr at = load.at.empty() ? Expr(0) : load.at[0];
  const bool safe = surely_inside(memory, at);
  if (at.type().is_scalar() && type.is_scalar()) {
    if (!safe) return emit_scalar_load(memory, type, at, load_mask(load.pred, 1));
    Value* value = emit_scalar_load(memory, type, at, nullptr);
    return load.pred ? b_.CreateSelect(emit(load.pred), value, llvm::Constant::getNullValue(value->getType())) : value;
  }
  Value* mask = load_mask(load.pred, type.lanes);
  const auto* same = ir::as<ir::Broadcast>(at);
  if (same || at.type().is_scalar()) {
    Value* one =
        emit_scalar_load(memory, type.element(), same ? same->value : at, mask && !safe ? any_lane(mask) : nullptr);
    Value* all = splat(one, type.lanes);
    return mask ? b_.CreateSelect(mask, all, llvm::Constant::getNullValue(all->getType())) : all;
  }
  const auto* ramp = ir::as<ir::Ramp>(at);
  if (ramp && ir::is_int(ramp->stride, 1))
    return emit_block_load(memory, type, emit(ramp->base), multiple_of(ramp->base), mask);
  if (ramp && ir::is_int(ramp->stride, -1)) {
    Value* base = b_.CreateSub(emit(ramp->base), index(type.lanes - 1), "", false, true);
    Value* value = emit_block_load(memory, type, base, 1, mask ? b_.CreateVectorReverse(mask) : nullptr);
    return b_.CreateVectorReverse(value);
  }
  const bool held = memory.slot && ramp && ir::as_int(ramp->base);  // maybe in registers
  const int stride = ramp && !held && !type.is_bool() && (!mask || safe) ? few_apart(*ramp, type) : 0;
  if (stride > 0) {
    Value* value = emit_strided_load(memory, type, emit(ramp->base), stride);
    return mask ? b_.CreateSelect(mask, value, llvm::Constant::getNullValue(value->getType())) : value;
  }
  if (Value* rows = memory.slot && !mask ? emit_rows_load(memory, type, at) : nullptr) return rows;
  if (const auto near = lane_places(at); near && shuffled(*near)) {
    const bool all = !mask || safe;
    Value* read = all || memory.slot ? nullptr : mask_of_places(*near, mask);
    if (all || read) return emit_near_load(memory, type, *near, mask, read);
  }
  if (!mask && !memory.slot)
    if (const auto within = within_digit(at)) return emit_digit_load(load, type, *within);
  return emit_gather(memory, type, at, mask);
}

// Elements side by side, but for the vectors that reach from one digit into the next.
Value* Emitter::emit_digit_load(const ir::Load& load, Type type, const WithinDigit& digit) {
  Value* first = emit(ir::floormod(digit.begin, digit.elements));
  llvm::BasicBlock *inside = block("inside"), *across = block("across"), *after = block("read");
  b_.CreateCondBr(b_.CreateICmpSLE(first, index(digit.elements - type.lanes)), inside, across);
  const auto in = [&](llvm::BasicBlock* where, const auto& read) {
    CacheLevel level(*this);
    b_.SetInsertPoint(where);
    Value* value = read();
    b_.CreateBr(after);
    return std::pair(value, b_.GetInsertBlock());
  };
  const auto whole = in(inside, [&] { return emit_load({load.buffer, {digit.subscript}, {}}, type); });
  const auto parts =
      in(across, [&] { return emit_gather(frame_.buffers.at(load.buffer.id()), type, load.at[0], nullptr); });
  b_.SetInsertPoint(after);
  llvm::PHINode* phi = b_.CreatePHI(whole.first->getType(), 2);
  phi->addIncoming(whole.first, whole.second);
  phi->addIncoming(parts.first, parts.second);
  return phi;
}

// Of a slot at known places: rows of equal length, one behind the other. A gather would keep it in memory.
Value* Emitter::emit_rows_load(const Memory& memory, Type type, const Expr& at) {
  const auto* places = llvm::dyn_cast<llvm::ConstantDataVector>(emit(at));
  if (!places) return nullptr;
  const auto place = [&](int lane) { return places->getElementAsInteger(static_cast<unsigned>(lane)); };
  int row = 1;
  while (row < type.lanes && place(row) == place(row - 1) + 1) ++row;
  for (int lane = 1; lane < type.lanes; ++lane)
    if (lane % row != 0 && place(lane) != place(lane - 1) + 1) return nullptr;
  if (row == 1 || type.lanes % row != 0) return nullptr;
  std::vector<Value*> rows;
  for (int lane = 0; lane < type.lanes; lane += row)
    rows.push_back(emit_block_load(memory, type.with_lanes(row), b_.getInt64(place(lane)), 1, nullptr));
  return llvm::concatenateVectors(b_, rows);
}

// Whether a vector holds all lanes. LLVM shuffles SVE's vectors in memory, unless each element goes to two lanes.
bool Emitter::shuffled(const LanePlaces& places) const {
  const auto lanes = static_cast<int64_t>(places.apart.size());
  if (places.span() < 2 || places.span() > lanes) return false;
  bool pairs = true;
  for (int64_t l = 0; l < lanes; ++l) pairs = pairs && places.apart[static_cast<size_t>(l)] == l / 2;
  return pairs || target_.sve_bits <= 128;
}

// The places that a lane wants of those from the first to the last; null where many lanes read one, or no load leaves
// out any.
Value* Emitter::mask_of_places(const LanePlaces& places, Value* mask) {
  constexpr size_t kMost = 4;
  if (!target_.abilities.masks) return nullptr;
  const auto lanes = static_cast<int>(places.apart.size());
  std::vector<std::vector<int>> readers(static_cast<size_t>(places.span()));
  for (int lane = 0; lane < lanes; ++lane)
    readers[static_cast<size_t>(places.apart[static_cast<size_t>(lane)])].push_back(lane);
  const size_t most = std::ranges::max_element(readers, {}, &std::vector<int>::size)->size();
  if (most > kMost) return nullptr;
  Value* wanted = nullptr;
  for (size_t n = 0; n < most; ++n) {
    std::vector<int> reader;
    for (const std::vector<int>& of_place : readers) reader.push_back(n < of_place.size() ? of_place[n] : lanes);
    Value* some = b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), reader);
    wanted = wanted ? b_.CreateOr(wanted, some) : some;
  }
  return wanted;
}

// What lies between the first and the last lane is the array's too, or `read` says what of it is.
Value* Emitter::emit_near_load(const Memory& memory, Type type, const LanePlaces& places, Value* mask, Value* read) {
  const Type some = type.with_lanes(static_cast<int>(places.span()));
  const std::vector<int> lanes(places.apart.begin(), places.apart.end());
  Value* near = emit_block_load(memory, some, emit(places.base), multiple_of(places.base), read);
  Value* all = b_.CreateShuffleVector(near, lanes);
  return mask ? b_.CreateSelect(mask, all, llvm::Constant::getNullValue(all->getType())) : all;
}

// How many elements lie from lane to lane, where it takes less to read those between, too, than to load each lane; else
// 0. LLVM shuffles SVE's vectors in memory.
int Emitter::few_apart(const ir::Ramp& ramp, Type type) const {
  const int64_t stride = ir::as_int(ramp.stride).value_or(0);
  const int whole = std::min<int>(type.lanes, ir::register_lanes(target_, type.element()));
  const bool few = stride >= 2 && stride <= ir::kFewApart && whole >= 2 * stride;
  return few && type.lanes % whole == 0 && target_.sve_bits <= 128 ? static_cast<int>(stride) : 0;
}

// The vectors lie from the first lane to the last, each from `lanes - 1` elements behind the begin of the one before,
// so that nothing beside these is read. Unless that distance and the stride have a common factor, what is wanted of
// them stands in lanes of its own each: they are joined by choices, and one shuffle sorts them.
Value* Emitter::emit_strided_load(const Memory& memory, Type type, Value* base, int stride) {
  const int lanes = type.lanes, whole = ir::register_lanes(target_, type.element()), apart = lanes - 1;
  if (lanes > whole) {
    std::vector<Value*> parts;
    for (int lane = 0; lane < lanes; lane += whole)
      parts.push_back(
          emit_strided_load(memory, type.with_lanes(whole), b_.CreateNSWAdd(base, index(lane * stride)), stride));
    return llvm::concatenateVectors(b_, parts);
  }
  const auto vector_of = [&](int lane) { return std::min(lane * stride / apart, stride - 1); };
  const auto place_of = [&](int lane) { return lane * stride - vector_of(lane) * apart; };
  const bool own = std::gcd(apart, stride) == 1;
  Value* all = emit_block_load(memory, type, base, 1, nullptr);
  for (int v = 1; v < stride; ++v) {
    Value* next = emit_block_load(memory, type, b_.CreateNSWAdd(base, index(v * apart)), 1, nullptr);
    std::vector<int> from(static_cast<size_t>(lanes), llvm::PoisonMaskElem);
    for (int lane = 0; lane < lanes; ++lane) {
      if (vector_of(lane) > v) continue;
      const int place = place_of(lane), before = own || v == 1 ? place : lane;
      from[static_cast<size_t>(own ? place : lane)] = vector_of(lane) == v ? lanes + place : before;
    }
    all = b_.CreateShuffleVector(all, next, from);
  }
  if (!own) return all;
  std::vector<int> from;
  for (int lane = 0; lane < lanes; ++lane) from.push_back(place_of(lane));
  return b_.CreateShuffleVector(all, from);
}

Value* Emitter::emit_scalar_load(const Memory& memory, Type type, const Expr& at, Value* mask) {
  Value* offset = emit(at);
  const auto read = [&] {
    llvm::Type* stored = memory_type(type);
    auto* access = b_.CreateAlignedLoad(stored, address(memory, type, offset), block_alignment(memory, type, 1));
    mark(access, memory);
    return from_memory(type, access);
  };
  if (!mask) return read();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* wanted = block("wanted");
  llvm::BasicBlock* after = block("read");
  b_.CreateCondBr(mask, wanted, after);
  b_.SetInsertPoint(wanted);
  Value* value = read();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* phi = b_.CreatePHI(value->getType(), 2);
  phi->addIncoming(value, wanted);
  phi->addIncoming(llvm::Constant::getNullValue(value->getType()), before);
  return phi;
}

// Masked accesses would keep a register tile in memory, so in a slot they become plain ones: of as many lanes as the
// mask lets through, or, when that is not known, of all, since nobody else sees a slot. Null when neither will do.
Value* Emitter::emit_slot_load(const Memory& memory, Type type, Value* base, Value* at, llvm::Align align,
                               Value* mask) {
  if (!memory.slot) return nullptr;
  if (const int count = prefix_lanes(mask)) {
    Value* some =
        from_memory(type.with_lanes(count), b_.CreateAlignedLoad(memory_type(type.with_lanes(count)), at, align));
    if (count == 1) return b_.CreateInsertElement(llvm::Constant::getNullValue(value_type(type)), some, uint64_t{0});
    return b_.CreateShuffleVector(some, llvm::Constant::getNullValue(some->getType()),
                                  lane_numbers(count, type.lanes, count));
  }
  if (!inside_slot(memory, base, type.lanes)) return nullptr;
  Value* all = from_memory(type, b_.CreateAlignedLoad(memory_type(type), at, align));
  return b_.CreateSelect(mask, all, llvm::Constant::getNullValue(all->getType()));
}

bool Emitter::emit_slot_store(const Memory& memory, Value* base, Value* at, llvm::Align align, Value* value,
                              Value* mask) {
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements());
  if (!memory.slot) return false;
  if (const int count = prefix_lanes(mask)) {
    // A vector of one lane is no type of a CPU: LLVM 19 fails to select it from a choice (llvm-project issue 117684).
    Value* stored = count == 1 ? b_.CreateExtractElement(value, uint64_t{0})
                               : b_.CreateShuffleVector(value, lane_numbers(count, count, 0));
    b_.CreateAlignedStore(stored, at, align);
    return true;
  }
  if (!inside_slot(memory, base, lanes)) return false;
  b_.CreateAlignedStore(b_.CreateSelect(mask, value, b_.CreateAlignedLoad(value->getType(), at, align)), at, align);
  return true;
}

bool Emitter::inside_slot(const Memory& memory, Value* base, int lanes) const {
  const auto* at = llvm::dyn_cast<llvm::ConstantInt>(base);
  return at && at->getSExtValue() >= 0 && at->getSExtValue() + lanes <= memory.elements;
}

bool Emitter::in_parts(const Memory& memory, Type type, const Value* mask) const {
  return !mask && memory.part > 0 && type.lanes > memory.part && type.lanes % memory.part == 0;
}

Value* Emitter::emit_block_load(const Memory& memory, Type type, Value* base, int64_t base_multiple, Value* mask) {
  if (in_parts(memory, type, mask)) {
    std::vector<Value*> parts;
    for (int lane = 0; lane < type.lanes; lane += memory.part)
      parts.push_back(emit_block_load(
          memory, type.with_lanes(memory.part),
          b_.CreateAdd(base, llvm::ConstantInt::get(base->getType(), static_cast<uint64_t>(lane))), 1, nullptr));
    return llvm::concatenateVectors(b_, parts);
  }
  llvm::Type* stored = memory_type(type);
  Value* at = address(memory, type, base);
  const llvm::Align align = block_alignment(memory, type, base_multiple);
  llvm::Instruction* access = nullptr;
  if (Value* value = mask ? emit_slot_load(memory, type, base, at, align, mask) : nullptr) return value;
  // Padding is read beside its array, by no lane. Where no page is there the processor takes hundreds of cycles to see
  // that it need not fault, so such a load goes to the array's begin.
  Value* wanted = mask && !memory.slot ? shared_condition(b_, mask) : nullptr;
  if (wanted) at = b_.CreateSelect(wanted, at, memory.address);
  if (mask)
    access = b_.CreateMaskedLoad(stored, at, align, mask, llvm::Constant::getNullValue(stored));
  else
    access = b_.CreateAlignedLoad(stored, at, align);
  mark(access, memory);
  return from_memory(type, access);
}

// Of x86, words alone are gathered by an instruction.
bool Emitter::gathers(Type element) const {
  return target_.sve_bits > 0 || (target_.has("avx2") && element.bits >= 32);
}

// Lanes that are not wanted read a zero of the module's own. LLVM makes a branch for each lane, and takes minutes where
// many stand in one block.
Value* Emitter::emit_lanes_load(const Memory& memory, Type type, Value* places, Value* mask) {
  constexpr const char* kName = "tw_zero";
  llvm::Type* element = memory_type(type.element());
  llvm::GlobalVariable* zero = module_.getNamedGlobal(kName);
  if (!zero)
    zero = new llvm::GlobalVariable(module_, b_.getInt64Ty(), true, llvm::GlobalValue::PrivateLinkage, b_.getInt64(0),
                                    kName);
  Value* all = llvm::PoisonValue::get(memory_type(type));
  for (uint64_t lane = 0; lane < static_cast<uint64_t>(type.lanes); ++lane) {
    Value* place = b_.CreateSelect(b_.CreateExtractElement(mask, lane), b_.CreateExtractElement(places, lane), zero);
    all = b_.CreateInsertElement(all, b_.CreateAlignedLoad(element, place, block_alignment(memory, type, 1)), lane);
  }
  return from_memory(type, all);
}

Value* Emitter::emit_gather(const Memory& memory, Type type, const Expr& at, Value* mask) {
  llvm::Type* stored = memory_type(type);
  const auto* ramp = ir::as<ir::Ramp>(at);
  const int64_t stride = ramp ? ir::as_int(ramp->stride).value_or(0) : 0;
  const bool in_lines = stride != 0 && std::abs(stride) * type.element().bytes() < kCacheLineBytes;
  if (in_lines && !mask && !memory.slot && target_.sve_bits == 0) {
    Value* base = emit(ramp->base);
    Value* all = llvm::PoisonValue::get(stored);
    for (int lane = 0; lane < type.lanes; ++lane) {
      Value* place = address(memory, type, b_.CreateNSWAdd(base, index(lane * stride)));
      auto* one = b_.CreateAlignedLoad(memory_type(type.element()), place, block_alignment(memory, type, 1));
      mark(one, memory);
      all = b_.CreateInsertElement(all, one, static_cast<uint64_t>(lane));
    }
    return from_memory(type, all);
  }
  Value* places = addresses(memory, type, at);
  if (mask && !gathers(type)) return emit_lanes_load(memory, type, places, mask);
  if (!mask) mask = llvm::Constant::getAllOnesValue(value_type(Type::boolean(type.lanes)));
  llvm::CallInst* access = b_.CreateMaskedGather(stored, places, block_alignment(memory, type, 1), mask,
                                                 llvm::Constant::getNullValue(stored));
  mark(access, memory);
  return from_memory(type, access);
}

void Emitter::emit_store(const ir::Store& store) {
  const auto found = frame_.buffers.find(store.buffer.id());
  TW_CHECK(found != frame_.buffers.end(), "buffer " + store.buffer.name() + " is not in scope");
  TW_CHECK(store.at.size() <= 1, "a subscript that is not flat reached code generation");
  if (const auto* call = ir::as<ir::Call>(store.value); call && ir::is_tile(call->fn)) return emit_tile_product(*call);
  frame_.tiles.held.clear();
  CacheLevel level(*this);
  const Memory& memory = found->second;
  const Expr at = store.at.empty() ? Expr(0) : store.at[0];
  const Type type = store.value.type();
  if (type.is_scalar() && at.type().is_scalar()) return emit_scalar_store(memory, store);

  const int lanes = std::max(type.lanes, at.type().lanes);
  const Type vector = type.with_lanes(lanes);
  Value* mask = store.pred ? emit(store.pred) : nullptr;
  Value* value = to_memory(type, emit(store.value));
  if (type.is_scalar()) value = splat(value, lanes);
  const auto* ramp = ir::as<ir::Ramp>(at);
  if (ramp && ir::is_int(ramp->stride, 1))
    return emit_block_store(memory, vector, emit(ramp->base), multiple_of(ramp->base), value, mask);
  if (ramp && ir::is_int(ramp->stride, -1)) {
    Value* base = b_.CreateSub(emit(ramp->base), index(lanes - 1), "", false, true);
    return emit_block_store(memory, vector, base, 1, b_.CreateVectorReverse(value),
                            mask ? b_.CreateVectorReverse(mask) : nullptr);
  }
  if (!mask) mask = llvm::Constant::getAllOnesValue(value_type(Type::boolean(lanes)));
  Value* places = addresses(memory, vector, at);
  mark(b_.CreateMaskedScatter(value, places, block_alignment(memory, type, 1), mask), memory);
}

void Emitter::emit_scalar_store(const Memory& memory, const ir::Store& store) {
  const Type type = store.value.type();
  llvm::BasicBlock* after = nullptr;
  if (store.pred) {
    llvm::BasicBlock* wanted = block("wanted");
    after = block("written");
    b_.CreateCondBr(emit(store.pred), wanted, after);
    b_.SetInsertPoint(wanted);
  }
  Value* offset = store.at.empty() ? index(0) : emit(store.at[0]);
  Value* value = to_memory(type, emit(store.value));
  mark(b_.CreateAlignedStore(value, address(memory, type, offset), block_alignment(memory, type, 1)), memory);
  if (!after) return;
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void Emitter::emit_block_store(const Memory& memory, Type type, Value* base, int64_t base_multiple, Value* value,
                               Value* mask) {
  if (in_parts(memory, type, mask)) {
    for (int lane = 0; lane < type.lanes; lane += memory.part) {
      std::vector<int> lanes(static_cast<size_t>(memory.part));
      std::iota(lanes.begin(), lanes.end(), lane);
      emit_block_store(memory, type.with_lanes(memory.part),
                       b_.CreateAdd(base, llvm::ConstantInt::get(base->getType(), static_cast<uint64_t>(lane))), 1,
                       b_.CreateShuffleVector(value, lanes), nullptr);
    }
    return;
  }
  Value* at = address(memory, type, base);
  const llvm::Align align = block_alignment(memory, type, base_multiple);
  if (mask && emit_slot_store(memory, base, at, align, value, mask)) return;
  if (memory.nontemporal && !mask && emit_nontemporal_store(memory, type, at, align, value)) return;
  if (mask)
    mark(b_.CreateMaskedStore(value, at, align, mask), memory);
  else
    mark(b_.CreateAlignedStore(value, at, align), memory);
}

}  // namespace tw::codegen
