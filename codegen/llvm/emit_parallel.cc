// Parallel loops.
//
//   for i in 0..n parallel:          struct closure { context, every variable and buffer that the body uses }
//     body(i)                ==>     context->parallel_for(context, n, body_function, &closure)
//                                    body_function(begin, end, closure): for i in begin..end: body(i)
//
// A code other than 0 ends the kernel with it.
#include <llvm/IR/MDBuilder.h>

#include <tuple>
#include <utility>

#include "codegen/llvm/emitter.h"
#include "codegen/scratch.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using llvm::Value;

namespace {

constexpr int kParallelForField = 2;
constexpr size_t kMaxAliasScopes =
    24;  // each access lists all the others: more would make LLVM slow, not the code fast

}  // namespace

void Emitter::emit_parallel(const ir::For& loop) {
  const ir::Stmt whole = ir::loop(loop.var, loop.extent, loop.body);
  std::vector<ir::Var> vars = ir::free_vars(whole);
  std::vector<ir::Buffer> buffers = ir::free_buffers(whole);
  std::vector<llvm::Type*> fields{b_.getPtrTy()};
  for (const ir::Var& var : vars) fields.push_back(value_type(var.type()));
  for (size_t i = 0; i < buffers.size(); ++i) fields.push_back(b_.getPtrTy());
  llvm::StructType* closure = llvm::StructType::get(c_, fields);

  llvm::BasicBlock& entry = frame_.function->getEntryBlock();
  Value* captured = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(closure, nullptr, "closure");
  unsigned field = 0;
  b_.CreateStore(frame_.context, b_.CreateStructGEP(closure, captured, field++));
  for (const ir::Var& var : vars)
    b_.CreateStore(frame_.vars.at(var.id()), b_.CreateStructGEP(closure, captured, field++));
  for (const ir::Buffer& buffer : buffers)
    b_.CreateStore(frame_.buffers.at(buffer.id()).address, b_.CreateStructGEP(closure, captured, field++));

  Value* extent = nullptr;
  {
    CacheLevel level(*this);
    extent = emit(loop.extent);
  }
  llvm::Function* body = outline(loop, vars, buffers, closure);
  llvm::Type* pointer = b_.getPtrTy();
  auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, b_.getInt64Ty(), pointer, pointer}, false);
  Value* code =
      b_.CreateCall(type, context_field(kParallelForField, pointer), {frame_.context, extent, body, captured});
  leave_if(b_.CreateICmpNE(code, b_.getInt32(0)), code);
}

llvm::Function* Emitter::outline(const ir::For& loop, const std::vector<ir::Var>& vars,
                                 const std::vector<ir::Buffer>& buffers, llvm::StructType* closure) {
  auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getInt64Ty(), b_.getInt64Ty(), b_.getPtrTy()}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                          kernel_name_ + "_parallel_" + loop.var.name(), module_);
  function->setDoesNotThrow();
  const auto outer_point = b_.saveIP();
  const llvm::DebugLoc outer_line = b_.getCurrentDebugLocation();
  const Frame outer = std::exchange(frame_, Frame{});
  frame_.in_parallel = true;
  begin_function(function);
  Value* captured = function->getArg(2);
  unsigned field = 0;
  const auto next = [&](llvm::Type* t) { return b_.CreateLoad(t, b_.CreateStructGEP(closure, captured, field++)); };
  frame_.context = next(b_.getPtrTy());
  for (const ir::Var& var : vars) frame_.vars[var.id()] = next(value_type(var.type()));
  declare_alias_scopes(loop.body);
  for (const ir::Buffer& buffer : buffers) {
    const Memory& outside = outer.buffers.at(buffer.id());
    frame_.buffers[buffer.id()] = memory_of(buffer, next(b_.getPtrTy()), outside.align);
    frame_.buffers[buffer.id()].nontemporal = outside.nontemporal;
  }
  const auto tasks = [&] { emit_counted_loop(function->getArg(0), function->getArg(1), false, loop); };
  if (begins_tiles(loop.body))
    with_tiles(loop.body, tasks);
  else
    tasks();
  end_function();
  frame_ = outer;
  b_.restoreIP(outer_point);
  b_.SetCurrentDebugLocation(outer_line);
  return function;
}

// No two buffers overlap: outputs are checked against everything when a kernel is called, and scratch is fresh.
void Emitter::declare_alias_scopes(const ir::Stmt& body) {
  std::vector<ir::Buffer> buffers = ir::free_buffers(body);
  ir::walk(body, [&](const ir::Stmt& s) {
    if (const auto* alloc = ir::as<ir::Allocate>(s)) buffers.push_back(alloc->buffer);
    return true;
  });
  if (buffers.size() > kMaxAliasScopes) return;
  llvm::MDBuilder metadata(c_);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes;
  for (const ir::Buffer& buffer : buffers) scopes.push_back(metadata.createAnonymousAliasScope(domain, buffer.name()));
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    frame_.alias[buffers[i].id()] = {llvm::MDNode::get(c_, scopes[i]),
                                     others.empty() ? nullptr : llvm::MDNode::get(c_, others)};
  }
}

Memory Emitter::memory_of(const ir::Buffer& buffer, Value* address, llvm::Align align) {
  Memory memory{address, align};
  memory.elements = known_elements(buffer).value_or(0);
  if (const auto found = frame_.alias.find(buffer.id()); found != frame_.alias.end())
    std::tie(memory.scope, memory.noalias) = found->second;
  return memory;
}

}  // namespace tw::codegen
