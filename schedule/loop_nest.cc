// The value that Steps act on: its making from a tensor expression, lookups, and the dispatch of Steps to primitives.
#include "schedule/loop_nest.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "schedule/tails.h"
#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/text.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"
#include "te/scan.h"

namespace tw::schedule {

namespace {

// Names of stages and axes are parts of longer names (C.local, i.o, i*j), so the joints may not occur inside them.
std::string plain(std::string name, const char* fallback) {
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '.' || c == '*'; }, '_');
  return name.empty() ? fallback : name;
}

// Less than nothing is nothing.
Extent not_negative(const ir::Expr& extent, const ir::Bounds& scalars) {
  return Extent(ir::can_prove(extent >= ir::Expr(0), scalars) ? extent : ir::simplify(ir::max(extent, 0), scalars));
}

Axis root_axis(const te::IterVar& iter, const StageNest& stage, const ir::Bounds& scalars) {
  Axis axis;
  std::string name = plain(iter.var.name(), "ax");
  axis.name = name;
  for (int n = 1; stage.find_axis(axis.name) != kNone; ++n) axis.name = name + "_" + std::to_string(n);
  axis.var = iter.var;
  axis.reduction = iter.reduction;
  axis.extent = ir::as_int(iter.extent) ? Extent(iter.extent) : not_negative(iter.extent, scalars);
  if (iter.reduction) axis.min = Extent(iter.min);
  return axis;
}

// An extern stage has no loops of ours. Its inputs stand in a body that is never computed, where all that asks who
// reads a stage finds them.
void add_reads(StageNest& stage) {
  std::vector<ir::Expr> reads;
  for (const te::Tensor& input : stage.op->inputs)
    reads.push_back(ir::load(input.buffer(), std::vector<ir::Expr>(input.rank(), ir::Expr(0))));
  for (const te::Output& output : stage.op->outputs)
    stage.bodies.push_back(ir::call_extern(output.dtype, stage.name, reads, true));
}

// Time first, then the other dimensions: select(t < first, init[t, ...], update[t, ...]).
void add_definition(StageNest& stage, const te::Scan& scan, const ir::Bounds& scalars) {
  stage.data_rank = static_cast<int>(scan.axis.size());
  std::vector<ir::Expr> at;
  for (const te::IterVar& iter : scan.axis) {
    at.push_back(iter.var);
    stage.axes.push_back(root_axis(iter, stage, scalars));
    stage.leaves.push_back(static_cast<AxisId>(stage.leaves.size()));
  }
  for (size_t i = 0; i < scan.state.size(); ++i)
    stage.bodies.push_back(ir::select(at[0] < te::first_time(scan), ir::load(scan.init[i].buffer(), at),
                                      ir::load(scan.update[i].buffer(), at)));
}

