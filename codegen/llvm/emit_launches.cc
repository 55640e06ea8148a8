// The host's part of a kernel for a device: it checks what the kernel requires, asks the context for scratch, evaluates
// the plan's formulas and calls the context's launch function for each launch.
//
//   sizes[6] = {blocks x, y, z, threads x, y, z}; operands = {&argument, &scratch, &scalar, ..}
//   code = externs[1](context, &map, array, {bytes of an element, swizzle, dimensions, extent, stride, box, ..})
//   code = externs[0](context, &launch, sizes, operands)
//
// The launches and their image are data of the object, with room for what the driver gives for them: of a device it is
// asked for once.
#include <algorithm>

#include "codegen/device_code.h"
#include "codegen/llvm/emitter.h"
#include "src/ir/requirement.h"
#include "src/runtime/kernel.h"
#include "src/target/cuda.h"
#include "tensorwright/kernel_abi.h"

namespace tw::codegen {

using llvm::Value;

namespace {

enum ContextField { kAllocField = 3, kReleaseField = 4, kExternsField = 6 };
constexpr const char* kMapFunction = "tensorwright_map";  // which the context brings behind kLaunchFunction

llvm::Constant* no_addresses(llvm::LLVMContext& c) {
  return llvm::ConstantAggregateZero::get(llvm::ArrayType::get(llvm::PointerType::get(c, 0), kMostDevices));
}

llvm::GlobalVariable* data(llvm::Module& module, llvm::Constant* value, bool constant) {
  return new llvm::GlobalVariable(module, value->getType(), constant, llvm::GlobalValue::PrivateLinkage, value);
}

}  // namespace

llvm::Constant* emit_image(llvm::Module& module, const DeviceCode& code) {
  llvm::LLVMContext& c = module.getContext();
  const auto u32 = [&](uint64_t v) { return llvm::ConstantInt::get(llvm::Type::getInt32Ty(c), v); };
  const auto [major, minor, exact] = target::cuda::capability_of(code.arch);
  const auto code_of = [&](const std::string& bytes) {
    llvm::GlobalVariable* out = data(module, llvm::ConstantDataArray::getString(c, bytes), true);
    out->setAlignment(llvm::Align(64));
    return out;
  };
  llvm::Constant* none = llvm::Constant::getNullValue(llvm::PointerType::get(c, 0));
  llvm::Constant* image = llvm::ConstantStruct::getAnon(
      {data(module, llvm::ConstantDataArray::getString(c, code.arch), true), u32(static_cast<uint64_t>(major)),
       u32(static_cast<uint64_t>(minor)), u32(exact), u32(!code.ptx.empty()), code_of(code.image), no_addresses(c),
       code.ptx.empty() ? none : code_of(code.ptx)});
  return data(module, image, false);
}

void Emitter::emit_stub(const ir::Program& program, const runtime::cuda::Plan& plan, llvm::Constant* image) {
  begin_kernel(program);
  externs_ = {kLaunchFunction};
  const auto maps = [](const runtime::cuda::Launch& launch) { return !launch.maps.empty(); };
  if (std::ranges::any_of(plan.launches, maps)) externs_.emplace_back(kMapFunction);
  for (const ir::Requirement& r : ir::requirements_of(program)) emit(ir::as_statement(r));
  check_alignment(plan);
  llvm::BasicBlock* way_out = frame_.way_out;
  const DeviceScratch scratch = emit_device_scratch(plan);
  for (const runtime::cuda::Launch& launch : plan.launches) emit_launch(launch, image, scratch);
  llvm::Type* pointer = b_.getPtrTy();
  auto* release = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer}, false);
  for (auto held = scratch.rbegin(); held != scratch.rend(); ++held)
    b_.CreateCall(release, context_field(kReleaseField, pointer), {frame_.context, held->second});
  frame_.way_out = way_out;
  end_function();
}

// Vectors are read and written as a whole.
void Emitter::check_alignment(const runtime::cuda::Plan& plan) {
  Value* wrong = b_.getInt64(0);
  for (size_t i = 0; i < plan.alignment.size(); ++i) {
    Value* address = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), frame_.data, i));
    wrong = b_.CreateOr(wrong, b_.CreateAnd(address, index(plan.alignment[i] - 1)));
  }
  leave_if(b_.CreateICmpNE(wrong, index(0)), b_.getInt32(kAlignmentError));
}

