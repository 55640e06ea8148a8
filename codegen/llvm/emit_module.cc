// A program becomes a module: the kernel function and its descriptor.
#include <utility>

#include "codegen/llvm/compat.h"
#include "codegen/llvm/emitter.h"
#include "codegen/scratch.h"
#include "src/ir/externs.h"
#include "src/ir/scalars.h"
#include "src/ir/tile_products.h"
#include "src/runtime/kernel.h"

namespace tw::codegen {

using llvm::Value;

Emitter::Emitter(llvm::Module& module, const Target& target)
    : module_(module), c_(module.getContext()), b_(c_), target_(target) {}

void Emitter::emit_kernel(const ir::Program& program) {
  kernel_name_ = program.name;
  externs_ = ir::extern_symbols(program);
  has_tiles_ = ir::has_tile_product(program.body);
  llvm::Type* pointer = b_.getPtrTy();
  auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer}, false);
  auto* kernel =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, runtime::kernel_symbol(program.name), module_);
  kernel->setDSOLocal(true);
  kernel->setDoesNotThrow();
  frame_ = Frame{};
  frame_.context = kernel->getArg(1);
  begin_function(kernel);

  auto* args = llvm::StructType::get(c_, {b_.getInt32Ty(), b_.getInt32Ty(), pointer});
  Value* data = b_.CreateLoad(pointer, b_.CreateStructGEP(args, kernel->getArg(0), 2));
  declare_alias_scopes(program.body);
  llvm::MDNode* nothing = llvm::MDNode::get(c_, {});
  for (size_t i = 0; i < program.params.size(); ++i) {
    const ir::Buffer& buffer = program.params[i].buffer;
    llvm::LoadInst* address = b_.CreateLoad(pointer, b_.CreateConstInBoundsGEP1_64(pointer, data, i), buffer.name());
    address->setMetadata(llvm::LLVMContext::MD_invariant_load, nothing);
    if (const int64_t elements = known_elements(buffer).value_or(0); elements > 0) {
      auto* count =
          llvm::ConstantAsMetadata::get(b_.getInt64(static_cast<uint64_t>(elements * buffer.element().bytes())));
      address->setMetadata(llvm::LLVMContext::MD_dereferenceable, llvm::MDNode::get(c_, count));
    }
    frame_.buffers[buffer.id()] =
        memory_of(buffer, address, llvm::Align(static_cast<uint64_t>(buffer.element().bytes())));
  }
  for (size_t s = 0; s < program.scalars.size(); ++s) {
    const ir::Var& var = program.scalars[s];
    llvm::LoadInst* address =
        b_.CreateLoad(pointer, b_.CreateConstInBoundsGEP1_64(pointer, data, program.params.size() + s));
    llvm::LoadInst* value = b_.CreateLoad(memory_type(var.type()), address, var.name());
    address->setMetadata(llvm::LLVMContext::MD_invariant_load, nothing);
    value->setMetadata(llvm::LLVMContext::MD_invariant_load, nothing);
    frame_.vars[var.id()] = from_memory(var.type(), value);
  }
  for (const auto& [id, range] : ir::scalar_bounds(program)) bounds_[id] = range;
  emit(program.body);
  end_function();
}

namespace {

// Vectors of a known length are SVE's then, and lanes left out by a mask are a predicate. By its models of Neoverse
// cores LLVM 19 loads the vectors of all terms of a tile before their products, and has no registers left.
void fix_vector_length(llvm::Module& module, const Target& target) {
  constexpr int kGranule = 128;
  if (target.sve_bits == 0) return;
  const auto times = static_cast<unsigned>(target.sve_bits / kGranule);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr(llvm::Attribute::getWithVScaleRangeArgs(module.getContext(), times, times));
    if (target.sve_bits > kGranule) function.addFnAttr("tune-cpu", "a64fx");
  }
}

}  // namespace

std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context, std::span<const ir::Program> programs,
                                          const Target& target, const llvm::DataLayout& layout) {
  auto module = std::make_unique<llvm::Module>(programs.front().name, context);
  compat::set_triple(*module, target.triple);
  module->setDataLayout(layout);
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  for (const ir::Program& program : programs) {
    Emitter emitter(*module, target);
    emitter.emit_kernel(program);
    emitter.emit_descriptor(program);
  }
  fix_vector_length(*module, target);
  return module;
}

}  // namespace tw::codegen
