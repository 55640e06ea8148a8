// Compact strides of what is kept of a stage.
#include "schedule/memory_strides.h"

#include "schedule/layout.h"
#include "src/ir/simplify.h"

namespace tw::schedule {

std::vector<ir::Expr> memory_strides(const LoopNest& nest, const NestBounds& all, int i, bool whole) {
  const StageNest& stage = nest.stage(i);
  if (!stage.layout && !stage.buffer().strides().empty()) return stage.buffer().strides();
  const std::vector<ir::Expr>& declared = stage.op->shape();
  std::vector<Extent> shape(declared.begin(), declared.end());
  for (int d = 0; d < stage.data_rank && !whole; ++d) shape[d] = all.stages[i].extent[d];
  if (stage.layout) shape = index_map(*stage.layout, shape).value_or_throw().shape;
  std::vector<ir::Expr> strides(shape.size());
  if (!stage.alignments.empty()) return strides;
  ir::Expr stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride = stride * shape[d].expr();
  }
  return strides;
}

bool side_by_side(const std::vector<ir::Expr>& strides, const std::vector<ir::Expr>& tile,
                  const std::vector<std::vector<int64_t>>& factor) {
  ir::Expr wanted = 1;
  for (size_t d = tile.size(); d-- > 0;) {
    if (ir::is_int(tile[d], 1)) continue;
    ir::Expr apart = 0;
    for (size_t s = 0; s < strides.size(); ++s) {
      if (factor[s][d] == 0) continue;
      if (!strides[s]) return false;
      apart = apart + strides[s] * ir::Expr(factor[s][d]);
    }
    if (!ir::is_int(ir::simplify(apart - wanted), 0)) return false;
    wanted = wanted * tile[d];
  }
  return true;
}

}  // namespace tw::schedule
