// Lowered program -> LLVM module -> ELF object, assembly or the module's text.
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/kernel_name.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/compat.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/passes.h"
#include "src/ir/contract.h"
#include "src/support/deep_stack.h"

namespace tw::codegen {

namespace {

constexpr size_t kLongestName = 300;  // of a kernel that packs: that of the kernel, and of the parameter

void check_module(const llvm::Module& module) {
  if (!ir::verifies()) return;
  std::string errors;
  llvm::raw_string_ostream out(errors);
  TW_CHECK(!llvm::verifyModule(module, &out), errors);
}

std::string emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library(llvm::Triple(module.getTargetTriple()));
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  TW_CHECK(!machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true),
           "no emitter for this target");
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

// LLVM's scheduler takes time quadratic in the length of a block: a loop unrolled thousands of times took minutes. Such
// blocks are as good unscheduled, as they don't fit the instruction cache.
constexpr size_t kLongestScheduledBlock = 8000;

bool has_huge_block(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    for (const llvm::BasicBlock& block : function)
      if (block.size() > kLongestScheduledBlock) return true;
  return false;
}

std::string compile_on_deep_stack(std::span<const ir::Program> programs, const Target& target, int opt_level,
                                  Output output, std::span<const SourceText> texts) {
  MachineLease machine(target, opt_level);
  llvm::LLVMContext context;
  context.setDiscardValueNames(output == Output::kObject);
  std::unique_ptr<llvm::Module> module = emit_module(context, programs, target, machine->createDataLayout(), texts);
  check_module(*module);
  optimize(*module, *machine, target, opt_level);
  if (output == Output::kLlvm) return text_of(*module);
  const auto type =
      output == Output::kAssembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (!has_huge_block(*module)) return emit_file(*module, *machine, type);
  MachineLease unscheduled(target, 0);
  return emit_file(*module, *unscheduled, type);
}

}  // namespace

Result<std::string> compile(std::span<const ir::Program> programs, const Target& target, int opt_level, Output output,
                            std::span<const SourceText> texts) {
  for (const ir::Program& program : programs) {
    TW_TRY([[maybe_unused]] Unit valid, check_kernel_name(program.name, kLongestName));
  }
  return support::with_deep_stack([&] { return compile_on_deep_stack(programs, target, opt_level, output, texts); });
}

Result<std::string> compile_device(const DeviceCode& code, const Target& host, const Target& device) {
  for (const ir::Program& program : code.programs) {
    TW_TRY([[maybe_unused]] Unit valid, check_kernel_name(program.name, kLongestName));
  }
  return support::with_deep_stack([&] {
    constexpr int kLevel = 2;
    MachineLease machine(host, kLevel);
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = emit_device_module(context, code, host, device, machine->createDataLayout());
    check_module(*module);
    optimize(*module, *machine, host, kLevel);
    return emit_file(*module, *machine, llvm::CodeGenFileType::ObjectFile);
  });
}

Result<std::string> compile(const ir::Program& program, const Target& target, int opt_level, Output output) {
  return compile(std::span(&program, 1), target, opt_level, output);
}

}  // namespace tw::codegen
