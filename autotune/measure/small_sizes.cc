#include "autotune/measure/small_sizes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "autotune/space/trace.h"
#include "schedule/loop_nest.h"
#include "src/ir/walk.h"

namespace tw::autotune {

namespace {

using te::Operation;

constexpr int64_t kNeighbours = 8;  // of rows, or they no longer lie as vectors and boxes want them
constexpr int64_t kWhole = 64;  // of an axis that is fused with others: their product is divided, and read by vectors
constexpr int64_t kLargest = 1 << 12;  // of what the factors of an axis amount to
constexpr int64_t kBlocks = 3;         // that share out tiles: of four, one has two

// A dimension of an operation: its data axes, then its reduction axes.
using Dimension = std::pair<const te::OpNode*, size_t>;

// Extents that go together.
class Classes {
 public:
  explicit Classes(const std::vector<Operation>& ops) : ops_(ops) {
    for (const Operation& op : ops) {
      for (size_t d = 0; d < op->shape().size(); ++d) add({&*op, d}, op->shape()[d]);
      if (const te::Compute* c = op->compute()) add_axes(*op, *c);
    }
    for (const Operation& op : ops)
      if (const te::Compute* c = op->compute())
        for (const Expr& body : c->bodies) look(body);
  }

  int64_t extent(const Dimension& d) const { return extents_.at(d); }
  // The dimension that stands for all that go with it.
  Dimension of(Dimension d) const {
    while (parents_.at(d) != d) d = parents_.at(d);
    return d;
  }
  void keep(const Dimension& d) { kept_.insert(d); }
  bool stays(const Dimension& d) const {
    return std::ranges::any_of(kept_, [&](const Dimension& kept) { return of(kept) == of(d); });
  }
  std::vector<Dimension> all() const {
    std::vector<Dimension> out;
    for (const auto& [d, extent] : extents_) out.push_back(d);
    return out;
  }

 private:
  using Expr = ir::Expr;

  void add(const Dimension& d, const Expr& extent) {
    parents_[d] = d;
    extents_[d] = *ir::as_int(extent);
  }

  void add_axes(const te::OpNode& op, const te::Compute& c) {
    for (size_t d = 0; d < c.axis.size(); ++d) axes_[c.axis[d].var.id()] = {&op, d};
    for (size_t r = 0; r < c.reduce_axis.size(); ++r) {
      const Dimension d{&op, c.axis.size() + r};
      axes_[c.reduce_axis[r].var.id()] = d;
      add(d, c.reduce_axis[r].extent);
      if (!ir::is_int(c.reduce_axis[r].min, 0)) kept_.insert(d);
    }
  }

  // A variable that stands alone in a subscript goes with the dimension; all others are left alone, and so are the
  // dimensions that something else subscripts.
  void look(const Expr& e) {
    ir::walk(e, [&](const Expr& x) {
      if (const auto* v = ir::as<ir::VarRef>(x)) keep_variable(v->var);
      const auto* load = ir::as<ir::Load>(x);
      if (!load) return true;
      const Operation from = te::producer(load->buffer);
      for (size_t d = 0; d < load->at.size(); ++d) {
        const auto* v = ir::as<ir::VarRef>(load->at[d]);
        const auto axis = v ? axes_.find(v->var.id()) : axes_.end();
        if (axis != axes_.end() && from) {
          join(axis->second, {&*from, d});
        } else {
          if (from) kept_.insert({&*from, d});
          look(load->at[d]);
        }
      }
      return false;
    });
  }

  void keep_variable(const ir::Var& var) {
    if (const auto axis = axes_.find(var.id()); axis != axes_.end()) kept_.insert(axis->second);
  }

  void join(const Dimension& a, const Dimension& b) {
    if (extents_.at(a) != extents_.at(b)) {  // a part of it
      kept_.insert(a);
      kept_.insert(b);
    }
    parents_[of(a)] = of(b);
  }

