#include "codegen/interp_module.h"

#include <cstring>

#include "codegen/arg_specs.h"
#include "codegen/files.h"
#include "src/ir/interp.h"
#include "src/runtime/extents.h"
#include "src/runtime/kernel.h"

namespace tw::codegen {

namespace {

class InterpKernel : public runtime::Kernel, public runtime::Requiring {
 public:
  explicit InterpKernel(const ir::Program& program, runtime::Packers packers = {})
      : program_(program),
        args_(arg_specs(program)),
        scalars_(scalar_specs(program)),
        requirements_(ir::requirements_of(program)),
        packers_(std::move(packers)) {}
  const std::string& name() const override { return program_.name; }
  const std::vector<runtime::ArgSpec>& args() const override { return args_; }
  const std::vector<runtime::ScalarSpec>& scalars() const override { return scalars_; }
  const std::vector<ir::Requirement>& requirements() const override { return requirements_; }
  const runtime::Kernel* packer(size_t argument) const override {
    return argument < packers_.size() ? packers_[argument].get() : nullptr;
  }

  int32_t run(void* const* data) const override {
    std::vector<ir::InterpBuffer> buffers;
    const std::vector<runtime::ArgSpec> specs = runtime::specialised(*this, data + args_.size());
    for (size_t i = 0; i < specs.size(); ++i) buffers.push_back({data[i], specs[i].bytes()});
    ir::InterpOptions options;
    for (size_t s = 0; s < scalars_.size(); ++s) {
      options.scalars.push_back(0);
      std::memcpy(&options.scalars.back(), data[args_.size() + s], static_cast<size_t>(scalars_[s].var.type().bytes()));
    }
    runtime::check_requirements(*this, options.scalars).value_or_throw();
    ir::interpret(program_, buffers, options).value_or_throw();
    return 0;
  }

 private:
  ir::Program program_;
  std::vector<runtime::ArgSpec> args_;
  std::vector<runtime::ScalarSpec> scalars_;
  std::vector<ir::Requirement> requirements_;
  runtime::Packers packers_;
};

class InterpModule : public Module {
 public:
  InterpModule(std::vector<ir::Program> programs, const Target& target)
      : programs_(std::move(programs)), target_(target) {
    kernels_ = kernels_of(programs_, [](const ir::Program& program, runtime::Packers packers) {
      return std::make_shared<InterpKernel>(program, std::move(packers));
    });
  }

  std::vector<std::shared_ptr<const runtime::Kernel>> kernels() const override { return kernels_; }
  const Target& target() const override { return target_; }

  std::string source(std::string_view kind) const override {
    if (kind == "ir") return texts_of(programs_);
    throw Error({ErrorKind::kArgument,
                 "source: kind must be \"ir\" for target interp, not \"" + std::string(kind) + "\"",
                 {},
                 {}});
  }

  void save(const std::string&) const override {
    throw Error({ErrorKind::kArgument, "save: target interp makes no code", {}, {"build with target \"llvm\""}});
  }

 private:
  std::vector<ir::Program> programs_;
  Target target_;
  std::vector<std::shared_ptr<const runtime::Kernel>> kernels_;
};

}  // namespace

std::shared_ptr<const Module> make_interp_module(const std::vector<ir::Program>& programs, const Target& target,
                                                 int /*opt_level*/) {
  return std::make_shared<InterpModule>(programs, target);
}

}  // namespace tw::codegen
