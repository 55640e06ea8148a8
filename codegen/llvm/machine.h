// LLVM's TargetMachines, one per target and level, kept: making one costs more than compiling a small kernel.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "tensorwright/target.h"

namespace tw::codegen {

void initialize_llvm();  // registers the back ends, once

// A machine for the use of one thread; it goes back to the shelf when the lease ends.
class MachineLease {
 public:
  MachineLease(const Target& target, int opt_level);
  ~MachineLease();
  MachineLease(const MachineLease&) = delete;
  llvm::TargetMachine& operator*() const { return *machine_; }
  llvm::TargetMachine* operator->() const { return machine_.get(); }

 private:
  std::string key_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace tw::codegen
