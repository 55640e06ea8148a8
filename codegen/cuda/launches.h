// A lowered program taken apart: what the host decides, and what runs on the device.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

struct DeviceLaunch {
  std::vector<ir::For> axes;                       // outermost first
  ir::Expr when;                                   // of scalars
  std::vector<std::pair<ir::Var, ir::Expr>> lets;  // around it, of the host
  ir::Stmt body;
  ir::Expr extent(ir::ForKind) const;    // 1 where the launch has no such axis
  ir::Stmt within_lets(ir::Stmt) const;  // behind those that it uses
  ir::Stmt nest() const;                 // all of it
};

struct DeviceProgram {
  std::vector<DeviceLaunch> launches;
  std::vector<ir::Buffer> scratch;  // global memory, extents over scalars
};

// Throws tw::Error for what runs on no device, for C functions, and for a launch with more threads than a block of the
// target may have.
DeviceProgram device_program(const ir::Program&, const Target&);

// How many blocks of so many threads a processor is to have room for. All warps of one wait at once for what they sum
// up together; of two or three, where registers and shared memory are enough for what they keep, others go on.
int64_t blocks_at_once(const ir::Stmt& body, int64_t threads, int64_t shared_bytes, const Target&);

// A launch as a program of its own, for whatever arrays and sizes it is called with: behind its own scalars stand how
// many elements each array has, and then, outermost first, those extents of its axes that are no constants.
ir::Program launch_program(const DeviceLaunch&, const std::string& name, const std::vector<ir::Param>& arrays,
                           const std::vector<ir::Var>& scalars);

}  // namespace tw::codegen