// The extents of what the caller has.
std::vector<ir::Expr> given_extents(const std::vector<te::Operation>& order, const std::vector<te::Tensor>& outputs) {
  std::vector<ir::Expr> given;
  for (const te::Operation& op : order)
    if (op->is_placeholder()) given.insert(given.end(), op->shape().begin(), op->shape().end());
  for (const te::Tensor& output : outputs) given.insert(given.end(), output.shape().begin(), output.shape().end());
  return given;
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

bool Extent::operator==(const Extent& other) const {
  if (known() && other.known()) return value_ == other.value_;
  return known() == other.known() && ir::is_int(ir::simplify(symbolic_ - other.symbolic_), 0);
}

Extent operator*(const Extent& a, const Extent& b) {
  return a.known() && b.known() ? Extent(a.value() * b.value()) : Extent(a.expr() * b.expr());
}

Extent operator+(const Extent& a, const Extent& b) {
  return a.known() && b.known() ? Extent(a.value() + b.value()) : Extent(a.expr() + b.expr());
}

Extent ceil_div(const Extent& a, const Extent& b) {
  if (!a.known() || !b.known()) return Extent(ir::floordiv(a.expr() + b.expr() - ir::Expr(1), b.expr()));
  return b.value() == 0 ? 0 : a.value() / b.value() + (a.value() % b.value() > 0);
}

std::string to_string(const Extent& extent) { return ir::to_string(extent.expr()); }

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

StageNest make_stage(std::string name, const te::Operation& op, const ir::Bounds& scalars) {
  StageNest stage;
  stage.name = std::move(name);
  stage.op = op;
  for (size_t i = 0; i < op->outputs.size(); ++i) stage.buffers.push_back(op.output(i).buffer());
  if (op->scan()) add_definition(stage, *op->scan(), scalars);
  if (op->external()) add_reads(stage);
  const te::Compute* compute = op->compute();
  if (!compute) return stage;
  stage.bodies = compute->bodies;
  stage.data_rank = static_cast<int>(compute->axis.size());
  stage.reduce_rank = static_cast<int>(compute->reduce_axis.size());
  for (const te::IterVar& iter : compute->axis) stage.axes.push_back(root_axis(iter, stage, scalars));
  for (const te::IterVar& iter : compute->reduce_axis) stage.axes.push_back(root_axis(iter, stage, scalars));
  for (size_t i = 0; i < stage.axes.size(); ++i) stage.leaves.push_back(static_cast<AxisId>(i));
  return stage;
}

TW_DEFINE_VALUE(StageNest);
StageNest::StageNest() = default;

TW_DEFINE_VALUE(LoopNest);

LoopNest::LoopNest(std::vector<te::Tensor> outputs)
    : outputs_(std::make_shared<const std::vector<te::Tensor>>(std::move(outputs))) {
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, int> suffix;
  const std::vector<te::Operation> order = te::topological_order(*outputs_);
  scalars_ = std::make_shared<const ir::Bounds>(ir::bounds_of_extents(given_extents(order, *outputs_)));
  for (const te::Operation& op : order) {
    std::string wanted = plain(op->name, "stage"), name = wanted;
    while (!taken.insert(name).second) name = wanted + "_" + std::to_string(++suffix[wanted]);
    StageNest stage = make_stage(name, op, *scalars_);
    for (const te::Tensor& output : *outputs_) stage.output |= output.op() == op;
    stages_.push_back(std::make_shared<const StageNest>(std::move(stage)));
  }
  for (const te::ScanBody& body : te::scan_bodies(order, *outputs_)) place_inside(body);
  for (size_t i = 0; i < stages_.size(); ++i)
    if (const te::Compute* c = stages_[i]->op->compute();
        c && c->reads_before && stages_[i]->attach.kind != AttachKind::kAt)
      edit(static_cast<int>(i)).bodies = te::bodies_outside_of_scans(*c);
}

// What depends on a state reads it from the scan's own buffers, and is computed inside of its time loop.
void LoopNest::place_inside(const te::ScanBody& body) {
  const te::Scan& scan = *body.scan->scan();
  ir::BufferMap states;
  for (size_t i = 0; i < scan.state.size(); ++i) states[scan.state[i].buffer().id()] = body.scan.output(i).buffer();
  int around = find_stage(body.scan->buffer_id());
  for (const te::Operation& op : body.stages) {
    StageNest& stage = edit(find_stage(op->buffer_id()));
    if (stage.output) {
      Diagnostic d = refuse("create_schedule", stage.name + " must not be an output: it exists inside of the scan " +
                                                   body.scan->name + " only");
      d.where = op->where;
      throw Error(std::move(d));
    }
    for (ir::Expr& value : stage.bodies) value = ir::replace_buffers(value, states);
    stage.attach = {AttachKind::kAt, stages_[around]->name, 0, kNone};
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

void LoopNest::require_positive(const ir::Expr& size) {
  const auto same = [&](const PositiveSize& known) { return ir::equal(known.size, size); };
  if (std::ranges::any_of(positive_sizes_, same) || ir::can_prove(size >= ir::Expr(1), *scalars_)) return;
  positive_sizes_.push_back({size, steps_applied_});
  ir::Bounds bounds = *scalars_;
  for (const auto& [id, values] : ir::bounds_of_extents({size - ir::Expr(1)})) {
    const auto [known, fresh] = bounds.try_emplace(id, values);
    known->second = ir::intersect(known->second, values);
  }
  scalars_ = std::make_shared<const ir::Bounds>(std::move(bounds));
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
  bool rewrites = std::holds_alternative<CacheRead>(step.kind) || std::holds_alternative<CacheWrite>(step.kind) ||
                  std::holds_alternative<Rfactor>(step.kind) || std::holds_alternative<Hoist>(step.kind);
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
    case Annotation::kVirtual:
      return "vthread";
    case Annotation::kParallel:
      return "parallel";
    case Annotation::kBlockX:
      return "blockIdx.x";
    case Annotation::kBlockY:
      return "blockIdx.y";
    case Annotation::kBlockZ:
      return "blockIdx.z";
    case Annotation::kThreadX:
      return "threadIdx.x";
    case Annotation::kThreadY:
      return "threadIdx.y";
    case Annotation::kThreadZ:
      return "threadIdx.z";
  }
  return "";
}

std::string to_string(Tail tail) { return std::string(ir::kTails[static_cast<size_t>(tail)]); }

std::optional<Tail> tail_named(std::string_view name) {
  for (const Tail tail : kTailsOfSplits)
    if (to_string(tail) == name) return tail;
  return std::nullopt;
}

}  // namespace tw::schedule
