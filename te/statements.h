// Definitions as statements, for the naive program and for schedules.
#pragma once

#include <vector>

#include "src/ir/walk.h"
#include "te/scan.h"
#include "tensorwright/te.h"

namespace tw::te {

// buffers[i][at] = values[i], where all values are there before the first of them is written.
ir::Stmt store_all(const std::vector<Buffer>& buffers, const std::vector<Expr>& at, const std::vector<Expr>& values);

// All elements of a compute, each by its definition, in the order of the axes. `to`: a buffer for each output; loads
// are redirected as `buffers` says.
ir::Stmt statement(const Compute&, const std::vector<Buffer>& to, const ir::BufferMap& buffers);

// What the user wrote of an extern stage.
ir::Stmt statement(const Extern&, const ir::BufferMap& buffers);

// All times of a scan, at each of them first the stages of its body. `at`: where each tensor is kept.
ir::Stmt statement(const ScanBody&, const ir::BufferMap& buffers);

}  // namespace tw::te
