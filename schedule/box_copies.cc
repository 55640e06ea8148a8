#include "schedule/box_copies.h"

#include <algorithm>

#include "schedule/cluster_of.h"
#include "schedule/memory_strides.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

constexpr int64_t kLargestElement = 8;  // bytes

// `subscript` is the stage's axis plus what stands still; kNone: all of it does.
std::optional<AxisId> axis_in(const StageNest& stage, const ir::Expr& subscript) {
  AxisId found = kNone;
  for (AxisId axis = 0; axis < stage.data_rank; ++axis) {
    if (!ir::uses_var(subscript, stage.axes[axis].var)) continue;
    if (found != kNone) return std::nullopt;
    found = axis;
  }
  if (found == kNone) return kNone;
  const ir::Var& var = stage.axes[found].var;
  const ir::Expr rest = ir::simplify(subscript - ir::Expr(var));
  return ir::uses_var(rest, var) ? std::nullopt : std::optional(found);
}

std::vector<ir::Expr> strides_of(const ir::Buffer& tensor) {
  std::vector<ir::Expr> strides = tensor.strides();
  ir::Expr stride = 1;
  for (size_t d = strides.empty() ? tensor.rank() : 0; d-- > 0; stride = ir::simplify(stride * tensor.shape()[d]))
    strides.insert(strides.begin(), stride);
  return strides;
}

// Of what a stage keeps whole, for which storage_align may ask.
std::vector<ir::Expr> strides_of(const StageNest& from, const ir::Buffer& tensor) {
  return from.alignments.empty() ? strides_of(tensor) : aligned_strides(from, tensor.shape());
}

const ir::Load* copied(const Placement& placed, int stage) {
  return placed.bodies[stage].size() == 1 ? ir::as<ir::Load>(placed.bodies[stage][0]) : nullptr;
}

}  // namespace

std::optional<NoBox> no_box(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i) {
  const StageNest& stage = nest.stage(i);
  const std::string other = "by=\"auto\" takes copies of threads";
  const ir::Load* load = copied(placed, i);
  if (!load) return NoBox{"each value must be an element as it is read", other};
  const int source = placed.reads[i].at(0).source;
  const StageNest& from = nest.stage(source);
  const ir::Buffer& tensor = load->buffer;
  const int64_t bytes = tensor.element().bytes();
  if (!from.is_placeholder() && placed.parent[source] != kNone)
    return NoBox{"it must read memory of the device, not " + from.name, other};
  if (from.layout || stage.layout || !stage.alignments.empty())
    return NoBox{
        "boxes lie as they are declared, and " + (from.layout ? from.name : stage.name) + " has another layout",
        "swizzle keeps columns out of one bank"};
  if (tensor.element().is_packed() || bytes > kLargestElement) return NoBox{"its elements must be whole bytes", other};
  if (tensor.rank() > static_cast<size_t>(ir::kMostBoxAxes))
    return NoBox{"a box has at most five dimensions, and " + from.name + " has " + std::to_string(tensor.rank()),
                 other};
  for (const Axis& axis : stage.axes)
    if (is_bound(axis.annotation))
      return NoBox{"one thread begins it, and " + axis.name + " is bound to threads", "leave its loops unbound"};
  AxisId before = kNone, last = kNone;
  for (const ir::Expr& subscript : load->at) {
    const std::optional<AxisId> axis = axis_in(stage, subscript);
    if (!axis || (*axis != kNone && *axis <= before))
      return NoBox{"its axes must run along dimensions of " + from.name + ", in their order; it reads " +
                       ir::to_string(ir::Expr(placed.bodies[i][0])),
                   other};
    if (*axis != kNone) before = *axis;
    last = *axis;
  }
  if (before != stage.data_rank - 1 || last != before)
    return NoBox{"its last axis must run along the last dimension of " + from.name, other};
  const Swizzling swizzling = swizzling_of(nest, placed, i, all.stages[i].extent);
  for (AxisId axis = 0; axis < stage.data_rank; ++axis) {
    const Extent& extent = all.stages[i].extent[axis];
    if (axis == last && swizzling.panels > 1) continue;  // a box for each
    if (!extent.known() || extent.value() > ir::kMostOfBox)
      return NoBox{"a box has at most 256 elements along a dimension, and " + stage.axes[axis].name + " has " +
                       to_string(extent),
                   "split the loop that it is computed in"};
  }
  const int64_t row = swizzling.panels > 1 ? swizzling.row_bytes : all.stages[i].extent[last].value() * bytes;
  if (row % ir::kBoxUnit != 0)
    return NoBox{
        "rows of a box must be multiples of 16 bytes, and those of " + stage.name + " have " + std::to_string(row),
        other};
  for (size_t d = 0; all.stages[i].filled && d < load->at.size(); ++d) {
    const AxisId axis = *axis_in(stage, load->at[d]);
    const bool ends_with_it =
        axis != kNone && ir::as<ir::VarRef>(load->at[d]) && stage.axes[axis].extent == Extent(tensor.shape()[d]);
    const bool ends_before =
        std::ranges::any_of(all.stages[i].terms, [&](const TermsEnd& terms) { return terms.axis == axis; });
    if (axis != kNone && (!ends_with_it || ends_before))
      return NoBox{"past the end of " + stage.axes[axis].name + " there must be zeros, and " + from.name +
                       " has elements there: it reads " + ir::to_string(ir::Expr(placed.bodies[i][0])),
                   other};
  }
  const std::vector<ir::Expr> strides = strides_of(from, tensor);
  for (size_t d = 0; d + 1 < strides.size(); ++d)
    if (const auto stride = ir::as_int(strides[d]); stride && *stride * bytes % ir::kBoxUnit != 0)
      return NoBox{"rows of " + from.name + " must begin at multiples of 16 bytes, and they are " +
                       std::to_string(*stride * bytes) + " bytes apart",
                   "pad " + from.name + ", or by=\"cp.async\" or \"ldg\""};
  if (!ir::is_int(strides.back(), 1)) return NoBox{"neighbours of " + from.name + " must lie side by side", other};
  if (const int64_t swizzle = swizzling.bytes(); swizzle != 0 && swizzle != row)
    return NoBox{"a box's rows are swizzled whole, and those of " + stage.name + " have " + std::to_string(row) +
                     " bytes, not " + std::to_string(swizzle),
                 "make them 32, 64 or 128 bytes long, or swizzle(\"none\")"};
  return std::nullopt;
}

