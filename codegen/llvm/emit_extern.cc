// What leaves the kernel: calls of C functions, by way of the context's table so that the object has no undefined
// symbol; addresses; prefetches.
//
// Arguments are passed as C passes int8_t .. int64_t, float, double and pointers; an index is an int64_t, a bool a
// byte.
#include <algorithm>

#include "codegen/llvm/compat.h"
#include "codegen/llvm/emitter.h"
#include "tensorwright/kernel_abi.h"

namespace tw::codegen {

using llvm::Value;

namespace {

constexpr int kExternsField = 6;

}  // namespace

Value* Emitter::emit_address(const ir::Address& address) {
  const auto found = frame_.buffers.find(address.buffer.id());
  TW_CHECK(found != frame_.buffers.end(), "buffer " + address.buffer.name() + " is not in scope");
  Value* at = address.at.empty() ? index(0) : emit(address.at[0]);
  return b_.CreateGEP(memory_type(address.buffer.element()), found->second.address, at);
}

Value* Emitter::emit_prefetch(const ir::Call& call) {
  Value* at = emit(call.args[0]);
  const int kData = 1, near = call.fn == ir::Fn::kPrefetchL2 ? 2 : 3;
  const int writes = ir::as<ir::Address>(call.args[0])->written ? 1 : 0;
  return b_.CreateCall(compat::intrinsic(module_, llvm::Intrinsic::prefetch, {at->getType()}),
                       {at, b_.getInt32(writes), b_.getInt32(near), b_.getInt32(kData)});
}

Value* Emitter::emit_extern(const ir::CallExtern& call, ir::Type type) {
  std::vector<Value*> args;
  std::vector<llvm::Type*> types;
  std::vector<llvm::Attribute::AttrKind> extensions;
  const auto extension = [&](ir::Type t) {
    if (t.is_handle() || t.is_float() || t.bits >= 32) return llvm::Attribute::None;
    return t.is_int() ? llvm::Attribute::SExt : llvm::Attribute::ZExt;
  };
  for (const ir::Expr& arg : call.args) {
    const ir::Type t = arg.type();
    args.push_back(t.is_handle() ? emit(arg) : to_memory(t, emit(arg)));
    types.push_back(args.back()->getType());
    extensions.push_back(extension(t));
  }
  llvm::Type* result = memory_type(type);
  auto* function = llvm::FunctionType::get(result, types, false);
  const auto place = std::find(externs_.begin(), externs_.end(), call.symbol);
  TW_CHECK(place != externs_.end(), call.symbol);
  llvm::Type* pointer = b_.getPtrTy();
  Value* table = context_field(kExternsField, pointer);
  Value* entry = b_.CreateConstInBoundsGEP1_64(pointer, table, static_cast<uint64_t>(place - externs_.begin()));
  llvm::CallInst* made = b_.CreateCall(function, b_.CreateLoad(pointer, entry), args);
  for (unsigned i = 0; i < extensions.size(); ++i)
    if (extensions[i] != llvm::Attribute::None) made->addParamAttr(i, extensions[i]);
  if (extension(type) != llvm::Attribute::None) made->addRetAttr(extension(type));
  return from_memory(type, made);
}

}  // namespace tw::codegen
