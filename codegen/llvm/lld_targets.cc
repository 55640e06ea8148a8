// lld registers every back end that its LLVM was built with, for link-time optimisation that never happens here. Only
// X86 and AArch64 are linked; the hooks of the others are defined here and do nothing.

#define TW_LINKED_X86 ~, TW_NOTHING
#define TW_LINKED_AArch64 ~, TW_NOTHING
#define TW_SECOND(first, second, ...) second
#define TW_PICK(...) TW_SECOND(__VA_ARGS__)
#define TW_NOTHING(hook)
#define TW_EMPTY(hook) \
  void hook() {}
#define TW_HOOK(name, part) TW_PICK(TW_LINKED_##name, TW_EMPTY, )(LLVMInitialize##name##part)

extern "C" {
#define LLVM_TARGET(name) TW_HOOK(name, TargetInfo) TW_HOOK(name, Target) TW_HOOK(name, TargetMC)
#include <llvm/Config/Targets.def>
#define LLVM_ASM_PRINTER(name) TW_HOOK(name, AsmPrinter)
#include <llvm/Config/AsmPrinters.def>
#define LLVM_ASM_PARSER(name) TW_HOOK(name, AsmParser)
#include <llvm/Config/AsmParsers.def>
}
