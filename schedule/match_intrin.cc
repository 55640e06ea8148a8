#include "schedule/match_intrin.h"

#include <algorithm>

#include "schedule/filled.h"
#include "schedule/group_operands.h"
#include "schedule/pad.h"
#include "schedule/refuse.h"
#include "schedule/tile_memory.h"
#include "schedule/zero_terms.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/intrin_names.h"

namespace tw::schedule {

namespace {

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
        product_(warp_product_of(stage_)),
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
    if (product_) return Unit{};
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
      if (adds_zeros(nest_, placed_, all_, id_, *split)) continue;
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
    if (running.empty()) return Unit{};  // around the intrinsic
    if (product_ && takes_whole_tiles(nest_, placed_, all_, id_)) return Unit{};
    if (product_)
      return wrong(name_ + " must find whole tiles, and stage " + stage_.name + " reaches past the end of " +
                   stage_.axes[axis].name + " where " + ir::to_string(guard) + " does not hold")
             << describe(stage_, axis) << "no lane of a warp can leave out its part"
             << "cache_read both operands for " + stage_.name +
                    " alone into \"shared\", computed in its loops: they are filled with zeros; or split by factors "
                    "that divide " +
                    stage_.axes[axis].name;
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
    const std::string shapes =
        product_ && product_->operand == product_->sum
            ? "it rounds both factors: where that is meant, the stage says te.tf32 of each"
            : "the expressions have to agree but for the order of the operands of +, *, min and max";
    if (!wanted_sum != !found_sum) return differs("one is a reduction, the other is not");
    if (wanted_sum && (wanted_sum->op != found_sum->op || (!product_ && !!found_sum->where) || found_sum->combiner))
      return differs("they reduce in other ways");
    if (wanted_sum && !!found_sum->where &&
        !(takes_whole_tiles(nest_, placed_, all_, id_) && leaves_out_ends(nest_, placed_, id_)))
      return wrong(name_ + " must find all terms, and stage " + stage_.name + " leaves out those where " +
                   ir::to_string(found_sum->where) + " does not hold")
             << describe(stage_) << "no lane of a warp can leave out its part"
             << "cache_read both operands for " + stage_.name +
                    " alone into \"shared\", computed in its loops: they are filled with zeros past their ends; or "
                    "split by factors that divide the terms";
    sum_ = found_sum;
    const ir::Expr from = over_loops(found_sum ? found_sum->sources[0] : found);
    if (!tile_.same(from, ir::substitute(wanted_sum ? wanted_sum->sources[0] : wanted, loops_)))
      return differs(tile_.why().empty() ? shapes : tile_.why());
    std::vector<ir::Expr> to(bounds_.index.begin(), bounds_.index.begin() + stage_.data_rank), at;
    for (const te::IterVar& axis : intrin_.op->compute()->axis) at.push_back(loops_.at(axis.var.id()));
    if (!tile_.bind(intrin_.op.output().buffer(), at, stage_.buffer(), to)) return differs(tile_.why());
    if (product_) return Unit{};
    TileChecks checks(nest_, placed_, all_, arguments_, intrin_, does_, tile_.regions());
    if (const auto fault = checks.run()) {
      Diagnostic d = wrong(fault->rule);
      d.notes = fault->notes;
      return d;
    }
    strides_ = checks.strides();
    offsets_ = checks.offsets();
    return Unit{};
  }

  TileMemory memory_of(const ir::Buffer& tensor) const { return {nest_, placed_, all_, arguments_, tensor}; }

  // -------------------------------------------------------------------------------------------------- the statement

