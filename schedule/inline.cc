//   P[i] = A[i] * 2
//   C[i] = P[i] + P[i+1]      ==>      C[i] = A[i] * 2 + A[i+1] * 2
//
// Definitions are expanded from the reader's side, one read at a time, and equal reads share one expansion: a diamond
// of inlined stages costs as many nodes as it has different reads, and a chain costs its length.
//
// What a sum multiplies by zeros of a padding is left out, where no vector holds some of it:
//
//   P[i] = 1 <= i ? A[i-1] : 0,  sum over k of P[i+k] * W[k]   ==>   sum over k of A[i+k-1] * W[k], where 1 <= i + k
#include <algorithm>
#include <unordered_map>

#include "schedule/counted_terms.h"
#include "schedule/left_out.h"
#include "schedule/placement.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::schedule {

namespace {

class Inliner {
 public:
  explicit Inliner(const LoopNest& nest) {
    for (int i = 0; i < nest.size(); ++i)
      if (nest.stage(i).attach.kind == AttachKind::kInline)
        for (const ir::Buffer& buffer : nest.stage(i).buffers) inlined_[buffer.id()] = &nest.stage(i);
  }

  bool idle() const { return inlined_.empty(); }

  // The body of a stage.
  ir::Expr expand_body(const StageNest& reader, const ir::Expr& body) {
    ir::Expr result = expand(body);
    const auto* sum = ir::as<ir::Reduce>(body);
    if (!sum || sum->op != ir::ReduceOp::kSum || !can_leave_out(*sum)) return result;
    ir::Reduce out = *ir::as<ir::Reduce>(result);
    Terms terms{reader, *sum, {}};
    out.sources[0] = product(sum->sources[0], terms);
    for (const ir::Expr& c : terms.where) out.where = out.where ? out.where && c : c;
    return terms.where.empty() ? result : ir::reduce(std::move(out));
  }

  ir::Expr expand(const ir::Expr& e) {
    if (auto found = done_.find(e.get()); found != done_.end()) return found->second;
    ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) { return expand(child); });
    if (const auto* load = ir::as<ir::Load>(result))
      if (auto stage = inlined_.find(load->buffer.id()); stage != inlined_.end())
        result = definition(*stage->second, result, *load);
    keep_.push_back(e);
    done_[e.get()] = result;
    return result;
  }

 private:
  // Which of its terms a sum has.
  struct Terms {
    const StageNest& reader;
    const ir::Reduce& sum;
    std::vector<ir::Expr> where;
  };

  // What was expanded, without the zeros among its factors.
  ir::Expr product(const ir::Expr& e, Terms& terms) {
    if (const auto* b = ir::as<ir::Binary>(e); b && b->op == ir::BinOp::kMul) {
      ir::Expr left = product(b->a, terms);
      return left * product(b->b, terms);
    }
    if (const auto* cast = ir::as<ir::Cast>(e)) return ir::cast(e.type(), product(cast->value, terms));
    const ir::Expr& expanded = done_.at(e.get());
    const auto* load = ir::as<ir::Load>(e);
    const auto stage = load ? inlined_.find(load->buffer.id()) : inlined_.end();
    if (stage == inlined_.end() || !pads_with_zeros(*stage->second, terms.sum.sources[0].type())) return expanded;
    const auto* choice = ir::as<ir::Select>(expanded);
    if (!choice) return expanded;
    Parted parts = parted(terms.sum, choice->cond, guards_);
    const auto of_lanes =
        std::ranges::partition(parts.of_terms, [&](const ir::Expr& c) { return !runs_along_lanes(terms.reader, c); });
    parts.rest.insert(parts.rest.end(), of_lanes.begin(), of_lanes.end());
    terms.where.insert(terms.where.end(), parts.of_terms.begin(), of_lanes.begin());
    const ir::Expr asked = lower::conjunction(parts.rest);
    return asked ? ir::select(asked, choice->yes, choice->no) : choice->yes;
  }

  ir::Expr definition(const StageNest& stage, const ir::Expr& read, const ir::Load& load) {
    if (auto found = reads_.find(read); found != reads_.end()) return found->second;
    ir::Substitution at;
    for (int d = 0; d < stage.data_rank; ++d) {
      at[stage.axes[d].var.id()] = load.at[d];
      keep_.push_back(load.at[d]);
      done_[load.at[d].get()] = load.at[d];  // already expanded
    }
    ir::Expr body = expand(ir::substitute(stage.bodies[stage.output_of(load.buffer.id())], at));
    reads_[read] = body;
    return body;
  }

  std::unordered_map<uint64_t, const StageNest*> inlined_;
  std::unordered_map<const ir::ExprNode*, ir::Expr> done_;
  std::unordered_map<ir::Expr, ir::Expr, ir::ExprHash, ir::ExprEqual> reads_;
  lower::GuardReader guards_;
  std::vector<ir::Expr> keep_;  // nodes named by done_ stay alive, so that no address is used twice
};

}  // namespace

bool pads_with_zeros(const StageNest& stage, ir::Type of_sums) {
  const auto* choice = stage.bodies.size() == 1 ? ir::as<ir::Select>(stage.bodies[0]) : nullptr;
  const auto* compute = stage.op->compute();
  return choice && compute && (compute->padding || of_sums.is_int()) &&
         ir::equal(ir::simplify(choice->no), ir::imm(choice->no.type(), 0));
}

std::vector<std::vector<ir::Expr>> inline_bodies(const LoopNest& nest, const std::vector<int>& wanted,
                                                 Padding padding) {
  Inliner inliner(nest);
  const bool on_host = !has_launches(nest);
  std::vector<std::vector<ir::Expr>> bodies(nest.size());
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    const bool gone = stage.attach.kind == AttachKind::kInline && std::ranges::find(wanted, i) == wanted.end();
    if (stage.is_placeholder() || gone) continue;
    bodies[i] = stage.bodies;
    if (inliner.idle()) continue;
    const bool left_out = padding == Padding::kLeftOut && on_host && stage.tensorized.axis == kNone;
    for (ir::Expr& body : bodies[i]) body = left_out ? inliner.expand_body(stage, body) : inliner.expand(body);
  }
  return bodies;
}

}  // namespace tw::schedule
