// Strides of what is kept of a stage.
#include "schedule/memory_strides.h"

#include "schedule/layout.h"
#include "src/ir/simplify.h"

namespace tw::schedule {

std::vector<ir::Expr> aligned_strides(const StageNest& stage, const std::vector<ir::Expr>& shape) {
  std::vector<ir::Expr> strides;
  if (stage.alignments.empty()) return strides;
  ir::Expr stride = 1;
  for (auto d = static_cast<AxisId>(shape.size()); d-- > 0;) {
    for (const Alignment& alignment : stage.alignments)
      if (alignment.axis == d)
        stride = stride + ir::floormod(ir::Expr(alignment.offset) - stride, ir::Expr(alignment.factor));
    stride = ir::simplify(stride);
    strides.insert(strides.begin(), stride);
    stride = stride * shape[d];
  }
  return strides;
}

std::vector<ir::Expr> memory_strides(const LoopNest& nest, const NestBounds& all, int i, size_t output, bool whole) {
  const StageNest& stage = nest.stage(i);
  if (!stage.layout && !stage.buffer().strides().empty()) return stage.buffer().strides();
  const std::vector<ir::Expr>& declared = stage.op->outputs[output].shape;
  std::vector<Extent> shape(declared.begin(), declared.end());
  const bool as_declared = whole || (stage.op->scan() && stage.attach.kind != AttachKind::kAt);
  for (int d = 0; d < stage.data_rank && !as_declared; ++d) shape[d] = all.stages[i].extent[d];
  if (stage.layout) shape = index_map(*stage.layout, shape).value_or_throw().shape;
  if (!stage.alignments.empty() && !stage.layout) {
    std::vector<ir::Expr> extents;
    for (const Extent& extent : shape) extents.push_back(extent.expr());
    return aligned_strides(stage, extents);
  }
  std::vector<ir::Expr> strides(shape.size());
  ir::Expr stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride = stride * shape[d].expr();
  }
  return strides;
}

bool side_by_side(const std::vector<ir::Expr>& strides, const std::vector<ir::Expr>& tile,
                  const std::vector<std::vector<int64_t>>& factor, const std::vector<ir::Expr>& wanted) {
  ir::Expr compact = 1;
  for (size_t d = tile.size(); d-- > 0;) {
    if (ir::is_int(tile[d], 1) || (!wanted.empty() && !ir::as_int(wanted[d]))) continue;
    ir::Expr apart = 0;
    for (size_t s = 0; s < strides.size(); ++s) {
      if (factor[s][d] == 0) continue;
      apart = apart + strides[s] * ir::Expr(factor[s][d]);
    }
    if (!ir::is_int(ir::simplify(apart - (wanted.empty() ? compact : wanted[d])), 0)) return false;
    compact = compact * tile[d];
  }
  return true;
}

}  // namespace tw::schedule