  Result<BoundIntrin> bound() const {
    bool reduces_outside = false;
    for (int position = 0; position < level_; ++position)
      reduces_outside |=
          stage_.axes[stage_.leaves[position]].reduction && static_cast<bool>(bounds_.loop[stage_.leaves[position]]);
    if (product_) {
      TW_TRY(WarpOperands found, placed_operands());
      return {{level_, {}, {}, {}, {}, {}, product_, std::move(found)}};
    }
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

  Result<WarpOperands> placed_operands() const {
    WarpOperands found = operands();
    if (product_->lanes == ir::kLanesOfWarp) return found;
    WarpOperands over = found;
    over.left = over_loops(found.left);
    over.right = over_loops(found.right);
    for (const auto& [which, lies] :
         {std::pair{ir::Fragment::kLeft, &found.left_lies}, std::pair{ir::Fragment::kRight, &found.right_lies}}) {
      Result<ir::GroupOperand> operand = group_operand(nest_, placed_, all_, id_, over, *product_, which);
      if (!operand.ok()) return blame(operand.error(), steps_, stage_.tensorized.step);
      *lies = *std::move(operand);
    }
    return found;
  }

  // Which factor of what is summed is the left one: the one that agrees with it, or else the other.
  WarpOperands operands() const {
    const te::Compute& c = *intrin_.op->compute();
    const auto factors = [](const ir::Expr& sum) { return *ir::as<ir::Binary>(ir::as<ir::Reduce>(sum)->sources[0]); };
    const ir::Binary wanted = factors(c.body()), found = factors(placed_.bodies[id_][0]);
    const auto agrees = [&](const ir::Expr& with_left, const ir::Expr& with_right) {
      TileMatch match(nest_, all_, inner_);
      return match.same(over_loops(with_left), ir::substitute(wanted.a, loops_)) &&
             match.same(over_loops(with_right), ir::substitute(wanted.b, loops_));
    };
    const bool in_order = agrees(found.a, found.b);
    const auto load = [](const ir::Expr& factor) {
      if (const auto* rounded = ir::as<ir::Call>(factor)) return rounded->args[0];  // by the instruction itself
      const auto* converted = ir::as<ir::Cast>(factor);
      return converted ? converted->value : factor;
    };
    const auto loop = [&](const te::IterVar& axis) { return ir::as<ir::VarRef>(loops_.at(axis.var.id()))->var; };
    return {load(in_order ? found.a : found.b), load(in_order ? found.b : found.a), loop(c.axis[0]), loop(c.axis[1]),
            loop(c.reduce_axis[0])};
  }

  const TileRegion* region_of_memory(const ir::Buffer& memory) const {
    for (const auto& [id, region] : tile_.regions())
      if (const auto tile = does_.tiles.find(id); tile != does_.tiles.end() && tile->second.memory == memory)
        return &region;
    return nullptr;
  }

  ir::Stmt over_tensors(const ir::Stmt& s) const {
    return ir::refresh(ir::rewrite(
        s,
        [&](const ir::Stmt& inner) {
          const auto* st = ir::as<ir::Store>(inner);
          const auto region = st ? tile_.regions().find(st->buffer.id()) : tile_.regions().end();
          if (region == tile_.regions().end()) return inner;
          return ir::store(region->second.buffer, region->second.at(st->at), st->value, st->pred);
        },
        [&](const ir::Expr& e) {
          if (const auto* l = ir::as<ir::Load>(e))
            if (const auto region = tile_.regions().find(l->buffer.id()); region != tile_.regions().end())
              return ir::load(region->second.buffer, region->second.at(l->at), l->pred);
          const auto* a = ir::as<ir::Address>(e);
          if (!a) return e;
          if (const auto region = tile_.regions().find(a->buffer.id()); region != tile_.regions().end())
            return ir::address_of(region->second.buffer, region->second.at(a->at), a->read, a->written);
          if (const TileRegion* whole = region_of_memory(a->buffer))
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
  const ir::WarpProduct* const product_;  // null: statements of one thread
  const int level_;
  te::IntrinBodies does_;
  TileSubscripts inner_;    // over the loops that are replaced
  ir::Substitution loops_;  // the intrinsic's axes over the stage's loops
  TileMatch tile_{nest_, all_, inner_};
  std::vector<TileStride> strides_;
  std::vector<TileOffset> offsets_;
  ir::Expr whole_data_, whole_reduction_;
  const ir::Reduce* sum_ = nullptr;
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
