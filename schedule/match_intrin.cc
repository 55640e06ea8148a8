#include "schedule/match_intrin.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "schedule/lanes.h"
#include "schedule/layout.h"
#include "schedule/memory_strides.h"
#include "schedule/pad.h"
#include "schedule/refuse.h"
#include "schedule/tile_memory.h"
#include "schedule/tile_subscripts.h"
#include "src/ir/equal.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/intrin_names.h"

namespace tw::schedule {

namespace {

// Where an element of an intrinsic's buffer stands: subscript s is base[s] + sum over d of factor[s][d] * at[d].
struct Region {
  ir::Buffer buffer;
  std::vector<ir::Expr> base;
  std::vector<std::vector<int64_t>> factor;

  std::vector<ir::Expr> at(const std::vector<ir::Expr>& inner) const {
    std::vector<ir::Expr> out;
    for (size_t s = 0; s < base.size(); ++s) {
      ir::Expr sum = base[s];
      for (size_t d = 0; d < inner.size(); ++d)
        if (factor[s][d] != 0) sum = plus(sum, times(inner[d], factor[s][d]));
      out.push_back(sum);
    }
    return out;
  }
  bool operator==(const Region& other) const {
    return buffer == other.buffer && factor == other.factor && std::ranges::equal(base, other.base, ir::ExprEqual());
  }
};
using Regions = std::map<uint64_t, Region>;  // by the id of the intrinsic's buffer

class Matcher {
 public:
  Matcher(const LoopNest& nest, const Placement& placed, const NestBounds& all, const std::vector<Step>& steps,
          const Arguments& arguments, int id)
      : nest_(nest),
        placed_(placed),
        all_(all),
        steps_(steps),
        arguments_(arguments),
        id_(id),
        stage_(nest.stage(id)),
        bounds_(all.stages[id]),
        intrin_(*stage_.tensorized.intrin),
        name_(te::readable_intrin(intrin_.key)),
        level_(stage_.position(stage_.tensorized.axis)),
        inner_(all.ranges) {}

  Result<BoundIntrin> run() {
    TW_TRY([[maybe_unused]] Unit judged, judge());
    TW_TRY([[maybe_unused]] Unit plain, check_loops());
    TW_TRY([[maybe_unused]] Unit ends, find_edges());
    TW_TRY([[maybe_unused]] Unit around, check_surroundings());
    TW_TRY([[maybe_unused]] Unit paired, pair_loops());
    TW_TRY([[maybe_unused]] Unit matched, match_values());
    return bound();
  }

 private:
  Diagnostic wrong(const std::string& rule) const {
    return blame(refuse(Tensorize::kName, rule), steps_, stage_.tensorized.step);
  }

  // A function that was missing when the intrinsic was declared may be there by now.
  Status judge() {
    Result<te::IntrinBodies> does = te::proved_bodies(intrin_);
    if (!does.ok()) {
      Diagnostic d = wrong(name_ + " must compute its expression: " + does.error().what);
      d.notes = does.error().notes;
      return d;
    }
    does_ = *std::move(does);
    return Unit{};
  }

  // ------------------------------------------------------------------------------------------------------ the nest

  Status check_loops() const {
    if (level_ == kNone)
      return wrong("axis must be a loop of stage " + stage_.name + ", not " + stage_.axes[stage_.tensorized.axis].name)
             << describe(stage_) << "it was split or fused afterwards";
    for (size_t position = static_cast<size_t>(level_); position < stage_.leaves.size(); ++position) {
      const Axis& axis = stage_.axes[stage_.leaves[position]];
      if (axis.annotation != Annotation::kNone)
        return wrong("the loops from " + stage_.axes[stage_.tensorized.axis].name + " on must be plain, and " +
                     axis.name + " is " + to_string(axis.annotation))
               << describe(stage_) << "they are one statement of " + name_;
    }
    return Unit{};
  }

  // Where the tile may reach past an end, of a split or of the region, the intrinsic stands under the condition that it
  // does not, and the loops beside it.
  Status find_edges() {
    for (const Relation& relation : stage_.relations) {
      const auto* split = std::get_if<SplitRelation>(&relation);
      if (!split || !is_uneven(bounds_, *split) || is_shifted(stage_, bounds_, *split)) continue;
      const ir::Expr inside = bounds_.value[split->parent] < bounds_.extent[split->parent].expr();
      TW_TRY([[maybe_unused]] Unit found, add_edge(inside, split->parent));
    }
    for (AxisId d = 0; d < stage_.data_rank; ++d)
      for (const ir::Expr& edge : edges(stage_, bounds_, d)) {
        TW_TRY([[maybe_unused]] Unit found, add_edge(edge, d));
      }
    return Unit{};
  }

