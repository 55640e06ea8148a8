// Rounding up what a stage computes, and what that asks of the stage.
#include "schedule/pad.h"

#include <algorithm>

#include "schedule/layout.h"
#include "schedule/refuse.h"
#include "src/ir/equal.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

// A stage of more elements than this is what padding made of it, not what anybody wants.
constexpr double kMostElements = 1LL << 40;

// Of a data axis.
const SplitRelation* padding_split(const StageNest& stage) {
  for (const Relation& relation : stage.relations)
    if (const auto* split = std::get_if<SplitRelation>(&relation);
        split && split->tail == Tail::kPad && !stage.axes[split->parent].reduction)
      return split;
  return nullptr;
}

// The splits of an axis, of the outer loop that this leaves, and so on, as far as one of them pads.
std::vector<const SplitRelation*> padding_splits(const StageNest& stage, AxisId axis) {
  std::vector<const SplitRelation*> splits;
  while (const Relation* relation = stage.relation_from(axis)) {
    const auto* split = std::get_if<SplitRelation>(relation);
    if (!split) break;
    splits.push_back(split);
    axis = split->outer;
  }
  while (!splits.empty() && splits.back()->tail != Tail::kPad) splits.pop_back();
  return splits;
}

// The inner extents of these splits: the axis becomes a multiple of their product.
std::vector<Extent> parts_of(const StageNest& stage, AxisId axis, const Extent& extent) {
  std::vector<Extent> parts;
  Extent left = extent;
  for (const SplitRelation* split : padding_splits(stage, axis)) {
    const auto [outer, inner] = split_extents(left, *split);
    left = outer;
    parts.push_back(inner);
  }
  return parts;
}

// The root axis whose outermost loop `axis` is; kNone when it is another part of it, or of several.
AxisId whole_axis(const StageNest& stage, AxisId axis) {
  for (auto relation = stage.relations.rbegin(); relation != stage.relations.rend(); ++relation) {
    const auto* split = std::get_if<SplitRelation>(&*relation);
    if (split && split->outer == axis && !split->by_parts()) axis = split->parent;
  }
  return axis < stage.data_rank + stage.reduce_rank ? axis : kNone;
}

// Of which a zero is the identity.
bool is_sum(const StageNest& stage) {
  const ir::Reduce* reduce = stage.bodies.size() == 1 ? stage.reduction() : nullptr;
  return reduce && reduce->op == ir::ReduceOp::kSum;
}

// Whether all that the stage reads at `index` is there, padding included.
class Reads {
 public:
  Reads(const LoopNest& nest, const Placement& placed, const NestBounds& all, int stage)
      : nest_(nest), placed_(placed), all_(all), stage_(stage) {
    const std::vector<Axis>& axes = nest.stage(stage).axes;
    for (size_t axis = 0; axis < all.stages[stage].index.size(); ++axis)
      if (axes[axis].extent.known()) domain_[axes[axis].var.id()] = {0, axes[axis].extent.value_or(1) - 1};
  }

  bool exist() const {
    const std::vector<ir::Expr>& bodies = placed_.bodies[stage_];
    if (std::any_of(bodies.begin(), bodies.end(), calls_out)) return false;
    ir::Substitution index;
    for (size_t axis = 0; axis < all_.stages[stage_].index.size(); ++axis)
      index[nest_.stage(stage_).axes[axis].var.id()] = all_.stages[stage_].index[axis];
    return std::all_of(placed_.reads[stage_].begin(), placed_.reads[stage_].end(), [&](const Read& read) {
      const std::vector<ir::Expr>& defined = ir::as<ir::Load>(read.load)->at;
      std::vector<ir::Expr> at;
      for (const ir::Expr& subscript : defined) at.push_back(ir::substitute(subscript, index));
      return exists(read.source, defined, at);
    });
  }

 private:
  // A user's function is promised what the definition gives it.
  static bool calls_out(const ir::Expr& body) {
    bool found = false;
    ir::walk(body, [&](const ir::Expr& e) {
      found |= ir::as<ir::CallExtern>(e) != nullptr;
      return !found;
    });
    return found;
  }