  const std::vector<Operation>& ops_;
  std::map<Dimension, Dimension> parents_;
  std::map<Dimension, int64_t> extents_;
  std::unordered_map<uint64_t, Dimension> axes_;  // of variables
  std::set<Dimension> kept_;
};

// What is to stay of an axis when divided by `factors`, of which there are to be so many.
struct Wanted {
  int64_t factors = 1, times = 2;
  bool whole = false;
};

// By the loops that the Steps have made of it.
Wanted wanted_of(const schedule::StageNest& stage, schedule::AxisId axis) {
  Wanted out;
  for (;;) {
    for (const schedule::PipelineNote& note : stage.pipelines)
      if (note.axis == axis) out.times = note.stages + 2;
    if (axis == stage.persistent.whole) {
      out.times = kBlocks + 1;
      return out;
    }
    const schedule::Relation* relation = stage.relation_from(axis);
    if (!relation) {
      const schedule::Annotation annotation = stage.axes[static_cast<size_t>(axis)].annotation;
      out.whole =
          annotation != schedule::Annotation::kNone && (!schedule::is_block(annotation) || axis == stage.cluster.axis);
      return out;
    }
    if (std::holds_alternative<schedule::FuseRelation>(*relation)) {
      out.factors = std::lcm(out.factors, kWhole);
      return out;
    }
    const auto& split = std::get<schedule::SplitRelation>(*relation);
    const schedule::Extent& factor = split.by_parts() ? split.parts : split.factor;
    if (!factor.known() || factor.value() < 1 || out.factors * factor.value() > kLargest) {
      out.whole = true;
      return out;
    }
    out.factors *= factor.value();
    axis = split.by_parts() ? split.inner : split.outer;
  }
}

int64_t small(int64_t extent, const Wanted& wanted) {
  if (wanted.whole) return extent;
  const int64_t period = std::lcm(wanted.factors, kNeighbours), rest = extent % period;
  return std::min(extent, (wanted.times - (rest ? 1 : 0)) * period + rest);
}

// Of each class of dimensions.
std::map<Dimension, int64_t> small_extents(const Classes& classes, const schedule::LoopNest& nest,
                                           const std::vector<Operation>& ops) {
  std::map<Dimension, Wanted> wanted;
  for (const Operation& op : ops) {
    const te::Compute* c = op->compute();
    for (size_t d = 0; c && d < c->axis.size() + c->reduce_axis.size(); ++d) {
      const ir::Var& var = d < c->axis.size() ? c->axis[d].var : c->reduce_axis[d - c->axis.size()].var;
      for (int i = 0; i < nest.size(); ++i) {
        const schedule::AxisId axis = nest.stage(i).axis_of(var);
        if (axis == schedule::kNone) continue;
        const Wanted here = wanted_of(nest.stage(i), axis);
        Wanted& all = wanted[classes.of({&*op, d})];
        all = {std::lcm(all.factors, here.factors), std::max(all.times, here.times), all.whole || here.whole};
      }
    }
  }
  std::map<Dimension, int64_t> extents;
  for (const Dimension& d : classes.all()) {
    const auto found = wanted.find(classes.of(d));
    const bool stays = found == wanted.end() || classes.stays(d);
    extents[d] = stays ? classes.extent(d) : small(classes.extent(d), found->second);
  }
  return extents;
}

// Where blocks have several tiles, few blocks do.
std::vector<schedule::Step> small_steps(const schedule::Schedule& s) {
  std::vector<schedule::Step> steps = resolved(s.steps());
  for (schedule::Step& step : steps) {
    auto* persistent = std::get_if<schedule::Persistent>(&step.kind);
    if (persistent == nullptr) continue;
    const schedule::StageNest& stage = s.nest().stage(s.nest().find_stage(persistent->stage));
    if (!(stage.axes[static_cast<size_t>(stage.persistent.tiles)].extent == 1)) persistent->blocks = kBlocks;
  }
  return steps;
}

// The expression anew, each dimension of its extent.
class Again {
 public:
  explicit Again(const std::map<Dimension, int64_t>& extents) : extents_(extents) {}

  void make(const Operation& op) {
    std::vector<ir::Expr> shape;
    for (size_t d = 0; d < op->shape().size(); ++d) shape.push_back(extents_.at({&*op, d}));
    if (const auto* known = std::get_if<te::Placeholder>(&op->kind)) {
      made_[&*op] = {te::placeholder(shape, to_string(op->dtype()), op->name, *known)};
      return;
    }
    const te::Compute& c = *op->compute();
    std::vector<std::string> names;
    for (const te::IterVar& axis : c.axis) names.push_back(axis.var.name());
    const auto bodies = [&](const std::vector<ir::Var>& axes) {
      ir::Substitution now;
      for (size_t d = 0; d < axes.size(); ++d) now[c.axis[d].var.id()] = ir::Expr(axes[d]);
      std::vector<ir::Expr> out;
      for (const ir::Expr& body : c.bodies) out.push_back(ir::substitute(redirected(body, *op, c), now));
      return out;
    };
    made_[&*op] = te::compute_tuple(shape, bodies, op->name, names, {}, c.padding);
  }
  te::Tensor operator()(const te::Tensor& t) const { return made_.at(&*t.op()).at(t.value_index()); }

 private:
  ir::Expr redirected(const ir::Expr& body, const te::OpNode& op, const te::Compute& c) const {
    return ir::rewrite(body, [&](const ir::Expr& e) {
      if (const auto* load = ir::as<ir::Load>(e))
        return te::producer(load->buffer) ? ir::load((*this)(te::tensor_of(load->buffer)).buffer(), load->at) : e;
      const auto* reduce = ir::as<ir::Reduce>(e);
      if (!reduce) return e;
      ir::Reduce again = *reduce;
      for (size_t r = 0; r < again.axes.size(); ++r) again.axes[r].extent = extents_.at({&op, c.axis.size() + r});
      return ir::reduce(std::move(again));
    });
  }

  const std::map<Dimension, int64_t>& extents_;
  std::unordered_map<const te::OpNode*, std::vector<te::Tensor>> made_;
};

}  // namespace

std::optional<Scheduled> at_small_sizes(const Scheduled& candidate) try {
  const std::vector<te::Tensor>& outputs = candidate.schedule.outputs();
  const std::vector<Operation> ops = te::topological_order(outputs);
  for (const Operation& op : ops) {
    const auto* known = std::get_if<te::Placeholder>(&op->kind);
    if (known ? !known->strides.empty() : !op->compute()) return std::nullopt;
    std::vector<ir::Expr> extents = op->shape();
    if (op->compute())
      for (const te::IterVar& axis : op->compute()->reduce_axis) extents.push_back(axis.extent);
    if (!std::ranges::all_of(extents, [](const ir::Expr& e) { return ir::as_int(e).has_value(); })) return std::nullopt;
  }
  const Classes classes(ops);
  const std::map<Dimension, int64_t> extents = small_extents(classes, candidate.schedule.nest(), ops);
  if (std::ranges::all_of(extents, [&](const auto& one) { return one.second == classes.extent(one.first); }))
    return std::nullopt;
  Again again(extents);
  for (const Operation& op : ops) again.make(op);
  std::vector<te::Tensor> made, args;
  for (const te::Tensor& t : outputs) made.push_back(again(t));
  for (const te::Tensor& t : candidate.args) args.push_back(again(t));
  Result<schedule::Schedule> s = schedule::Schedule::from_steps(made, small_steps(candidate.schedule));
  if (!s || !s->check().ok()) return std::nullopt;
  return Scheduled{*std::move(s), std::move(args)};
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace tw::autotune
