#include "codegen/llvm/machine.h"

#include <llvm/Support/TargetSelect.h>

#include <map>
#include <mutex>

#include "codegen/llvm/compat.h"

namespace tw::codegen {

namespace {

std::mutex shelf_lock;
std::multimap<std::string, std::unique_ptr<llvm::TargetMachine>>& shelf() {
  static auto* machines = new std::multimap<std::string, std::unique_ptr<llvm::TargetMachine>>;
  return *machines;
}

// The features that code may use exactly as resolved: to_string()'s -mattr list switches off what the CPU's name
// implies and the target does not have. The others code has none of.
std::string feature_string(const Target& target) {
  std::string list = target.has("avx512f") ? compat::kVectorsOf512Bits : "";
  // No part of a target: a CPU of ours that does not know it takes it for a nop.
  if (target.has("avx")) list += list.empty() ? "+prfchw" : ",+prfchw";
  for (const std::string& attribute : target.attributes) list += (list.empty() ? "" : ",") + attribute;
  return list;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target, int opt_level) {
  initialize_llvm();
  std::string error;
  const llvm::Target* llvm_target = compat::lookup_target(target.triple, error);
  TW_CHECK(llvm_target, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.MCOptions.AsmVerbose = true;
  // At None LLVM 19 is wrong for AArch64 whatever selects instructions: GlobalISel loses the offset of a load of bytes
  // that is broadcast, FastISel reads beyond the stack, and the scheduler of SelectionDAG confuses lanes of registers.
  const auto least =
      llvm::Triple(target.triple).isAArch64() ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::None;
  const auto level = opt_level == 0   ? least
                     : opt_level == 1 ? llvm::CodeGenOptLevel::Less
                     : opt_level == 2 ? llvm::CodeGenOptLevel::Default
                                      : llvm::CodeGenOptLevel::Aggressive;
  std::unique_ptr<llvm::TargetMachine> machine(
      llvm_target->createTargetMachine(compat::triple_argument(target.triple), target.cpu, feature_string(target),
                                       options, llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
  TW_CHECK(machine, "no TargetMachine for " + target.to_string());
  return machine;
}

}  // namespace

void initialize_llvm() {
  static const bool done = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
    return true;
  }();
  (void)done;
}

MachineLease::MachineLease(const Target& target, int opt_level)
    : key_(target.to_string() + " O" + std::to_string(opt_level)) {
  {
    std::lock_guard lock(shelf_lock);
    if (auto found = shelf().find(key_); found != shelf().end()) {
      machine_ = std::move(found->second);
      shelf().erase(found);
      return;
    }
  }
  machine_ = make_machine(target, opt_level);
}

MachineLease::~MachineLease() {
  std::lock_guard lock(shelf_lock);
  shelf().emplace(key_, std::move(machine_));
}

}  // namespace tw::codegen
