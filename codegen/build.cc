// schedule -> loop program -> lowered program -> module, with the kernels that pack its inputs.
#include "tensorwright/build.h"

#include <algorithm>

#include "codegen/arg_specs.h"
#include "codegen/backends.h"
#include "codegen/c_header.h"
#include "codegen/kernel_name.h"
#include "schedule/on_target.h"
#include "schedule/pack.h"
#include "src/lower/launches.h"
#include "src/support/deep_stack.h"

namespace tw {

namespace {

// The interpreter is a device as well.
void check_device(const ir::Program& program, const Target& target) {
  if (target.abilities.device || target.kind == "interp" || !lower::holds_launch(program)) return;
  throw Error({ErrorKind::kSchedule,
               "bind: the target must have a device where loops are bound, and \"" + target.to_string() + "\" has none",
               {},
               {"on a CPU, parallel spreads a loop over threads; the targets cuda and interp run what is bound"}});
}

}  // namespace

ir::Program loop_program(const schedule::Schedule& s, const std::vector<te::Tensor>& args, const std::string& name,
                         const std::vector<te::ScalarArgument>& scalars) {
  codegen::check_kernel_name(name).value_or_throw();
  return support::with_deep_stack([&] { return schedule::to_ir(s, args, name, scalars); }).value_or_throw();
}

ir::Program lowered_program(const schedule::Schedule& s, const std::vector<te::Tensor>& args, const Target& target,
                            const std::string& name, const std::vector<te::ScalarArgument>& scalars) {
  const ir::Program program = loop_program(schedule::on_target(s, target), args, name, scalars);
  check_device(program, target);
  const lower::Passes& passes = lower::passes_for(program, codegen::backend_of(target).passes);
  return support::with_deep_stack([&] { return lower::run_pipeline(passes, program, target); });
}

std::vector<ir::Program> pack_programs(const schedule::Schedule& s, const std::vector<te::Tensor>& args,
                                       const Target& target, const ir::Program& kernel) {
  std::vector<ir::Program> programs;
  const std::vector<std::string> names = codegen::packer_names(kernel);
  const lower::Passes& passes = codegen::backend_of(target).passes;
  for (const schedule::PackedParam& packed : schedule::packed_params(s)) {
    const size_t at = std::find(args.begin(), args.end(), packed.tensor) - args.begin();
    if (at >= names.size() || names[at].empty()) continue;
    programs.push_back(support::with_deep_stack([&] {
      const ir::Program program = schedule::pack_program(s, packed.placeholder, names[at]).value_or_throw();
      return lower::run_pipeline(passes, program, target);
    }));
  }
  return programs;
}

std::shared_ptr<const Module> build(const schedule::Schedule& s, const std::vector<te::Tensor>& args,
                                    const Target& target, const std::string& name,
                                    const std::vector<te::ScalarArgument>& scalars) {
  const ir::Program kernel = lowered_program(s, args, target, name, scalars);
  return build(kernel, target, 3, pack_programs(s, args, target, kernel));
}

namespace {

void check_names(const std::vector<ir::Program>& programs, const Target& target) {
  std::vector<codegen::HeaderKernel> kernels;
  for (const ir::Program& program : programs) kernels.push_back({program.name, {{target, program}}});
  if (const std::optional<std::string> clash = codegen::name_clash(kernels))
    throw Error({ErrorKind::kArgument, "build: " + *clash, {}, {}});
}

}  // namespace

std::shared_ptr<const Module> build(const std::vector<KernelDeclaration>& kernels, const Target& target) {
  if (kernels.empty()) throw Error({ErrorKind::kArgument, "build: there must be at least one kernel", {}, {}});
  std::vector<ir::Program> all;
  for (const KernelDeclaration& k : kernels) {
    all.push_back(lowered_program(k.schedule, k.args, target, k.name, k.scalars));
    const std::vector<ir::Program> packers = pack_programs(k.schedule, k.args, target, all.back());
    all.insert(all.end(), packers.begin(), packers.end());
  }
  check_names(all, target);
  return codegen::backend_of(target).make_module(all, target, 3);
}

std::shared_ptr<const Module> build(const ir::Program& lowered, const Target& target, int opt_level,
                                    const std::vector<ir::Program>& packers) {
  codegen::check_kernel_name(lowered.name).value_or_throw();
  std::vector<ir::Program> all = {lowered};
  all.insert(all.end(), packers.begin(), packers.end());
  return codegen::backend_of(target).make_module(all, target, opt_level);
}

}  // namespace tw
