#include "schedule/group_operands.h"

#include <algorithm>

#include "schedule/refuse.h"
#include "schedule/swizzling.h"
#include "src/ir/async_copies.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

constexpr int64_t kLeastLine = 32, kMostLine = 128;  // bytes

// How far one step along the loop moves a subscript, where that is a number.
int64_t step_of(const ir::Expr& subscript, const ir::Var& loop, const ir::Bounds& ranges) {
  const ir::Expr next = ir::substitute(subscript, {{loop.id(), ir::Expr(loop) + ir::Expr(1)}});
  return ir::as_int(ir::simplify(next - subscript, ranges)).value_or(-1);
}

}  // namespace

Result<ir::GroupOperand> group_operand(const LoopNest& nest, const Placement& placed, const NestBounds& all, int stage,
                                       const WarpOperands& operands, const ir::WarpProduct& product,
                                       ir::Fragment which) {
  const std::string name(product.name);
  const auto wrong = [&](const std::string& rule) {
    return refuse(Tensorize::kName, "operands of " + name + " must " + rule);
  };
  const auto& load = *ir::as<ir::Load>(which == ir::Fragment::kLeft ? operands.left : operands.right);
  const ir::Var& across = which == ir::Fragment::kLeft ? operands.m : operands.n;
  int source = kNone;
  for (const Read& read : placed.reads[stage])
    if (ir::as<ir::Load>(read.load)->buffer == load.buffer) source = read.source;
  const StageNest& from = nest.stage(source);
  if (from.is_placeholder() || placed.parent[source] == kNone || placed.scope[source] != Scope::kShared)
    return wrong("be in shared memory, and " + from.name + " is not")
           << "tensor cores read them there themselves"
           << "cache_read(" + from.name + ", \"shared\", [" + nest.stage(stage).name +
                  "]), compute_at a loop of the reduction, and swizzle()";
  if (product.operand == product.sum && (placed.readers[source].size() != 1 || from.is_reduction()))
    return wrong("be rounded where they are kept, and " + from.name +
                 (from.is_reduction() ? " is a sum" : " is read by others too"))
           << "tensor cores leave out the bits that te.tf32 rounds off"
           << "cache_read(" + from.name + ", \"shared\", [" + nest.stage(stage).name + "])";
  const std::vector<Extent>& region = all.stages[source].extent;
  const auto rank = static_cast<size_t>(from.data_rank);
  const int64_t bytes = product.operand.bytes(), row = rank < 2 ? 0 : region[rank - 1].value_or(0) * bytes;
  if (from.layout || row == 0 || row % kLeastLine != 0)
    return wrong("have rows of multiples of 32 bytes, and those of " + from.name + " have " +
                 (from.layout || row == 0 ? "no such size" : std::to_string(row)))
           << "split the loop that " + from.name + " is computed in, so that a row has " +
                  std::to_string(kMostLine / bytes) + " elements; transform_layout has no part in it";
  const Swizzling swizzling = swizzling_of(nest, placed, source, region);
  const int64_t line = swizzling.bytes();
  if (line == 0)
    return wrong("be swizzled, and " + from.name + " is not")
           << "its rows have " + std::to_string(row) + " bytes" << "s[" + from.name + "].swizzle()";
  const auto steps = [&](const ir::Var& last, const ir::Var& other) {
    for (size_t d = 0; d < rank; ++d)
      if (step_of(load.at[d], last, all.ranges) != (d + 1 == rank ? 1 : 0) ||
          step_of(load.at[d], other, all.ranges) != (d + 2 == rank ? 1 : 0))
        return false;
    return true;
  };
  ir::GroupOperand out{{}, line, steps(operands.k, across), 1};
  if (!out.along_lines && !steps(across, operands.k))
    return wrong("be matrices of the last two dimensions, and " + from.name + " is read otherwise")
           << "found: " + ir::to_string(ir::Expr(which == ir::Fragment::kLeft ? operands.left : operands.right));
  if (!out.along_lines && bytes != 2)
    return wrong("have the terms along their rows, and " + from.name + " has them along its columns")
           << "only of elements of 16 bits a row may be a step of the reduction"
           << "transpose " + from.name + " in the stage that it reads";
  const int64_t width = which == ir::Fragment::kLeft ? product.m : product.n;
  if (!out.along_lines && width * bytes % line != 0)
    return wrong("be as wide as lines of " + std::to_string(line) +
                 " bytes, or several of them, where rows are steps " + "of the reduction, and that in " + from.name +
                 " has " + std::to_string(width * bytes))
           << "take an instruction of a multiple of " + std::to_string(line / bytes) + " columns, or tiles of " +
                  std::to_string(width) + "; or transpose " + from.name + " in the stage that it reads";
  if (!out.along_lines && width * bytes > line) out.apart = swizzling.lines;
  ir::Substitution first = {{across.id(), 0}, {operands.k.id(), 0}};
  const auto is_multiple = [&](size_t d, int64_t of) {
    const ir::Expr begin = ir::substitute(load.at[d], first) - all.stages[source].lo[d];
    return ir::is_int(ir::simplify(ir::floormod(ir::simplify(begin, all.ranges), ir::Expr(of)), all.ranges), 0);
  };
  const int64_t part = !out.along_lines ? line / bytes : swizzling.panels > 1 ? product.k : ir::kBoxUnit / bytes;
  if (!is_multiple(rank - 2, ir::kLinesOfAtom) || !is_multiple(rank - 1, part) ||
      region[rank - 2].value_or(1) % ir::kLinesOfAtom != 0)
    return wrong("begin at rows that are multiples of eight, and those in " + from.name + " do not")
           << "compute " + from.name + " for whole tiles only";
  return out;
}

namespace {

// The product of four warps that reads it; null: there is none.
const ir::WarpProduct* product_that_reads(const LoopNest& nest, const Placement& placed, int stage) {
  for (int reader = 0; reader < nest.size(); ++reader) {
    const ir::WarpProduct* product = placed.live(reader) ? warp_product_of(nest.stage(reader)) : nullptr;
    if (product == nullptr || product->lanes == ir::kLanesOfWarp) continue;
    if (std::ranges::any_of(placed.reads[reader], [&](const Read& read) { return read.source == stage; }))
      return product;
  }
  return nullptr;
}

}  // namespace

bool is_group_operand(const LoopNest& nest, const Placement& placed, int stage) {
  return product_that_reads(nest, placed, stage) != nullptr;
}

bool is_rounded_operand(const LoopNest& nest, const Placement& placed, int stage) {
  const auto* rounded = placed.bodies[stage].size() == 1 ? ir::as<ir::Call>(placed.bodies[stage][0]) : nullptr;
  return rounded && rounded->fn == ir::Fn::kTF32 && is_group_operand(nest, placed, stage);
}

}  // namespace tw::schedule