Emitter::DeviceScratch Emitter::emit_device_scratch(const runtime::cuda::Plan& plan) {
  llvm::Type* pointer = b_.getPtrTy();
  auto* alloc = llvm::FunctionType::get(pointer, {pointer, b_.getInt64Ty()}, false);
  DeviceScratch pieces;
  for (const runtime::cuda::Formula& size : plan.scratch) {
    Value* bytes = emit(size.expr());
    bytes = b_.CreateSelect(b_.CreateICmpSGT(bytes, index(0)), bytes, index(1));
    Value* memory = b_.CreateCall(alloc, context_field(kAllocField, pointer), {frame_.context, bytes});
    leave_if(b_.CreateIsNull(memory), b_.getInt32(TW_ERROR_OUT_OF_MEMORY));
    llvm::BasicBlock& entry = frame_.function->getEntryBlock();
    Value* slot = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(pointer, nullptr, "scratch");
    b_.CreateStore(memory, slot);
    frame_.way_out = release_on_the_way_out(memory, frame_.way_out);
    pieces.emplace_back(slot, memory);
  }
  return pieces;
}

void Emitter::emit_launch(const runtime::cuda::Launch& launch, llvm::Constant* image, const DeviceScratch& scratch) {
  llvm::Type *pointer = b_.getPtrTy(), *wide = b_.getInt64Ty();
  llvm::Constant* row =
      llvm::ConstantStruct::getAnon({image, data(module_, llvm::ConstantDataArray::getString(c_, launch.symbol), true),
                                     b_.getInt64(static_cast<uint64_t>(launch.shared_bytes)), no_addresses(c_)});
  llvm::GlobalVariable* known = data(module_, row, false);
  llvm::BasicBlock *go = block("launch"), *after = block("launched");
  b_.CreateCondBr(
      b_.CreateICmpNE(emit(launch.when.expr()), llvm::Constant::getNullValue(value_type(launch.when.expr().type()))),
      go, after);
  b_.SetInsertPoint(go);
  {
    CacheLevel level(*this);
    llvm::BasicBlock& entry = frame_.function->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.begin());
    Value* sizes = at_entry.CreateAlloca(wide, b_.getInt32(6), "sizes");
    Value* operands =
        at_entry.CreateAlloca(pointer, b_.getInt32(static_cast<uint32_t>(launch.operands.size() + 1)), "operands");
    for (size_t d = 0; d < 3; ++d) {
      b_.CreateStore(emit(launch.grid[d].expr()), b_.CreateConstInBoundsGEP1_64(wide, sizes, d));
      b_.CreateStore(emit(launch.block[d].expr()), b_.CreateConstInBoundsGEP1_64(wide, sizes, 3 + d));
    }
    using runtime::cuda::Operand, runtime::cuda::OperandKind;
    const auto address_of = [&](const Operand& operand) -> Value* {
      if (operand.kind == OperandKind::kScratch) return scratch[operand.number].first;
      const size_t number =
          operand.kind == OperandKind::kScalar ? frame_.buffers.size() + operand.number : operand.number;
      return b_.CreateConstInBoundsGEP1_64(pointer, frame_.data, number);
    };
    const auto encoded = [&](const runtime::cuda::TensorMap& map) -> Value* {
      llvm::AllocaInst* out = at_entry.CreateAlloca(b_.getInt8Ty(), b_.getInt32(kMapBytes), "map");
      out->setAlignment(llvm::Align(kMapAlignment));
      const auto words = static_cast<uint32_t>(3 + 3 * map.box.size());
      Value* shape = at_entry.CreateAlloca(wide, b_.getInt32(words), "shape");
      size_t word = 0;
      const auto put = [&](Value* value) { b_.CreateStore(value, b_.CreateConstInBoundsGEP1_64(wide, shape, word++)); };
      put(index(map.element_bytes));
      put(index(map.swizzle));
      put(index(static_cast<int64_t>(map.box.size())));
      for (size_t d = 0; d < map.box.size(); ++d) {
        put(emit(map.extents[d].expr()));
        put(emit(map.strides[d].expr()));
        put(index(map.box[d]));
      }
      auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, pointer}, false);
      Value* externs = context_field(kExternsField, b_.getPtrTy());
      Value* function = b_.CreateLoad(pointer, b_.CreateConstInBoundsGEP1_64(pointer, externs, 1));
      Value* array = b_.CreateLoad(pointer, address_of(map.of));
      Value* code = b_.CreateCall(type, function, {frame_.context, out, array, shape});
      leave_if(b_.CreateICmpNE(code, b_.getInt32(0)), code);
      return out;
    };
    for (size_t i = 0; i < launch.operands.size(); ++i) {
      const auto [kind, number] = launch.operands[i];
      Value* at = kind == OperandKind::kMap ? encoded(launch.maps[number]) : address_of(launch.operands[i]);
      if (kind == OperandKind::kScalar) at = b_.CreateLoad(pointer, at);
      b_.CreateStore(at, b_.CreateConstInBoundsGEP1_64(pointer, operands, i));
    }
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, pointer}, false);
    Value* function = b_.CreateLoad(pointer, context_field(kExternsField, pointer));
    Value* code = b_.CreateCall(type, function, {frame_.context, known, sizes, operands});
    leave_if(b_.CreateICmpNE(code, b_.getInt32(0)), code);
  }
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

}  // namespace tw::codegen
