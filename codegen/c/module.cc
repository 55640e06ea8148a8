// Modules of the target "c": text, compiled by the system's compiler.
#include <dlfcn.h>

#include "codegen/arg_specs.h"
#include "codegen/c/backend.h"
#include "codegen/c/compiler.h"
#include "codegen/c/source.h"
#include "codegen/c_header.h"
#include "codegen/files.h"
#include "codegen/foreign_kernel.h"
#include "src/ir/externs.h"
#include "src/runtime/find_externs.h"
#include "src/runtime/kernel.h"
#include "src/target/c_compiler.h"

namespace tw::codegen {

namespace {

std::shared_ptr<const runtime::Kernel> kernel_in(const std::shared_ptr<void>& library, const ir::Program& program,
                                                 runtime::Packers packers = {}) {
  void* symbol = dlsym(library.get(), runtime::kernel_symbol(program.name).c_str());
  TW_CHECK(symbol, "the compiled C has no kernel " + program.name);
  return runtime::make_kernel(reinterpret_cast<runtime::KernelFn>(symbol), arg_specs(program), program.name, library,
                              scalar_specs(program),
                              runtime::find_externs(program.name, ir::extern_symbols(program)).value_or_throw(),
                              std::move(packers), ir::requirements_of(program));
}

class CModule : public Module {
 public:
  CModule(std::vector<ir::Program> programs, const Target& target, int opt_level)
      : programs_(std::move(programs)), target_(target), opt_level_(opt_level), source_(c_source(programs_, target)) {
    if (!target_.missing_here().empty()) {
      kernels_ = foreign_kernels(programs_, target_);
      return;
    }
    const std::shared_ptr<void> library = load_c(source_, target_, opt_level_).value_or_throw();
    kernels_ = kernels_of(programs_, [&](const ir::Program& program, runtime::Packers packers) {
      return kernel_in(library, program, std::move(packers));
    });
  }

  std::vector<std::shared_ptr<const runtime::Kernel>> kernels() const override { return kernels_; }

  std::string source(std::string_view kind) const override {
    if (kind == "ir") return texts_of(programs_);
    if (kind == "c") return source_;
    throw Error({ErrorKind::kArgument,
                 "source: kind must be \"ir\" or \"c\" for target c, not \"" + std::string(kind) + "\"",
                 {},
                 {}});
  }

  void save(const std::string& path) const override {
    if (!path.ends_with(".c") && !path.ends_with(".o") && !path.ends_with(".so"))
      throw Error({ErrorKind::kArgument, "save: path must end in .c, .o or .so, not \"" + path + "\"", {}, {}});
    require_saveable(programs_);
    if (path.ends_with(".c")) {
      write_file(path, source_);
    } else {
      const COutput output = path.ends_with(".o") ? COutput::kObject : COutput::kShared;
      replace_file(path, [&](const std::string& fresh) {
        compile_c(source_, target_, opt_level_, output, fresh).value_or_throw();
      });
    }
    write_file(path.substr(0, path.rfind('.')) + ".h", c_header(programs_, target_));
  }

  const Target& target() const override { return target_; }

 private:
  std::vector<ir::Program> programs_;
  Target target_;
  int opt_level_;
  std::string source_;
  std::vector<std::shared_ptr<const runtime::Kernel>> kernels_;
};

}  // namespace

bool has_c_compiler() { return !target::c_compiler().empty(); }

std::shared_ptr<const Module> make_c_module(const std::vector<ir::Program>& lowered, const Target& target,
                                            int opt_level) {
  return std::make_shared<CModule>(lowered, target, opt_level);
}

Result<std::vector<std::shared_ptr<const runtime::Kernel>>> c_kernels(const std::vector<ir::Program>& programs,
                                                                      const Target& target, int opt_level,
                                                                      const std::vector<std::string>& more) {
  std::vector<ir::Program> named = programs;
  for (size_t i = 0; i < named.size(); ++i) named[i].name = "k" + std::to_string(i);
  TW_TRY(const std::shared_ptr<void> library, load_c(c_source(named, target), target, opt_level, more));
  std::vector<std::shared_ptr<const runtime::Kernel>> kernels;
  for (const ir::Program& program : named) kernels.push_back(kernel_in(library, program));
  return kernels;
}

}  // namespace tw::codegen
