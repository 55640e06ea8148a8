// Scratch of the size of a stage's region, and subscripts counted from where the region begins.
#include "schedule/storage.h"

#include "schedule/box_copies.h"
#include "schedule/lanes.h"
#include "schedule/memory_strides.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

std::string buffer_name(const StageNest& stage, size_t output) {
  return stage.buffers.size() == 1 ? stage.name : stage.name + ".v" + std::to_string(output);
}

std::vector<std::string> changing_buffers(const LoopNest& nest) {
  std::vector<std::string> changing;
  for (int i = 0; i < nest.size(); ++i) {
    const StageNest& stage = nest.stage(i);
    if (!has_turning_buffer(nest, i) && !stage.is_reduction()) continue;
    for (size_t output = 0; output < stage.buffers.size(); ++output)
      for (const char* part : {"", ".lanes", ".part", ".parts"}) changing.push_back(buffer_name(stage, output) + part);
  }
  return changing;
}

Storage::Storage(const LoopNest& nest, const Placement& placed, const NestBounds& all, std::vector<Slide> slides,
                 IndexMaps layouts, const Arguments& arguments)
    : nest_(nest),
      all_(all),
      arguments_(arguments),
      slides_(std::move(slides)),
      layouts_(std::move(layouts)),
      swizzlings_(nest.size()),
      buffers_(nest.size()) {
  for (int i = 0; i < nest.size(); ++i) {
    if (whole(i)) slides_[i] = {};
    if (auto given = arguments.find(i); given != arguments.end()) buffers_[i] = given->second;
    if (!placed.live(i)) continue;
    if (nest.stage(i).swizzled != 0) swizzlings_[i] = swizzling_of(nest, placed, i, all.stages[i].extent);
    buffers_[i].resize(nest.stage(i).buffers.size());
    for (size_t output = 0; output < buffers_[i].size(); ++output)
      if (!buffers_[i][output]) buffers_[i][output] = scratch(i, output, placed.parent[i] == kNone, placed.scope[i]);
  }
}

bool Storage::whole(int i) const {
  return nest_.stage(i).is_placeholder() || nest_.stage(i).op->external() || arguments_.contains(i);
}

std::vector<Extent> Storage::region(int i) const {
  const std::vector<Extent>& extent = all_.stages[i].extent;
  return {extent.begin(), extent.begin() + nest_.stage(i).data_rank};
}

ir::Buffer Storage::scratch(int i, size_t output, bool root, Scope scope) const {
  const StageNest& stage = nest_.stage(i);
  const te::Output& kept = stage.op->outputs[output];
  std::vector<ir::Expr> shape = kept.shape;
  const bool as_declared = whole(i) || (stage.op->scan() && root);  // states may differ
  for (int d = 0; d < stage.data_rank && !as_declared; ++d) shape[d] = all_.stages[i].extent[d].expr();
  std::vector<ir::Expr> strides = aligned_strides(stage, shape);
  if (layouts_[i]) {
    shape.clear();
    for (const Extent& extent : layouts_[i]->shape) shape.push_back(extent.expr());
  }
  if (swizzlings_[i].panels > 1) {
    shape.clear();
    for (const Extent& extent : in_panels(swizzlings_[i], region(i))) shape.push_back(extent.expr());
  }
  if (slides_[i].slots > 0) {
    if (!strides.empty())
      strides.insert(strides.begin(), strides[0] * shape[0]);
    else if (slides_[i].boxes)
      strides = box_strides(swizzlings_[i], in_panels(swizzlings_[i], region(i)), kept.dtype);
    shape.insert(shape.begin(), slides_[i].slots);
  }
  return ir::Buffer(buffer_name(stage, output), kept.dtype, shape, scope, strides);
}

std::vector<ir::Expr> Storage::position(int stage, std::vector<ir::Expr> at, bool swizzled) const {
  const Slide& slide = slides_[stage];
  if (slide.kind == SlideKind::kRolling)
    at[slide.dim] = ir::simplify(ir::floormod(all_.stages[stage].lo[slide.dim] + at[slide.dim], ir::Expr(slide.extent)),
                                 all_.ranges);
  return memory(stage, std::move(at), swizzled);
}

// The subscripts of an element, from those in the region as it is kept.
std::vector<ir::Expr> Storage::memory(int stage, std::vector<ir::Expr> at, bool as_swizzled) const {
  if (layouts_[stage]) {
    at = place(*nest_.stage(stage).layout, at);
    for (ir::Expr& subscript : at) subscript = ir::simplify(subscript, all_.ranges);
  }
  const Swizzling& swizzling = swizzlings_[stage];
  if (swizzling.panels > 1) {
    at = in_panels(swizzling, std::move(at));
    for (ir::Expr& subscript : at) subscript = ir::simplify(subscript, all_.ranges);
  }
  if (as_swizzled && swizzling.parts > 0 && !at.empty()) {
    at = swizzled(swizzling, in_panels(swizzling, region(stage)), std::move(at));
    at.back() = ir::simplify(at.back(), all_.ranges);
  }
  const Slide& slide = slides_[stage];
  if (slide.slots > 0)
    at.insert(at.begin(), ir::simplify(ir::floormod(slide.turn(), ir::Expr(slide.slots)), all_.ranges));
  return at;
}