bool is_always_box(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i) {
  if (no_box(nest, placed, all, i)) return false;
  const StageNest& from = nest.stage(placed.reads[i].at(0).source);
  const std::vector<ir::Expr> strides = strides_of(from, copied(placed, i)->buffer);
  return std::ranges::all_of(strides, [](const ir::Expr& stride) { return ir::as_int(stride).has_value(); });
}

BoxOfStage box_of(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i) {
  const StageNest& stage = nest.stage(i);
  BoxOfStage box;
  box.source = placed.reads[i].at(0).source;
  box.load = placed.bodies[i][0];
  for (const ir::Expr& subscript : ir::as<ir::Load>(box.load)->at) box.axes.push_back(*axis_in(stage, subscript));
  box.swizzling = swizzling_of(nest, placed, i, all.stages[i].extent);
  return box;
}

std::vector<ir::Expr> box_strides(const Swizzling& swizzling, const std::vector<Extent>& kept, ir::Type element) {
  std::vector<ir::Expr> strides;
  int64_t elements = 1;
  for (size_t d = kept.size(); d-- > 0; elements *= kept[d].value())
    strides.insert(strides.begin(), ir::Expr(elements));
  const int64_t unit = ir::box_alignment(swizzling.bytes()) / element.bytes();
  if (elements % unit == 0) return {};
  strides.insert(strides.begin(), ir::Expr((elements + unit - 1) / unit * unit));
  return strides;
}

ir::Stmt begin_turn(const LoopNest& nest, const Placement& placed, const NestBounds& all, const Storage& kept,
                    const std::optional<ClusterOf>& cluster, const std::vector<int>& stages, const ir::Buffer& full,
                    const ir::Expr& of) {
  const Slide& slide = kept.slide(stages[0]);
  ir::AsyncCall begin;
  begin.op = ir::AsyncOp::kExpect;
  begin.ring = {full, {ir::Expr(0)}, true, true};
  begin.slots = slide.slots;
  begin.turn = of;
  std::vector<ir::Stmt> loads;
  for (const int i : stages) {
    const StageNest& stage = nest.stage(i);
    const StageBounds& bounds = all.stages[i];
    const BoxOfStage box = box_of(nest, placed, all, i);
    ir::Substitution first = slide.in_turn(of), begins;
    for (AxisId axis = 0; axis < stage.data_rank; ++axis)
      begins[stage.axes[axis].var.id()] = ir::substitute(bounds.lo[axis], first);
    const ir::Buffer& tensor = kept.buffers(box.source)[0];
    const std::vector<ir::Expr> strides = strides_of(tensor);
    ir::AsyncCall load = begin;
    load.op = ir::AsyncOp::kLoad;
    load.swizzle = box.swizzling.bytes();
    std::vector<ir::Expr> slot(kept.buffers(i)[0].rank(), ir::Expr(0));
    slot[0] = ir::simplify(ir::floormod(of, ir::Expr(slide.slots)), all.ranges);
    load.to = {kept.buffers(i)[0], slot, false, true};
    load.from = {tensor, std::vector<ir::Expr>(tensor.rank(), ir::Expr(0)), true, false};
    const std::vector<ir::Expr>& at = ir::as<ir::Load>(box.load)->at;
    for (size_t d = 0; d < at.size(); ++d)
      load.axes.push_back({ir::simplify(ir::substitute(at[d], begins), all.ranges),
                           box.axes[d] == kNone ? 1 : bounds.extent[box.axes[d]].value(), tensor.shape()[d],
                           strides[d]});
    const int64_t panels = box.swizzling.panels;
    begin.bytes += ir::elements_of(load) * tensor.element().bytes();
    load.axes.back().box /= panels;
    if (const auto part = cluster ? part_of_box(*cluster, nest, all, i, box) : std::nullopt) {
      const ir::Expr begins_at = ir::Expr(cluster->loops[0]) * ir::Expr(part->extent);
      ir::BoxAxis& parted = load.axes[part->dimension];
      parted.box = part->extent;
      parted.at = ir::simplify(parted.at + begins_at, all.ranges);
      load.to.at[static_cast<size_t>(box.axes[part->dimension]) + (panels > 1 ? 2 : 1)] = begins_at;
      load.in_cluster = true;
    }
    const ir::Expr column = load.axes.back().at;
    for (int64_t panel = 0; panel < panels; ++panel) {
      if (panels > 1) load.to.at[1] = ir::Expr(panel);
      load.axes.back().at = ir::simplify(column + ir::Expr(panel * load.axes.back().box), all.ranges);
      loads.push_back(ir::async_stmt(load));
    }
  }
  loads.insert(loads.begin(), ir::async_stmt(begin));
  return ir::seq(std::move(loads));
}

}  // namespace tw::schedule
