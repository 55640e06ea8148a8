//   P[i] = A[i] * 2
//   C[i] = P[i] + P[i+1]      ==>      C[i] = A[i] * 2 + A[i+1] * 2
//
// Definitions are expanded from the reader's side, one read at a time, and equal reads share one expansion: a diamond
// of inlined stages costs as many nodes as it has different reads, and a chain costs its length.
#include <algorithm>
#include <unordered_map>

#include "schedule/placement.h"
#include "src/ir/equal.h"
#include "src/ir/walk.h"

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
  std::vector<ir::Expr> keep_;  // nodes named by done_ stay alive, so that no address is used twice
};

}  // namespace

std::vector<std::vector<ir::Expr>> inline_bodies(const LoopNest& nest, const std::vector<int>& wanted) {
  Inliner inliner(nest);
  std::vector<std::vector<ir::Expr>> bodies(nest.size());
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    const bool gone = stage.attach.kind == AttachKind::kInline && std::ranges::find(wanted, i) == wanted.end();
    if (stage.is_placeholder() || gone) continue;
    bodies[i] = stage.bodies;
    if (inliner.idle()) continue;
    for (ir::Expr& body : bodies[i]) body = inliner.expand(body);
  }
  return bodies;
}

}  // namespace tw::schedule