  Status add_edge(const ir::Expr& holds, AxisId axis) {
    const ir::Expr guard = simple(holds);
    if (ir::is_int(guard, 1) || ir::can_prove(guard, all_.ranges, bounds_.facts)) return Unit{};
    std::unordered_map<uint64_t, ir::Expr> running;
    const auto used = ir::used_vars(guard);
    for (size_t position = static_cast<size_t>(level_); position < stage_.leaves.size(); ++position)
      if (const ir::Var& var = bounds_.loop[stage_.leaves[position]]; var && used.contains(var.id()))
        running[var.id()] = bounds_.extent[stage_.leaves[position]].expr();
    if (running.empty()) return Unit{};                   // around the intrinsic
    const auto& comparison = *ir::as<ir::Binary>(holds);  // a < b or a >= b
    const ir::SymbolicInterval apart = ir::symbolic_interval(simple(comparison.a - comparison.b), running, all_.ranges);
    if (!apart.known)
      return wrong("the part of stage " + stage_.name + " that is computed at once must reach past the end of " +
                   stage_.axes[axis].name + " in a way that is known")
             << describe(stage_, axis) << "a part of " + name_ + " cannot be left out"
             << "compute the stage at a loop whose tile divides " + stage_.axes[axis].name + ", or pad the tensor";
    const ir::Expr whole = simple(comparison.op == ir::BinOp::kLt ? apart.hi < ir::Expr(0) : apart.lo >= ir::Expr(0));
    ir::Expr& all = stage_.axes[axis].reduction ? whole_reduction_ : whole_data_;
    all = all ? all && whole : whole;
    return Unit{};
  }

  Status check_surroundings() const {
    const auto nothing = [&](const std::string& what) {
      return wrong("stage " + stage_.name + " must not be " + what)
             << describe(stage_) << "its innermost loops are one statement of " + name_;
    };
    if (defined_part(nest_, placed_, all_, id_))
      return wrong("stage " + stage_.name + " must not be padded past the end of what it reads")
             << describe(stage_) << "the intrinsic reads whole vectors; pad what it reads too";
    if (stage_.store_predicate) return nothing("stored under a predicate");
    if (has_turning_buffer(stage_)) return nothing("kept in a buffer that turns");
    if (placed_.scan[id_] != kNone) return nothing("part of a scan");
    if (stage_.buffers.size() != 1) return nothing("a stage of several outputs");
    for (int i = 0; i < nest_.size(); ++i)
      if (placed_.live(i) && placed_.parent[i] == id_ && placed_.level[i] >= level_)
        return wrong("nothing may be computed inside the loops from " + stage_.axes[stage_.tensorized.axis].name +
                     " on, as " + nest_.stage(i).name + " is")
               << describe(stage_) << "compute it at a loop around them";
    for (const PrefetchNote& note : stage_.prefetches)
      if (stage_.position(note.axis) >= level_) return nothing("prefetched for inside them");
    int level = level_ - 1;
    for (int at = id_; at != kNone; level = placed_.level[at], at = placed_.parent[at])
      for (int position = 0; position <= level; ++position)
        if (nest_.stage(at).axes[nest_.stage(at).leaves[position]].annotation == Annotation::kVectorized)
          return nothing("computed in a vectorized loop");
    return Unit{};
  }

  // ------------------------------------------------------------------------------------------------------ the loops

  std::string loops_text(const std::vector<std::string>& data, const std::vector<std::string>& reductions) const {
    return "data " + (data.empty() ? "none" : join(data)) + "; reductions " +
           (reductions.empty() ? "none" : join(reductions));
  }

