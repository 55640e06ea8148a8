// Modules of the target "llvm": one object, loaded for direct calls and written by save.
#include "codegen/arg_specs.h"
#include "codegen/c/source.h"
#include "codegen/c_header.h"
#include "codegen/files.h"
#include "codegen/foreign_kernel.h"
#include "codegen/llvm/backend.h"
#include "src/ir/externs.h"
#include "src/runtime/find_externs.h"
#include "src/runtime/kernel.h"

namespace tw::codegen {

namespace {

std::shared_ptr<const runtime::Kernel> kernel_in(const std::shared_ptr<const LoadedCode>& code,
                                                 const ir::Program& program, runtime::Packers packers = {}) {
  auto* function = reinterpret_cast<runtime::KernelFn>(code->symbol(runtime::kernel_symbol(program.name)));
  return runtime::make_kernel(function, arg_specs(program), program.name, code, scalar_specs(program),
                              runtime::find_externs(program.name, ir::extern_symbols(program)).value_or_throw(),
                              std::move(packers), ir::requirements_of(program));
}

class LlvmModule : public Module {
 public:
  LlvmModule(std::vector<ir::Program> programs, const Target& target, int opt_level)
      : programs_(std::move(programs)), target_(target), opt_level_(opt_level) {
    object_ = compile(programs_, target_, opt_level_, Output::kObject).value_or_throw();
    if (!target_.missing_here().empty()) {
      kernels_ = foreign_kernels(programs_, target_);
      return;
    }
    const std::shared_ptr<const LoadedCode> code =
        load_object(object_, runtime::kernel_symbol(programs_[0].name)).value_or_throw();
    kernels_ = kernels_of(programs_, [&](const ir::Program& program, runtime::Packers packers) {
      return kernel_in(code, program, std::move(packers));
    });
  }

  std::vector<std::shared_ptr<const runtime::Kernel>> kernels() const override { return kernels_; }

  std::string source(std::string_view kind) const override {
    if (kind == "ir") return texts_of(programs_);
    if (kind == "llvm") return compile(programs_, target_, opt_level_, Output::kLlvm).value_or_throw();
    if (kind == "c") return c_source(programs_, target_);
    if (kind == "asm") return compile(programs_, target_, opt_level_, Output::kAssembly).value_or_throw();
    throw Error({ErrorKind::kArgument,
                 "source: kind must be \"ir\", \"c\", \"llvm\" or \"asm\", not \"" + std::string(kind) + "\"",
                 {},
                 {}});
  }

  void save(const std::string& path) const override {
    const bool object = path.ends_with(".o");
    if (!object && !path.ends_with(".so"))
      throw Error({ErrorKind::kArgument, "save: path must end in .o or .so, not \"" + path + "\"", {}, {}});
    require_saveable(programs_);
    write_file(path, object ? object_ : link_shared(object_).value_or_throw());
    write_file(path.substr(0, path.rfind('.')) + ".h", c_header(programs_, target_));
  }

  const Target& target() const override { return target_; }

 private:
  std::vector<ir::Program> programs_;
  Target target_;
  int opt_level_;
  std::string object_;
  std::vector<std::shared_ptr<const runtime::Kernel>> kernels_;
};

}  // namespace

std::shared_ptr<const Module> make_llvm_module(const std::vector<ir::Program>& lowered, const Target& target,
                                               int opt_level) {
  return std::make_shared<LlvmModule>(lowered, target, opt_level);
}

Result<std::vector<std::shared_ptr<const runtime::Kernel>>> llvm_kernels(const std::vector<ir::Program>& programs,
                                                                         const Target& target, int opt_level) {
  std::vector<ir::Program> named = programs;
  for (size_t i = 0; i < named.size(); ++i) named[i].name = "k" + std::to_string(i);
  TW_TRY(const std::string object, compile(named, target, opt_level, Output::kObject));
  TW_TRY(const std::shared_ptr<const LoadedCode> code, load_object(object, runtime::kernel_symbol("k0")));
  std::vector<std::shared_ptr<const runtime::Kernel>> kernels;
  for (const ir::Program& program : named) kernels.push_back(kernel_in(code, program));
  return kernels;
}

}  // namespace tw::codegen
