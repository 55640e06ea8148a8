// All differences between the releases of LLVM that this code compiles with: 19 and 22.
#pragma once

#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#if LLVM_VERSION_MAJOR >= 22
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#endif

#include <memory>
#include <string>

namespace tw::codegen::compat {

#if LLVM_VERSION_MAJOR >= 21
inline llvm::Triple triple_argument(const std::string& triple) { return llvm::Triple(triple); }
#else
inline const std::string& triple_argument(const std::string& triple) { return triple; }
#endif

inline const llvm::Target* lookup_target(const std::string& triple, std::string& error) {
#if LLVM_VERSION_MAJOR >= 22
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
#else
  return llvm::TargetRegistry::lookupTarget(triple, error);
#endif
}

inline void set_triple(llvm::Module& module, const std::string& triple) {
  module.setTargetTriple(triple_argument(triple));
}

inline llvm::Function* intrinsic(llvm::Module& module, llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type*> types) {
#if LLVM_VERSION_MAJOR >= 20
  return llvm::Intrinsic::getOrInsertDeclaration(&module, id, types);
#else
  return llvm::Intrinsic::getDeclaration(&module, id, types);
#endif
}

// What LLVM wants to hear beside +avx512f where the name of the CPU does not imply it.
#if LLVM_VERSION_MAJOR >= 22
constexpr const char* kVectorsOf512Bits = "";
#else
constexpr const char* kVectorsOf512Bits = "+evex512";
#endif

}  // namespace tw::codegen::compat