  Status pair_loops() {
    const te::Compute& c = *intrin_.op->compute();
    std::vector<std::string> wanted[2], found[2];
    std::vector<ir::Var> wanted_vars[2];
    std::vector<int64_t> wanted_extents[2], found_extents[2];
    for (const auto* axes : {&c.axis, &c.reduce_axis})
      for (const te::IterVar& axis : *axes) {
        const int64_t extent = *ir::as_int(axis.extent);
        loops_[axis.var.id()] = 0;
        if (extent == 1) continue;
        wanted[axes == &c.reduce_axis].push_back(axis.var.name() + " of " + std::to_string(extent));
        wanted_vars[axes == &c.reduce_axis].push_back(axis.var);
        wanted_extents[axes == &c.reduce_axis].push_back(extent);
      }
    std::vector<ir::Var> found_vars[2];
    for (size_t position = static_cast<size_t>(level_); position < stage_.leaves.size(); ++position) {
      const AxisId leaf = stage_.leaves[position];
      const bool reduction = stage_.axes[leaf].reduction;
      if (!bounds_.loop[leaf]) continue;
      found[reduction].push_back(stage_.axes[leaf].name + " of " + to_string(bounds_.extent[leaf]));
      found_vars[reduction].push_back(bounds_.loop[leaf]);
      found_extents[reduction].push_back(bounds_.extent[leaf].value_or(-1));
    }
    if (wanted_extents[0] != found_extents[0] || wanted_extents[1] != found_extents[1])
      return wrong("the loops must be those of " + name_)
             << "expected: " + loops_text(wanted[0], wanted[1]) << "found: " + loops_text(found[0], found[1])
             << "in " + describe(stage_);
    for (int kind : {0, 1})
      for (size_t i = 0; i < wanted_vars[kind].size(); ++i) {
        loops_[wanted_vars[kind][i].id()] = found_vars[kind][i];
        inner_.add(found_vars[kind][i], found_extents[kind][i]);
      }
    return Unit{};
  }

  // ------------------------------------------------------------------------------------------------------ the values

  ir::Expr simple(const ir::Expr& e) const { return ir::simplify(e, all_.ranges); }

  ir::Expr over_loops(const ir::Expr& e) const {
    ir::Substitution index;
    for (size_t axis = 0; axis < bounds_.index.size(); ++axis) index[stage_.axes[axis].var.id()] = bounds_.index[axis];
    return ir::substitute(e, index);
  }

  Status match_values() {
    const ir::Expr& wanted = intrin_.op->compute()->body();
    const ir::Expr& found = placed_.bodies[id_][0];
    const auto* wanted_sum = ir::as<ir::Reduce>(wanted);
    const auto* found_sum = ir::as<ir::Reduce>(found);
    const auto differs = [&](const std::string& why) {
      const std::string shown = ir::to_string(found_sum ? over_loops(found_sum->sources[0]) : over_loops(found));
      return wrong("the stage must compute what " + name_ + " computes")
             << "expected: " + ir::to_string(wanted) << "found: " + shown + (found_sum ? ", reduced" : "") << why;
    };
    const std::string shapes = "the expressions have to agree but for the order of the operands of +, *, min and max";
    if (!wanted_sum != !found_sum) return differs("one is a reduction, the other is not");
    if (wanted_sum && (wanted_sum->op != found_sum->op || static_cast<bool>(found_sum->where) || found_sum->combiner))
      return differs("they reduce in other ways");
    sum_ = found_sum;
    const ir::Expr from = over_loops(found_sum ? found_sum->sources[0] : found);
    if (!same(from, ir::substitute(wanted_sum ? wanted_sum->sources[0] : wanted, loops_)))
      return differs(why_.empty() ? shapes : why_);
    std::vector<ir::Expr> to(bounds_.index.begin(), bounds_.index.begin() + stage_.data_rank), at;
    for (const te::IterVar& axis : intrin_.op->compute()->axis) at.push_back(loops_.at(axis.var.id()));
    if (!bind(intrin_.op.output().buffer(), at, stage_.buffer(), to)) return differs(why_);
    return check_sources();
  }

  Status check_sources() {
    for (const auto& [id, region] : regions_) {
      const int source = nest_.find_stage(region.buffer.id());
      if (source != kNone && has_turning_buffer(nest_.stage(source)))
        return wrong("the operand " + nest_.stage(source).name + " must not be kept in a buffer that turns")
               << "its rows do not lie side by side";
    }
    TW_TRY([[maybe_unused]] Unit placed, check_memory());
    return check_ranges();
  }

