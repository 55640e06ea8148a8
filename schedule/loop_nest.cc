// The value that Steps act on: its making from a tensor expression, lookups, and the dispatch of Steps to primitives.
#include "schedule/loop_nest.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"

namespace tw::schedule {

namespace {

// Names of stages and axes are parts of longer names (C.local, i.o, i*j), so the joints may not occur inside them.
std::string plain(std::string name, const char* fallback) {
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '.' || c == '*'; }, '_');
  return name.empty() ? fallback : name;
}

int64_t constant_extent(const ir::Expr& extent, const te::OpNode& op, const std::string& axis) {
  auto value = ir::as_int(ir::simplify(extent));
  if (value) return *value;
  Diagnostic d = refuse("create_schedule", "the extent of axis " + axis + " of " + op.name + " must be a number, not " +
                                               ir::to_string(extent));
  d.where = op.where;
  throw Error(std::move(d));
}

Axis root_axis(const te::IterVar& iter, const te::OpNode& op, const StageNest& stage) {
  Axis axis;
  std::string name = plain(iter.var.name(), "ax");
  axis.name = name;
  for (int n = 1; stage.find_axis(axis.name) != kNone; ++n) axis.name = name + "_" + std::to_string(n);
  axis.var = iter.var;
  axis.reduction = iter.reduction;
  axis.extent = constant_extent(iter.extent, op, axis.name);
  if (iter.reduction) axis.min = constant_extent(iter.min, op, axis.name);
  return axis;
}

}  // namespace

Extent::Extent(const ir::Expr& e) {
  ir::Expr simple = ir::simplify(e);
  if (auto number = ir::as_int(simple)) {
    value_ = *number;
  } else {
    symbolic_ = simple;
  }
}

int64_t Extent::value() const {
  TW_CHECK(known(), "the extent " + ir::to_string(symbolic_) + " is no number");
  return value_;
}

int StageNest::output_of(uint64_t buffer_id) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].id() == buffer_id) return static_cast<int>(i);
  return kNone;
}

AxisId StageNest::find_axis(std::string_view axis) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == axis) return static_cast<AxisId>(i);
  return kNone;
}

AxisId StageNest::axis_of(const ir::Var& var) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].var && axes[i].var == var) return static_cast<AxisId>(i);
  for (const auto& [id, axis] : aliases)
    if (id == var.id()) return axis;
  return kNone;
}

int StageNest::position(AxisId axis) const {
  auto found = std::find(leaves.begin(), leaves.end(), axis);
  return found == leaves.end() ? kNone : static_cast<int>(found - leaves.begin());
}

const Relation* StageNest::relation_from(AxisId axis) const {
  for (const Relation& relation : relations) {
    const auto* split = std::get_if<SplitRelation>(&relation);
    const auto* fuse = std::get_if<FuseRelation>(&relation);
    if (split ? split->parent == axis : (fuse->outer == axis || fuse->inner == axis)) return &relation;
  }
  return nullptr;
}

StageNest make_stage(std::string name, const te::Operation& op) {
  StageNest stage;
  stage.name = std::move(name);
  stage.op = op;
  for (size_t i = 0; i < op->outputs.size(); ++i) stage.buffers.push_back(op.output(i).buffer());
  const te::Compute* compute = op->compute();
  if (!compute) return stage;
  stage.bodies = compute->bodies;
  stage.data_rank = static_cast<int>(compute->axis.size());
  stage.reduce_rank = static_cast<int>(compute->reduce_axis.size());
  for (const te::IterVar& iter : compute->axis) stage.axes.push_back(root_axis(iter, *op, stage));
  for (const te::IterVar& iter : compute->reduce_axis) stage.axes.push_back(root_axis(iter, *op, stage));
  for (size_t i = 0; i < stage.axes.size(); ++i) stage.leaves.push_back(static_cast<AxisId>(i));
  return stage;
}

LoopNest::LoopNest(std::vector<te::Tensor> outputs)
    : outputs_(std::make_shared<const std::vector<te::Tensor>>(std::move(outputs))) {
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, int> suffix;
  for (const te::Operation& op : te::topological_order(*outputs_)) {
    std::string wanted = plain(op->name, "stage"), name = wanted;
    while (!taken.insert(name).second) name = wanted + "_" + std::to_string(++suffix[wanted]);
    StageNest stage = make_stage(name, op);
    for (const te::Tensor& output : *outputs_) stage.output |= output.op() == op;
    stages_.push_back(std::make_shared<const StageNest>(std::move(stage)));
  }
}

