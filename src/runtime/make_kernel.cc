#include <utility>

#include "src/runtime/kernel.h"

namespace tw::runtime {
namespace {

class CompiledKernel final : public Kernel, public Requiring {
 public:
  CompiledKernel(KernelFn fn, std::vector<ArgSpec> args, std::string name, std::shared_ptr<const void> keepalive,
                 std::vector<ScalarSpec> scalars, Externs externs, Packers packers,
                 std::vector<ir::Requirement> requirements)
      : fn_(fn),
        args_(std::move(args)),
        scalars_(std::move(scalars)),
        externs_(std::move(externs)),
        packers_(std::move(packers)),
        requirements_(std::move(requirements)),
        name_(std::move(name)),
        keepalive_(std::move(keepalive)) {}
  const std::string& name() const override { return name_; }
  const std::vector<ArgSpec>& args() const override { return args_; }
  const std::vector<ScalarSpec>& scalars() const override { return scalars_; }
  const std::vector<ir::Requirement>& requirements() const override { return requirements_; }
  const Kernel* packer(size_t argument) const override {
    return argument < packers_.size() ? packers_[argument].get() : nullptr;
  }
  int32_t run(void* const* data) const override {
    const tw_args args{sizeof(tw_args), TW_ABI_VERSION, data};
    if (externs_.empty()) return fn_(&args, host_context());
    tw_context context = *host_context();
    context.externs = externs_.data();
    return fn_(&args, &context);
  }

 private:
  KernelFn fn_;
  std::vector<ArgSpec> args_;
  std::vector<ScalarSpec> scalars_;
  Externs externs_;
  Packers packers_;
  std::vector<ir::Requirement> requirements_;
  std::string name_;
  std::shared_ptr<const void> keepalive_;
};

}  // namespace

std::shared_ptr<const Kernel> make_kernel(KernelFn fn, std::vector<ArgSpec> args, std::string name,
                                          std::shared_ptr<const void> keepalive, std::vector<ScalarSpec> scalars,
                                          Externs externs, Packers packers, std::vector<ir::Requirement> requirements) {
  return std::make_shared<CompiledKernel>(fn, std::move(args), std::move(name), std::move(keepalive),
                                          std::move(scalars), std::move(externs), std::move(packers),
                                          std::move(requirements));
}

}  // namespace tw::runtime