  // The definition's subscripts, and the same in terms of loops.
  bool exists(int source, const std::vector<ir::Expr>& defined, const std::vector<ir::Expr>& at) const {
    const StageNest& stage = nest_.stage(source);
    if (stage.store_predicate) return false;
    const std::vector<Extent> laid_out = room(source);
    for (size_t d = 0; d < at.size(); ++d) {
      if (ir::has_load(at[d])) return false;
      const Extent extent(stage.op->shape()[d]);
      if (!laid_out.empty() && !(laid_out[d] == extent)) {
        const ir::Expr end = laid_out[d].expr();
        if (!always_within(defined[d], end) && !within(at[d], end)) return false;
        continue;
      }
      const bool padded = is_padded(stage, static_cast<AxisId>(d));
      const bool always = std::all_of(stage.buffers.begin(), stage.buffers.end(), [&](const ir::Buffer& buffer) {
        return always_within(defined[d], buffer.shape()[d]);  // those of a scan may differ
      });
      for (const ir::Buffer& buffer : stage.buffers)
        if (!padded && !always && !within(at[d], buffer.shape()[d])) return false;
      const StageBounds& bounds = all_.stages[source];
      if (bounds.lo.empty() || (always && is_whole(bounds, d, extent))) continue;  // a placeholder, or all of a stage
      if (!within(at[d] - bounds.lo[d], bounds.extent[d].expr())) return false;
    }
    return true;
  }

  static bool is_whole(const StageBounds& bounds, size_t d, const Extent& extent) {
    return bounds.lo.empty() || (ir::is_int(bounds.lo[d], 0) && bounds.extent[d] == extent);
  }

  // What a layout rounds the extents of the whole stage up to, whose rest holds its pad value; empty where it has none,
  // or is over a part of the stage.
  std::vector<Extent> room(int source) const {
    const StageNest& stage = nest_.stage(source);
    if (!stage.layout) return {};
    const std::vector<Extent> extents(stage.op->shape().begin(), stage.op->shape().end());
    for (size_t d = 0; d < extents.size(); ++d)
      if (!is_whole(all_.stages[source], d, extents[d])) return {};
    const Result<IndexMap> map = index_map(*stage.layout, extents);
    return map.ok() ? map->padded : std::vector<Extent>{};
  }

  // Wherever it is computed: axes that are not padded stay in the stage's domain, however their loops are cut.
  bool always_within(const ir::Expr& value, const ir::Expr& extent) const {
    const StageNest& stage = nest_.stage(stage_);
    for (AxisId d = 0; d < stage.data_rank; ++d)
      if (is_padded(stage, d) && ir::uses_var(value, stage.axes[d].var)) return false;
    return ir::can_prove(value >= ir::Expr(0), domain_) && ir::can_prove(value < extent, domain_);
  }

  bool within(const ir::Expr& value, const ir::Expr& extent) const {
    const ir::Expr at = ir::simplify(value, all_.ranges);
    const std::vector<ir::Expr>& facts = all_.stages[stage_].facts;
    return ir::can_prove(at >= ir::Expr(0), all_.ranges, facts) && ir::can_prove(at < extent, all_.ranges, facts);
  }

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  const int stage_;
  ir::Bounds domain_;  // of the axes of the definition
};

// About as many as the stage has once its axes are rounded up; symbolic ones count as 1.
double elements(const StageNest& stage) {
  double count = 1;
  for (AxisId d = 0; d < stage.data_rank; ++d) {
    const Extent& n = stage.axes[d].extent;
    double multiple = 1;
    for (const Extent& part : parts_of(stage, d, n)) multiple *= static_cast<double>(part.value_or(1));
    count *= static_cast<double>(n.value_or(1)) + multiple;
  }
  return count;
}

}  // namespace

bool is_padded(const StageNest& stage, AxisId axis) { return !padding_splits(stage, axis).empty(); }

void round_up(const StageNest& stage, StageBounds& bounds) {
  for (AxisId d = 0; d < stage.data_rank; ++d) {
    Extent multiple = 1;
    for (const Extent& part : parts_of(stage, d, bounds.extent[d])) multiple = multiple * part;
    if (!(multiple == 1)) bounds.extent[d] = ceil_div(bounds.extent[d], multiple) * multiple;
  }
}