int LoopNest::find_stage(std::string_view name) const {
  for (size_t i = 0; i < stages_.size(); ++i)
    if (stages_[i]->name == name) return static_cast<int>(i);
  return kNone;
}

int LoopNest::find_stage(uint64_t buffer_id) const {
  for (size_t i = 0; i < stages_.size(); ++i)
    if (stages_[i]->output_of(buffer_id) != kNone) return static_cast<int>(i);
  return kNone;
}

StageNest& LoopNest::edit(int i) {
  auto copy = std::make_shared<StageNest>(*stages_[i]);
  StageNest& stage = *copy;
  stages_[i] = std::move(copy);
  return stage;
}

void LoopNest::insert(int before, StageNest stage) {
  stages_.insert(stages_.begin() + before, std::make_shared<const StageNest>(std::move(stage)));
}

std::string LoopNest::unique_name(const std::string& wanted) const {
  std::string name = wanted;
  for (int n = 1; find_stage(name) != kNone; ++n) name = wanted + "_" + std::to_string(n);
  return name;
}

Result<LoopNest> apply(const LoopNest& nest, const Step& step) {
  auto dispatch = [&] {
    return std::visit([&](const auto& kind) { return primitives::apply(nest, kind); }, step.kind);
  };
  // The cache primitives rewrite bodies, which are as deep as the user likes; the others only touch loops, and are
  // quick.
  bool rewrites = std::holds_alternative<CacheRead>(step.kind) || std::holds_alternative<CacheWrite>(step.kind);
  Result<LoopNest> next = rewrites ? support::with_deep_stack(dispatch) : dispatch();
  if (!next.ok()) {
    Diagnostic d = std::move(next).error();
    if (!d.where.known()) d.where = step.where;
    return d;
  }
  next->count_step();
  return next;
}

std::vector<AxisId> leaves_from(const StageNest& stage, AxisId axis) {
  std::vector<char> reached(stage.axes.size(), 0);
  reached[axis] = 1;
  for (const Relation& relation : stage.relations) {
    if (const auto* split = std::get_if<SplitRelation>(&relation)) {
      reached[split->outer] |= reached[split->parent];
      reached[split->inner] |= reached[split->parent];
    } else {
      const auto& fuse = std::get<FuseRelation>(relation);
      reached[fuse.fused] |= reached[fuse.outer] | reached[fuse.inner];
    }
  }
  std::vector<AxisId> leaves;
  for (AxisId leaf : stage.leaves)
    if (reached[leaf]) leaves.push_back(leaf);
  return leaves;
}

std::vector<int> readers_of(const LoopNest& nest, int i) {
  const StageNest& read = nest.stage(i);
  std::vector<int> readers;
  for (int reader = i + 1; reader < nest.size(); ++reader) {
    bool reads = false;
    for (const ir::Expr& body : nest.stage(reader).bodies)
      ir::walk(body, [&](const ir::Expr& e) {
        const auto* load = ir::as<ir::Load>(e);
        reads |= load && read.output_of(load->buffer.id()) != kNone;
        return !reads;
      });
    if (reads) readers.push_back(reader);
  }
  return readers;
}

std::string to_string(Annotation annotation) {
  switch (annotation) {
    case Annotation::kNone:
      return "serial";
    case Annotation::kVectorized:
      return "vectorized";
    case Annotation::kUnrolled:
      return "unrolled";
    case Annotation::kParallel:
      return "parallel";
  }
  return "";
}

std::string to_string(Scope scope) {
  switch (scope) {
    case Scope::kArgument:
      return "argument";
    case Scope::kGlobal:
      return "global";
    case Scope::kLocal:
      return "local";
  }
  return "";
}

std::string to_string(Tail tail) {
  switch (tail) {
    case Tail::kNone:
      return "none";
    case Tail::kGuard:
      return "guard";
    case Tail::kMask:
      return "mask";
    case Tail::kPeel:
      return "peel";
    case Tail::kShiftInward:
      return "shift_inward";
    case Tail::kAuto:
      return "auto";
    case Tail::kPad:
      return "pad";
  }
  return "";
}

}  // namespace tw::schedule