// For each dimension that is rounded up: what is past its end, over the elements of those before it and all of those
// behind it.
ir::Stmt Storage::padding(int stage) const {
  std::vector<ir::Stmt> fills;
  for (size_t d = 0; layouts_[stage] && d < layouts_[stage]->extents.size(); ++d) {
    const IndexMap& map = *layouts_[stage];
    if (map.padded[d] == map.extents[d]) continue;
    std::vector<std::pair<ir::Var, ir::Expr>> loops;
    std::vector<ir::Expr> at;
    for (size_t e = 0; e < map.extents.size(); ++e) {
      const ir::Expr extent = (e < d ? map.extents[e] : map.padded[e]).expr();
      loops.emplace_back(ir::Var("f" + std::to_string(e)),
                         e == d ? ir::simplify(extent - map.extents[d].expr()) : extent);
      at.push_back(e == d ? map.extents[d].expr() + loops.back().first : ir::Expr(loops.back().first));
    }
    for (const ir::Buffer& buffer : buffers_[stage]) {
      ir::Stmt fill = ir::store(buffer, memory(stage, at), pad_of(*nest_.stage(stage).layout, buffer.element()));
      for (size_t e = loops.size(); e-- > 0;) fill = ir::loop(loops[e].first, loops[e].second, fill);
      fills.push_back(ir::refresh(ir::simplify(fill, all_.ranges)));
    }
  }
  return ir::seq(std::move(fills));
}

ir::Expr Storage::redirected(const ir::Load& load, int source, bool swizzled) const {
  std::vector<ir::Expr> at;
  for (size_t d = 0; d < load.at.size(); ++d)
    at.push_back(ir::simplify(whole(source) ? load.at[d] : load.at[d] - all_.stages[source].lo[d], all_.ranges));
  return ir::load(buffers_[source][nest_.stage(source).output_of(load.buffer.id())],
                  position(source, std::move(at), swizzled));
}

std::pair<ir::Buffer, std::vector<ir::Expr>> Storage::moved(const ir::Buffer& tensor,
                                                            const std::vector<ir::Expr>& at) const {
  int kept = nest_.find_stage(tensor.id());
  TW_CHECK(slides_[kept].kind == SlideKind::kNone, "vectors of a buffer that turns");
  std::vector<ir::Expr> moved;
  const bool as_it_is = whole(kept) || layouts_[kept];
  for (size_t d = 0; d < at.size(); ++d)
    moved.push_back(ir::simplify(as_it_is ? at[d] : plus(at[d], times(all_.stages[kept].lo[d], -1)), all_.ranges));
  return std::pair(buffers_[kept][nest_.stage(kept).output_of(tensor.id())], std::move(moved));
}

ir::Expr Storage::apart(const ir::Buffer& tensor, const std::vector<int64_t>& factor) const {
  const int kept = nest_.find_stage(tensor.id());
  const ir::Buffer& buffer = buffers_[kept][nest_.stage(kept).output_of(tensor.id())];
  const std::vector<ir::Expr> strides = strides_of(buffer);
  ir::Expr sum = 0;
  for (size_t d = factor.size(); d-- > 0;) sum = plus(sum, strides[d] * ir::Expr(factor[d]));
  return ir::simplify(sum, all_.ranges);
}

ir::Expr Storage::offset(const ir::Buffer& tensor, const std::vector<ir::Expr>& at) const {
  const auto [buffer, place] = moved(tensor, at);
  const std::vector<ir::Expr> strides = strides_of(buffer);
  ir::Expr sum = 0;
  for (size_t d = 0; d < place.size(); ++d) sum = sum + place[d] * strides[d];
  return ir::simplify(sum, all_.ranges);
}

std::vector<ir::Expr> Storage::strides_of(const ir::Buffer& buffer) {
  std::vector<ir::Expr> strides = buffer.strides();
  ir::Expr stride = 1;
  for (size_t d = strides.empty() ? buffer.rank() : 0; d-- > 0; stride = stride * buffer.shape()[d])
    strides.insert(strides.begin(), stride);
  return strides;
}

ir::Stmt Storage::relocated(const ir::Stmt& statement) const {
  const auto ours = [&](const ir::Buffer& buffer) { return nest_.find_stage(buffer.id()) != kNone; };
  return ir::refresh(ir::rewrite(
      statement,
      [&](const ir::Stmt& s) {
        const auto* st = ir::as<ir::Store>(s);
        if (!st || !ours(st->buffer)) return s;
        auto [buffer, at] = moved(st->buffer, st->at);
        return ir::store(buffer, at, st->value, st->pred);
      },
      [&](const ir::Expr& e) {
        if (const auto* l = ir::as<ir::Load>(e); l && ours(l->buffer)) {
          auto [buffer, at] = moved(l->buffer, l->at);
          return ir::load(buffer, at, l->pred);
        }
        if (const auto* a = ir::as<ir::Address>(e); a && ours(a->buffer)) {
          auto [buffer, at] = moved(a->buffer, a->at);
          return ir::address_of(buffer, at, a->read, a->written);
        }
        return e;
      }));
}

}  // namespace tw::schedule
