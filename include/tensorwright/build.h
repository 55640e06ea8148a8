// From a schedule to a callable kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensorwright/runtime.h"
#include "tensorwright/schedule.h"
#include "tensorwright/target.h"

namespace tw {

// A built kernel with the views of its making.
class Module {
 public:
  virtual ~Module() = default;
  virtual std::shared_ptr<const runtime::Kernel> kernel() const = 0;
  virtual std::string source(std::string_view kind) const = 0;  // "ir", "llvm", "asm"; kArgument otherwise
  virtual void save(const std::string& path) const = 0;         // .o or .so, and a C header beside it
  virtual const Target& target() const = 0;
};

// te + Steps -> loop program (schedule::to_ir) -> lowered program. Python: tw.lower.
ir::Program loop_program(const schedule::Schedule&, const std::vector<te::Tensor>& args, const Target&, const std::string& name = "kernel");

std::shared_ptr<const Module> build(const schedule::Schedule&, const std::vector<te::Tensor>& args, const Target&,
                                    const std::string& name = "kernel");
std::shared_ptr<const Module> build(const ir::Program& lowered, const Target&, int opt_level = 3);

// The schedule that `build(args)` without one uses: public Steps that can be printed.
schedule::Schedule default_schedule(const std::vector<te::Tensor>& outputs, const Target&);

}  // namespace tw
