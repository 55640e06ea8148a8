//   alloc P: float32[60, 30]                  alloc P: float32[4, 30, 16]
//   for i in 0..60:                           for i.o in 0..4:
//     for j in 0..30:                           for j in 0..30:
//       P[i, j] = f(i, j)             ==>         for i.i in 0..16: if i.o*16 + i.i < 60:
//   ... P[x, y] ...                                 P[i.o, j, i.i] = f(i.o*16 + i.i, j)
//                                             ... P[x // 16, y, x % 16] ...
//
// Only where the elements stand in memory changes: the map gives each a place of its own (layout.h), and every store
// and load goes through it. Loops of which no Step has spoken yet are made again in the order of the memory; others
// stay. Places without an element (rows 60..64 here) get the declared value. Of a placeholder that is a parameter the
// caller packs the memory (pack.h).

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "schedule/layout.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/ir/parse.h"

namespace tw::schedule::primitives {

namespace {

// Whether the text is a value of the type.
bool is_value_of(const std::string& text, ir::Type type) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return false;
  if (type.is_float() || type.is_float8()) return true;
  const double above = type.is_bool() ? 2 : std::ldexp(1.0, type.is_uint() ? type.bits : type.bits - 1);
  return value == std::floor(value) && value < above && value >= (type.is_int() ? -above : 0);
}

Status check_stage(const LoopNest& nest, const StageNest& stage) {
  const auto wrong = [&](const std::string& rule, const std::string& way_out) {
    return refuse(TransformLayout::kName, "stage must " + rule + ", as " + stage.name + " is") << way_out;
  };
  if (stage.layout)
    return refuse(TransformLayout::kName,
                  "stage must have the layout of its definition; " + stage.name + " has been transformed already")
           << "write both maps as one";
  if (const auto* given = std::get_if<te::Placeholder>(&stage.op->kind); given && !given->param)
    return wrong(
        "not be an input that the caller lays out",
        "te.placeholder(..., param=True) declares a parameter that f.pack may pack; or transform a cache_read(" +
            stage.name + ")");
  if (stage.swizzled != 0) return wrong("not be swizzled", "its rows stand as swizzle says");
  if (stage.output)
    return wrong(
        "be kept in memory of the kernel, not be an output",
        "the caller laid out its memory; cache_write(" + stage.name + ") computes it in a stage of the kernel");
  if (stage.op->scan() || stage.op->external())
    return wrong(stage.op->scan() ? "not be a scan" : "not be an extern stage", "transform a cache_read of it");
  if (!stage.alignments.empty())
    return wrong("not be aligned by storage_align", "the gap belongs to a dimension that it would not have any more");
  if (stage.op->dtype().bits == 4 && !stage.is_placeholder())
    return wrong("not be of 4-bit elements", "two of them share a byte, which two iterations would write");
  return Unit{};
}

std::vector<ir::Var> dimensions_of(const StageNest& stage) {
  std::vector<ir::Var> dimensions;
  for (size_t d = 0; d < stage.op->shape().size(); ++d)
    dimensions.push_back(stage.is_placeholder() ? ir::Var("ax" + std::to_string(d)) : stage.axes[d].var);
  return dimensions;
}

// Whether a Step has said anything about the loops.
bool has_own_loops(const LoopNest& nest, const StageNest& stage) {
  if (!stage.relations.empty() || !stage.pragmas.empty() || !stage.prefetches.empty() || !stage.pipelines.empty())
    return true;
  if (stage.tensorized.axis != kNone) return true;
  for (int i = 0; i < nest.size(); ++i)
    if (const Attach& attach = nest.stage(i).attach; attach.kind == AttachKind::kAt && attach.stage == stage.name)
      return true;
  for (size_t i = 0; i < stage.leaves.size(); ++i)
    if (stage.leaves[i] != static_cast<AxisId>(i) || stage.axes[i].annotation != Annotation::kNone) return true;
  return false;
}

// The loops of a stage, from those of its definition to the digits of the map.
class LoopMaker {
 public:
  LoopMaker(StageNest& stage, const IndexMap& map, int step) : stage_(stage), map_(map), step_(step) {}

