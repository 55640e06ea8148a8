// Proposals of products of a warp: like those that bind loops, Steps of a launch that are made together.
#include <algorithm>

#include "src/ir/walk.h"
#include "src/ir/warp_products.h"
#include "tests/diff/sample_steps.h"

namespace tw::diff {

bool rounds_factors(const StageNest& stage) {
  bool found = false;
  ir::walk(stage.op->compute()->body(), [&](const ir::Expr& e) {
    const auto* call = ir::as<ir::Call>(e);
    found = found || (call && call->fn == ir::Fn::kTF32);
    return !found;
  });
  return found;
}

namespace {

// The product by the stage's types; null: there is none.
const ir::WarpProduct* product_for(const StageNest& stage) {
  if (!stage.is_reduction() || stage.data_rank != 2 || stage.reduce_rank != 1 || stage.op->inputs.empty())
    return nullptr;
  for (const ir::WarpProduct& product : ir::warp_products()) {
    if (stage.op->inputs[0].dtype() != product.operand) continue;
    if (product.operand == product.sum && !rounds_factors(stage)) continue;
    bool some = true;
    for (size_t d = 0; d < 3; ++d) some = some && stage.axes[d].extent.known() && stage.axes[d].extent.value() > 0;
    if (some) return &product;
  }
  return nullptr;
}

// Whether whole products make up the stage.
bool is_whole(const StageNest& stage, const ir::WarpProduct& product) {
  const int64_t tile[] = {product.m, product.n, product.k};
  bool whole = true;
  for (size_t d = 0; d < 3; ++d) whole = whole && stage.axes[d].extent.value() % tile[d] == 0;
  return whole;
}

bool can_copy(Stepper& s, const std::string& name) {
  const std::vector<te::Tensor>& operands = s.stage(name).op->inputs;
  return operands.size() == 2 && !(operands[0] == operands[1]) &&
         std::ranges::all_of(operands, [&](const te::Tensor& operand) {
           return s.nest().find_stage(operand.name() + ".shared") == schedule::kNone;
         });
}

// Operands by way of shared memory, ahead of the terms that read them: by threads, or as boxes that the device copies,
// which do not reach past the end.
void copy_ahead(Stepper& s, const std::string& name, const std::string& terms, bool whole) {
  const std::vector<te::Tensor>& operands = s.stage(name).op->inputs;
  const char* ways[] = {"tma", "tma", "tma", "auto"};
  const char* by = ways[whole ? s.random().below(4) : 3];
  for (const te::Tensor& operand : operands) {
    s.launch.push_back(CacheRead{operand.name(), ir::Scope::kShared, {name}});
    s.launch.push_back(ComputeAt{operand.name() + ".shared", name, terms});
    s.plain.insert(operand.name() + ".shared");
    if (s.random().chance(50)) s.launch.push_back(schedule::Swizzle{operand.name() + ".shared", "auto"});
  }
  s.launch.push_back(schedule::Pipeline{name, terms, 2 + s.random().below(3), by});
  s.count(std::string("operands by ") + by);
}

}  // namespace

bool has_loops_of_warp(const StageNest& stage) { return product_for(stage) != nullptr; }

bool multiply_in_warps(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  const ir::WarpProduct* product = product_for(stage);
  if (!product || s.attached.contains(name) || stage.leaves.size() != 3 || s.random().chance(10)) return false;
  const bool whole = is_whole(stage, *product);
  if (!whole && !can_copy(s, name)) return false;
  for (const AxisId leaf : stage.leaves)
    if (stage.axes[leaf].annotation != Annotation::kNone) return false;
  const int64_t tile[] = {product->m, product->n, product->k};
  std::vector<std::string> outer, inner;
  for (size_t d = 0; d < 3; ++d) {
    const std::string& axis = stage.axes[d].name;
    s.launch.push_back(Split{name, axis, Factor(tile[d]), {}, whole ? Tail::kAuto : Tail::kMask});
    outer.push_back(axis + ".o");
    inner.push_back(axis + ".i");
  }
  const std::string rows = outer[0], columns = outer[1], terms = outer[2], first = inner[0];
  const bool by_columns = s.random().chance(50), terms_outside = s.random().chance(50);
  if (terms_outside && by_columns) std::swap(outer[1], outer[2]);  // each warp has several sums
  outer.insert(outer.end(), inner.begin(), inner.end());
  s.launch.push_back(Reorder{name, outer});
  s.launch.push_back(Bind{name, rows, s.random().chance(50) ? "blockIdx.x" : "threadIdx.y"});
  if (!(terms_outside && by_columns) && s.random().chance(60))
    s.launch.push_back(Bind{name, columns, s.random().chance(50) ? "blockIdx.y" : "threadIdx.z"});
  s.launch.push_back(Tensorize{name, first, std::string(product->name)});
  s.count(whole ? "product of a warp" : "product of a warp past the end");
  if (can_copy(s, name) && (!whole || !s.random().chance(10))) copy_ahead(s, name, terms, whole);
  return true;
}

}  // namespace tw::diff
