// From a schedule to a callable kernel.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/runtime.h"
#include "tensorwright/schedule.h"
#include "tensorwright/target.h"

namespace tw {

// One kernel or several that were built together, with the views of their making. Immutable; may be used from several
// threads.
class Module {
 public:
  virtual ~Module() = default;
  // In the order in which they were given, never none. Of code for a CPU that this machine is not they say what they
  // take and throw kTarget when they are run; save and source, which are of all of them, work.
  virtual std::vector<std::shared_ptr<const runtime::Kernel>> kernels() const = 0;
  std::shared_ptr<const runtime::Kernel> kernel() const { return kernels().front(); }
  virtual std::string source(std::string_view kind) const = 0;  // "ir", "llvm", "asm"; kArgument otherwise
  virtual void save(const std::string& path) const = 0;         // .o or .so, and a C header beside it
  virtual const Target& target() const = 0;
};

// te + Steps -> loop program (schedule::to_ir), the loops as scheduled. Python: tw.lower(s, args).
ir::Program loop_program(const schedule::Schedule&, const std::vector<te::Tensor>& args,
                         const std::string& name = "kernel", const std::vector<te::ScalarArgument>& scalars = {});
// The loop program after all passes of src/lower: what `build` compiles. Python: tw.lower(s, args, target).
ir::Program lowered_program(const schedule::Schedule&, const std::vector<te::Tensor>& args, const Target&,
                            const std::string& name = "kernel", const std::vector<te::ScalarArgument>& scalars = {});

// The kernels NAME_pack_B that pack an input B into the layout that the schedule chose for it, after all passes.
// `kernel` is the lowered program of the same schedule; inputs that stay as they are need none.
std::vector<ir::Program> pack_programs(const schedule::Schedule&, const std::vector<te::Tensor>& args, const Target&,
                                       const ir::Program& kernel);

// All of these throw tw::Error. A name is a C identifier; kernels of equal names do not meet.
std::shared_ptr<const Module> build(const schedule::Schedule&, const std::vector<te::Tensor>& args, const Target&,
                                    const std::string& name = "kernel",
                                    const std::vector<te::ScalarArgument>& scalars = {});
// Several kernels of different names, as one object.
struct KernelDeclaration {
  std::string name;
  schedule::Schedule schedule;
  std::vector<te::Tensor> args;
  std::vector<te::ScalarArgument> scalars;
};
std::shared_ptr<const Module> build(const std::vector<KernelDeclaration>&, const Target&);
std::shared_ptr<const Module> build(const ir::Program& lowered, const Target&, int opt_level = 3,
                                    const std::vector<ir::Program>& packers = {});

// The schedule that `tw.build(args)` without one uses: public Steps that can be printed. The best of the automatic
// space (autotune.h) by the tuner's prior, which measures nothing; where extents are variables, of that of an assumed
// size, or by rules where there is none. The same tensors and target give the same schedule on any machine.
schedule::Schedule default_schedule(const std::vector<te::Tensor>& outputs, const Target&);

}  // namespace tw