  // Whether every tile lies as its buffer says.
  Status check_memory() {
    std::unordered_set<uint64_t> given;  // whose address a function takes
    for (const ir::Stmt& s : {does_.body, does_.reset, does_.update})
      if (s)
        ir::walk(
            s, [](const ir::Stmt&) { return true; },
            [&](const ir::Expr& e) {
              const auto* call = ir::as<ir::CallExtern>(e);
              for (size_t i = 0; call && i < call->args.size(); ++i)
                if (const auto* a = ir::as<ir::Address>(call->args[i])) given.insert(a->buffer.id());
              return true;
            });
    for (const te::Tensor& t : tensors()) {
      const auto found = regions_.find(t.buffer().id());
      if (found == regions_.end() || nest_.find_stage(found->second.buffer.id()) == kNone) continue;
      const Region& region = found->second;
      const te::TileBuffer& declared = does_.tile(t.buffer());
      TW_TRY([[maybe_unused]] Unit apart, find_strides(declared, region));
      if (declared.elem_offset) offsets_.push_back({declared.elem_offset, region.buffer, region.base});
      if (given.contains(t.buffer().id()) || (declared.memory && given.contains(declared.memory.id()))) {
        TW_TRY([[maybe_unused]] Unit compact, check_elements(t.buffer(), declared, region));
      }
      if (const auto fault = memory_of(region.buffer).fault(t.name(), declared, region.base)) {
        Diagnostic d = wrong(fault->rule);
        d.notes = fault->notes;
        return d;
      }
    }
    return Unit{};
  }

  std::vector<te::Tensor> tensors() const {
    std::vector<te::Tensor> all = intrin_.op->inputs;
    all.push_back(intrin_.op.output());
    return all;
  }

  TileMemory memory_of(const ir::Buffer& tensor) const { return {nest_, placed_, all_, arguments_, tensor}; }

  // The variables that stand for strides of this buffer.
  Status find_strides(const te::TileBuffer& declared, const Region& region) {
    for (size_t d = 0; d < declared.strides.size(); ++d) {
      const auto* var = ir::as<ir::VarRef>(declared.strides[d]);
      if (!var) continue;
      TileStride stride{var->var, region.buffer, {}};
      for (const std::vector<int64_t>& factor : region.factor) stride.factor.push_back(factor[d]);
      const auto known = std::ranges::find(strides_, stride.var, &TileStride::var);
      if (known == strides_.end()) {
        strides_.push_back(std::move(stride));
      } else if (const ir::Expr a = apart(*known), b = apart(stride); !ir::is_int(simple(a - b), 0)) {
        return wrong("the strides that " + stride.var.name() + " of " + name_ + " stands for must be equal")
               << "of " + known->tensor.name() + ": " + ir::to_string(simple(a))
               << "of " + region.buffer.name() + ": " + ir::to_string(simple(b)) << "declare a variable for each";
      }
    }
    return Unit{};
  }

  ir::Expr apart(const TileStride& stride) const {
    const std::vector<ir::Expr> in_memory = memory_of(stride.tensor).strides();
    ir::Expr sum = 0;
    for (size_t s = 0; s < stride.factor.size(); ++s) {
      if (stride.factor[s] == 0) continue;
      sum = plus(sum, in_memory[s] * ir::Expr(stride.factor[s]));
    }
    return sum;
  }

  // A function that is given the tile's address goes on from there.
  Status check_elements(const ir::Buffer& tile, const te::TileBuffer& declared, const Region& region) const {
    const TileMemory memory = memory_of(region.buffer);
    const std::string& name = memory.name();
    if (side_by_side(memory.strides(), tile.shape(), region.factor, declared.strides)) return Unit{};
    return wrong("the elements of " + name + " must lie side by side, as those of " + tile.name() +
                 " do, whose address " + name_ + " takes")
           << "its function would read or write others"
           << "cache_read or cache_write " + name +
                  " so that a tile is all that is kept, or let the statement load and store elements by their "
                  "subscripts"
           << "te.decl_buffer(..., strides=[te.var(\"s\"), 1]) in binds= tells the function how far apart rows are";
  }

