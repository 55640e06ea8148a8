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

Emitter::Emitter(llvm::Module& module, const Target& target, DebugLines* lines)
    : module_(module), c_(module.getContext()), b_(c_), target_(target), lines_(lines) {}

void Emitter::emit_kernel(const ir::Program& program) {
  begin_kernel(program);
  emit(program.body);
  end_function();
}

void Emitter::begin_kernel(const ir::Program& program) {
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
  frame_.data = data;
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
    frame_.buffers[buffer.id()].nontemporal = program.params[i].nontemporal;
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
}

namespace {

// Vectors of a known length are SVE's then, and lanes left out by a mask are a predicate.
void fix_vector_length(llvm::Module& module, const Target& target) {
  constexpr int kGranule = 128;
  if (target.sve_bits == 0) return;
  const auto times = static_cast<unsigned>(target.sve_bits / kGranule);
  for (llvm::Function& function : module)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::getWithVScaleRangeArgs(module.getContext(), times, times));
}

// Debuggers and profilers walk the stack through a kernel, by .eh_frame; and a process that admits indirect branches to
// marked places only may have kernels in it (IBT and shadow stacks of x86, BTI of AArch64).
void keep_traceable(llvm::Module& module) {
  const llvm::Triple triple(module.getTargetTriple());
  const auto flag = [&](const char* name) { module.addModuleFlag(llvm::Module::Min, name, 1); };
  if (triple.isX86()) {
    flag("cf-protection-branch");
    flag("cf-protection-return");
  } else if (triple.isAArch64()) {
    flag("branch-target-enforcement");
  }
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.setUWTableKind(llvm::UWTableKind::Async);
    if (triple.isAArch64()) function.addFnAttr("branch-target-enforcement", "true");
  }
}

std::unique_ptr<llvm::Module> empty_module(llvm::LLVMContext& context, const std::string& name, const Target& target,
                                           const llvm::DataLayout& layout) {
  auto module = std::make_unique<llvm::Module>(name, context);
  compat::set_triple(*module, target.triple);
  module->setDataLayout(layout);
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  return module;
}

}  // namespace

std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context, std::span<const ir::Program> programs,
                                          const Target& target, const llvm::DataLayout& layout,
                                          std::span<const SourceText> texts) {
  auto module = empty_module(context, programs.front().name, target, layout);
  for (size_t i = 0; i < programs.size(); ++i) {
    std::optional<DebugLines> lines;
    if (i < texts.size()) lines.emplace(*module, programs[i], texts[i]);
    Emitter emitter(*module, target, lines ? &*lines : nullptr);
    emitter.emit_kernel(programs[i]);
    emitter.emit_descriptor(programs[i], target);
  }
  fix_vector_length(*module, target);
  keep_traceable(*module);
  return module;
}

std::unique_ptr<llvm::Module> emit_device_module(llvm::LLVMContext& context, const DeviceCode& code, const Target& host,
                                                 const Target& device, const llvm::DataLayout& layout) {
  auto module = empty_module(context, code.programs.front().name, host, layout);
  llvm::Constant* image = emit_image(*module, code);
  for (size_t i = 0; i < code.programs.size(); ++i) {
    Emitter emitter(*module, host, nullptr);
    emitter.emit_stub(code.programs[i], code.plans[i], image);
    emitter.emit_descriptor(code.programs[i], device);
  }
  keep_traceable(*module);
  return module;
}

}  // namespace tw::codegen