ir::Expr defined_part(const LoopNest& nest, const Placement& placed, const NestBounds& all, int i) {
  const StageNest& stage = nest.stage(i);
  ir::Expr inside;
  const auto require = [&](const ir::Expr& condition) {
    const ir::Expr holds = ir::simplify(condition, all.ranges);
    if (ir::can_prove(holds, all.ranges, all.stages[i].facts)) return;
    inside = inside ? inside && holds : holds;
  };
  for (AxisId d = 0; d < stage.data_rank; ++d) {
    if (!is_padded(stage, d) && !all.stages[i].filled) continue;
    require(all.stages[i].index[d] >= ir::Expr(0));
    require(all.stages[i].index[d] < stage.axes[d].extent.expr());
  }
  for (const TermsEnd& terms : all.stages[i].terms) require(all.stages[i].index[terms.axis] < terms.end);
  if (!inside) return inside;
  if (all.stages[i].filled) return inside;  // others would not be zeros
  return Reads(nest, placed, all, i).exist() ? ir::Expr() : inside;
}

ir::Expr where_defined(const ir::Expr& part, const ir::Expr& value) {
  const auto* choice = ir::as<ir::Select>(value);  // a copy that has padding of its own is a copy under one condition
  if (choice && ir::equal(ir::simplify(choice->no), ir::zero(value.type())) && !ir::has_load(choice->cond))
    return ir::select(part && choice->cond, choice->yes, choice->no);
  return ir::select(part, value, ir::zero(value.type()));
}

Status check_pad(const LoopNest& nest, const char* step, int i, AxisId axis, const Extent& factor,
                 const Extent& parts) {
  const StageNest& stage = nest.stage(i);
  const auto wrong = [&](const std::string& rule) { return refuse(step, rule) << describe(stage, axis); };
  const bool reduction = stage.axes[axis].reduction;
  if (reduction && !is_sum(stage))
    return wrong("tail pad of a reduction axis must be that of a sum, and " + stage.name + " is none")
           << "pad adds terms that are zeros. Use guard, mask or peel.";
  if (stage.output && !reduction)
    return wrong("tail of an output's loop must be guard, mask, peel or shift_inward, not pad")
           << "its caller knows its shape: there is no place past the end"
           << "cache_write " + stage.name + " and pad the cache, or use another tail";
  if (stage.op->scan())
    return wrong("tail of a scan's loop must be guard, mask, peel or shift_inward, not pad")
           << "its states have the shape that its definition gives them";
  if (whole_axis(stage, axis) == kNone)
    return wrong("tail pad must be that of an axis, or of the outer loop that splits by factor left of one, not of " +
                 stage.axes[axis].name)
           << "what is past the end of " + stage.axes[axis].name + " belongs to other iterations"
           << "pad the axis of the stage before it is split or fused, or use guard, mask or peel";
  StageNest next = stage;
  next.relations.push_back(
      SplitRelation{axis, static_cast<AxisId>(next.axes.size()), kNone, factor, parts, Tail::kPad});
  for (const SplitRelation* split : padding_splits(next, whole_axis(stage, axis)))
    for (const Extent& size : {split->factor, split->parts})
      if (!size.known())
        return wrong("tail must be guard, mask, peel or shift_inward where a size is no number, as " + to_string(size) +
                     " is")
               << "how far pad reaches is how much memory the stage takes, and what reads it must know";
  if (elements(next) > std::max(kMostElements, 2 * elements(stage)))
    return wrong("tail pad must leave the stage a size that memory has")
           << "the axis becomes a multiple of " + to_string(factor == 0 ? parts : factor);
  return Unit{};
}

Status check_pads(const LoopNest& nest, const Placement& placed, const std::vector<int>& given,
                  const std::vector<Step>& steps) {
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    const SplitRelation* split = placed.live(i) ? padding_split(stage) : nullptr;
    if (!split) continue;
    const auto wrong = [&](const std::string& rule, const std::string& why) {
      return blame(refuse(Split::kName, "tail of a loop of " + stage.name + " must not be pad; " + rule)
                       << describe(stage, split->parent) << why << "use guard, mask or peel",
                   steps, split->step);
    };
    if (std::find(given.begin(), given.end(), i) != given.end())
      return wrong(stage.name + " is an argument", "its caller knows its shape: there is no place past the end");
    if (placed.scan[i] != kNone)
      return wrong("it is computed in the time loop of the scan " + nest.stage(placed.scan[i]).name,
                   "later states are not there yet");
    if (stage.rolling != kNone)
      return wrong("rolling_buffer keeps it", "the rows past the end would stand where others are");
    for (int reader : placed.readers[i])
      if (nest.stage(reader).op->external())
        return wrong("the extern stage " + nest.stage(reader).name + " reads it",
                     "the function finds its inputs as they are declared");
  }
  return Unit{};
}

}  // namespace tw::schedule