  // Two neighbouring products of kDotU8I8Sat must fit into 16 bits.
  Status check_ranges() const {
    bool saturates = false;
    for (const ir::Stmt& s : {does_.body, does_.update})
      if (s)
        ir::walk(
            s, [](const ir::Stmt&) { return true; },
            [&](const ir::Expr& e) {
              const auto* call = ir::as<ir::Call>(e);
              saturates = saturates || (call && call->fn == ir::Fn::kDotU8I8Sat);
              return true;
            });
    if (!saturates) return Unit{};
    int64_t product = 1;
    for (const auto& [id, region] : regions_) {
      if (region.buffer == stage_.buffer()) continue;
      const te::Operation op = te::producer(region.buffer);
      const auto* given = op ? std::get_if<te::Placeholder>(&op->kind) : nullptr;
      const bool unsigned_ = region.buffer.element().is_uint();
      const auto range = given && given->range
                             ? *given->range
                             : std::pair<int64_t, int64_t>(unsigned_ ? 0 : -128, unsigned_ ? 255 : 127);
      product *= std::max(std::abs(range.first), std::abs(range.second));
    }
    if (2 * product <= 32767) return Unit{};
    return wrong("the operands of " + name_ + " must be known to be small; two products may be as large as " +
                 std::to_string(2 * product))
           << "it adds them in 16 bits, which saturate at 32767"
           << "te.placeholder(..., range=(-64, 63)) promises what the weights are; avx512_vnni_dot_16x4 needs no "
              "promise";
  }

  // Whether x over the stage's loops is y over the same loops; binds the buffers of y on the way.
  bool same(const ir::Expr& x, const ir::Expr& y) {
    if (const auto* to = ir::as<ir::Load>(y)) {
      const auto* from = ir::as<ir::Load>(x);
      return from && !from->pred && from->buffer.element() == to->buffer.element() &&
             bind(to->buffer, to->at, from->buffer, from->at);
    }
    if (x.type() != y.type() || x->kind.index() != y->kind.index()) return false;
    if (const auto* b = ir::as<ir::Binary>(x)) {
      const auto& c = *ir::as<ir::Binary>(y);
      if (b->op != c.op) return false;
      const Regions before = regions_;
      if (same(b->a, c.a) && same(b->b, c.b)) return true;
      using ir::BinOp;
      if (b->op != BinOp::kAdd && b->op != BinOp::kMul &&
          !(x.type().is_integer() && (b->op == BinOp::kMin || b->op == BinOp::kMax)))
        return false;
      regions_ = before;
      return same(b->a, c.b) && same(b->b, c.a);
    }
    if (const auto* c = ir::as<ir::Call>(x); c && c->fn != ir::as<ir::Call>(y)->fn) return false;
    const std::vector<ir::Expr> from = ir::children(x), to = ir::children(y);
    if (from.empty() || from.size() != to.size()) return from.empty() && ir::equal(x, y);
    for (size_t i = 0; i < from.size(); ++i)
      if (!same(from[i], to[i])) return false;
    return true;
  }

  // inner[i] of the intrinsic is outer[at] of the stage.
  bool bind(const ir::Buffer& inner, const std::vector<ir::Expr>& i, const ir::Buffer& outer,
            const std::vector<ir::Expr>& at) {
    const std::vector<ir::Expr> subscripts = in_memory(outer, at);
    Region region{with_rank(outer, subscripts.size()), {}, {}};
    const ir::Substitution zero = inner_.still();
    for (const ir::Expr& subscript : subscripts) {
      const std::optional<std::vector<int64_t>> factor = inner_.factors(subscript, i);
      if (!factor) return not_affine(outer, subscript);
      ir::Expr base = subscript;
      for (size_t d = 0; d < i.size(); ++d) base = plus(base, times(i[d], -(*factor)[d]));
      region.base.push_back(simple(ir::substitute(base, zero)));
      region.factor.push_back(*factor);
    }
    const auto [known, fresh] = regions_.emplace(inner.id(), region);
    return fresh || known->second == region;
  }

  // The subscripts of an element; of a stage that has a layout those of its memory.
  std::vector<ir::Expr> in_memory(const ir::Buffer& buffer, std::vector<ir::Expr> at) const {
    const int source = nest_.find_stage(buffer.id());
    if (source == kNone || !nest_.stage(source).layout) return at;
    const std::vector<ir::Expr>& lo = all_.stages[source].lo;  // none of a placeholder
    for (size_t d = 0; d < lo.size(); ++d) at[d] = at[d] - lo[d];
    return place(*nest_.stage(source).layout, at);
  }

  // The tensor under its id, for subscripts of its memory.
  static ir::Buffer with_rank(const ir::Buffer& buffer, size_t rank) {
    if (buffer.rank() == rank) return buffer;
    ir::BufferNode node = *buffer.operator->();
    node.shape.assign(rank, 1);
    node.strides.clear();
    return ir::Buffer(std::move(node));
  }