  void run() {
    const std::vector<AxisId> before = stage_.leaves;
    for (size_t s = 0; s < map_.sources.size(); ++s) {
      const IndexMap::Source& source = map_.sources[s];
      if (source.uses.empty()) continue;
      split(static_cast<int>(s), source.sum.empty() ? static_cast<AxisId>(s) : fuse(source.sum));
    }
    std::vector<AxisId> order;
    for (const std::vector<Digit>& index : map_.indices)
      for (const Digit& digit : index) order.push_back(loops_.at({digit.of, digit.lower}));
    for (AxisId leaf : stage_.leaves)
      if (std::find(order.begin(), order.end(), leaf) == order.end()) order.push_back(leaf);
    stage_.leaves = order;
  }

 private:
  AxisId fuse(const std::vector<Digit>& sum) {
    AxisId fused = loops_.at({sum[0].of, sum[0].lower});
    for (size_t i = 1; i < sum.size(); ++i) {
      const AxisId inner = loops_.at({sum[i].of, sum[i].lower});
      std::erase(stage_.leaves, inner);
      stage_.leaves.insert(stage_.leaves.begin() + stage_.position(fused) + 1, inner);
      fused = fuse_pair(stage_, fused, inner, step_);
    }
    return fused;
  }

  void split(int source, AxisId axis) {
    const std::vector<Digit>& uses = map_.sources[static_cast<size_t>(source)].uses;
    for (size_t i = 0; i + 1 < uses.size(); ++i) {
      const SplitAxes made = split_leaf(stage_, axis, uses[i + 1].lower / uses[i].lower, 0, Tail::kAuto, step_);
      loops_[{source, uses[i].lower}] = made.inner;
      axis = made.outer;
    }
    loops_[{source, uses.back().lower}] = axis;
  }

  StageNest& stage_;
  const IndexMap& map_;
  const int step_;
  std::map<std::pair<int, int64_t>, AxisId> loops_;  // of digits, by source and lower end
};

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const TransformLayout& step) {
  TW_TRY(int id, any_stage(nest, step.kName, step.stage));
  const StageNest& stage = nest.stage(id);
  TW_TRY([[maybe_unused]] Unit fine, check_stage(nest, stage));
  Layout layout{dimensions_of(stage), {}, step.pad_value, nest.steps_applied()};
  std::vector<std::string> names;
  for (int d = 0; d < static_cast<int>(layout.dimensions.size()); ++d)
    names.push_back(stage.is_placeholder() ? layout.dimensions[static_cast<size_t>(d)].name() : stage.axes[d].name);
  for (const std::string& text : step.indices) {
    auto index = ir::parse_expr(text, names, layout.dimensions);
    if (!index.ok())
      return refuse(step.kName, "index must be an expression over " + join(names) + ", not " + text)
             << index.error().what;
    if (!index->type().is_index())
      return refuse(step.kName,
                    "index must be a whole number, not " + text + " of type " + ir::to_string(index->type()));
    layout.indices.push_back(*std::move(index));
  }
  for (const te::Output& output : stage.op->outputs)
    if (!step.pad_value.empty() && !is_value_of(step.pad_value, output.dtype))
      return refuse(step.kName,
                    "pad_value must be a value of type " + ir::to_string(output.dtype) + ", not " + step.pad_value);
  const std::vector<ir::Expr>& shape = stage.op->shape();
  TW_TRY(IndexMap map, index_map(layout, {shape.begin(), shape.end()}));
  LoopNest next = nest;
  StageNest& changed = next.edit(id);
  changed.layout = std::move(layout);
  if (!stage.is_placeholder() && !has_own_loops(nest, stage)) LoopMaker(changed, map, nest.steps_applied()).run();
  return next;
}

}  // namespace tw::schedule::primitives
