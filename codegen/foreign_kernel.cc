#include "codegen/foreign_kernel.h"

#include "codegen/arg_specs.h"
#include "src/target/cpu.h"

namespace tw::codegen {

namespace {

class ForeignKernel : public runtime::Kernel {
 public:
  ForeignKernel(const ir::Program& program, const Target& target, runtime::Packers packers)
      : name_(program.name),
        args_(arg_specs(program)),
        scalars_(scalar_specs(program)),
        target_(target),
        packers_(std::move(packers)) {}
  const std::string& name() const override { return name_; }
  const std::vector<runtime::ArgSpec>& args() const override { return args_; }
  const std::vector<runtime::ScalarSpec>& scalars() const override { return scalars_; }
  const runtime::Kernel* packer(size_t argument) const override {
    return argument < packers_.size() ? packers_[argument].get() : nullptr;
  }

  int32_t run(void* const*) const override {
    throw Error({ErrorKind::kTarget,
                 name_ + ": this machine cannot run code for " + target_.to_string(),
                 {},
                 {target::why_not_here(target_), "save() writes the kernel for the machine that can"}});
  }

 private:
  std::string name_;
  std::vector<runtime::ArgSpec> args_;
  std::vector<runtime::ScalarSpec> scalars_;
  Target target_;
  runtime::Packers packers_;
};

}  // namespace

std::vector<std::shared_ptr<const runtime::Kernel>> foreign_kernels(const std::vector<ir::Program>& programs,
                                                                    const Target& target) {
  return kernels_of(programs, [&](const ir::Program& program, runtime::Packers packers) {
    return std::make_shared<ForeignKernel>(program, target, std::move(packers));
  });
}

}  // namespace tw::codegen
