// schedule -> loop program -> lowered program -> module.
#include "tensorwright/build.h"

#include "codegen/c/backend.h"
#include "codegen/interp_module.h"
#include "codegen/kernel_name.h"
#include "src/lower/pipeline.h"
#include "src/support/deep_stack.h"
#if TW_LLVM
#include "codegen/llvm/backend.h"
#endif

namespace tw {

ir::Program loop_program(const schedule::Schedule& s, const std::vector<te::Tensor>& args, const std::string& name,
                         const std::vector<te::ScalarArgument>& scalars) {
  codegen::check_kernel_name(name).value_or_throw();
  return support::with_deep_stack([&] { return schedule::to_ir(s, args, name, scalars); }).value_or_throw();
}

ir::Program lowered_program(const schedule::Schedule& s, const std::vector<te::Tensor>& args, const Target& target,
                            const std::string& name, const std::vector<te::ScalarArgument>& scalars) {
  const ir::Program program = loop_program(s, args, name, scalars);
  if (target.kind == "interp") return program;
  return support::with_deep_stack([&] { return lower::run_pipeline(program, target); });
}

std::shared_ptr<const Module> build(const schedule::Schedule& s, const std::vector<te::Tensor>& args,
                                    const Target& target, const std::string& name,
                                    const std::vector<te::ScalarArgument>& scalars) {
  return build(lowered_program(s, args, target, name, scalars), target);
}

std::shared_ptr<const Module> build(const ir::Program& lowered, const Target& target, int opt_level) {
  codegen::check_kernel_name(lowered.name).value_or_throw();
  if (target.kind == "interp") return codegen::make_interp_module(lowered, target);
  if (target.kind == "c") return codegen::make_c_module(lowered, target, opt_level);
#if TW_LLVM
  if (target.kind == "llvm") return codegen::make_llvm_module(lowered, target, opt_level);
#endif
  throw Error({ErrorKind::kTarget,
               "build: no code generator for target \"" + target.to_string() + "\"",
               {},
               {"make targets with Target::parse or Target::host"}});
}

}  // namespace tw