  bool not_affine(const ir::Buffer& buffer, const ir::Expr& subscript) {
    why_ = "the subscript " + ir::to_string(simple(subscript)) + " of " + buffer.name() +
           " must grow with these loops by multiples of what the intrinsic's subscripts grow";
    return false;
  }

  // ------------------------------------------------------------------------------------------------------ the
  // statement

  Result<BoundIntrin> bound() const {
    bool reduces_outside = false;
    for (int position = 0; position < level_; ++position)
      reduces_outside |=
          stage_.axes[stage_.leaves[position]].reduction && static_cast<bool>(bounds_.loop[stage_.leaves[position]]);
    const te::IntrinBodies& does = does_;
    if (!does.update && (reduces_outside || (sum_ && !sum_->init.empty())))
      return wrong(name_ + " must have an update, for " + stage_.name + " reduces outside of it too")
             << describe(stage_) << "its function returns (body, reset, update)";
    BoundIntrin out{level_, {}, strides_, offsets_, whole_data_, whole_reduction_};
    const bool fresh = sum_ && sum_->init.empty();
    if (does.body && !reduces_outside && (!sum_ || fresh)) out.does.body = over_tensors(does.body);
    if (does.update && !out.does.body) out.does.update = over_tensors(does.update);
    if (does.reset && fresh && !out.does.body) out.does.reset = over_tensors(does.reset);
    return out;
  }

  const Region* region_of_memory(const ir::Buffer& memory) const {
    for (const auto& [id, region] : regions_)
      if (const auto tile = does_.tiles.find(id); tile != does_.tiles.end() && tile->second.memory == memory)
        return &region;
    return nullptr;
  }

  ir::Stmt over_tensors(const ir::Stmt& s) const {
    return ir::refresh(ir::rewrite(
        s,
        [&](const ir::Stmt& inner) {
          const auto* st = ir::as<ir::Store>(inner);
          const auto region = st ? regions_.find(st->buffer.id()) : regions_.end();
          if (region == regions_.end()) return inner;
          return ir::store(region->second.buffer, region->second.at(st->at), st->value, st->pred);
        },
        [&](const ir::Expr& e) {
          if (const auto* l = ir::as<ir::Load>(e))
            if (const auto region = regions_.find(l->buffer.id()); region != regions_.end())
              return ir::load(region->second.buffer, region->second.at(l->at), l->pred);
          const auto* a = ir::as<ir::Address>(e);
          if (!a) return e;
          if (const auto region = regions_.find(a->buffer.id()); region != regions_.end())
            return ir::address_of(region->second.buffer, region->second.at(a->at), a->read, a->written);
          if (const Region* whole = region_of_memory(a->buffer))
            return ir::address_of(whole->buffer, memory_of(whole->buffer).first(), a->read, a->written);
          return e;
        }));
  }

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  const std::vector<Step>& steps_;
  const Arguments& arguments_;
  const int id_;
  const StageNest& stage_;
  const StageBounds& bounds_;
  const te::TensorIntrin& intrin_;
  const std::string name_;
  const int level_;
  te::IntrinBodies does_;
  TileSubscripts inner_;    // over the loops that are replaced
  ir::Substitution loops_;  // the intrinsic's axes over the stage's loops
  Regions regions_;
  std::vector<TileStride> strides_;
  std::vector<TileOffset> offsets_;
  ir::Expr whole_data_, whole_reduction_;
  const ir::Reduce* sum_ = nullptr;
  std::string why_;
};

}  // namespace

bool has_intrins(const LoopNest& nest) {
  for (int i = 0; i < nest.size(); ++i)
    if (nest.stage(i).tensorized.axis != kNone) return true;
  return false;
}

Result<std::vector<BoundIntrin>> match_intrins(const LoopNest& nest, const Placement& placed, const NestBounds& all,
                                               const std::vector<Step>& steps, const Arguments& arguments) {
  std::vector<BoundIntrin> out(static_cast<size_t>(nest.size()));
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i) || nest.stage(i).tensorized.axis == kNone) continue;
    TW_TRY(out[static_cast<size_t>(i)], Matcher(nest, placed, all, steps, arguments, i).run());
  }
  return out;
}

}  // namespace tw::schedule
