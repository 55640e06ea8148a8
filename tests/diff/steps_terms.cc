// Proposals that round up the terms of a sum of products, of which copies hold zeros past the end.
#include <optional>

#include "src/ir/walk.h"
#include "tests/diff/sample_steps.h"

namespace tw::diff {

namespace {

struct Factors {
  ir::Expr left, right;
};

// The loads that a sum multiplies, of two tensors.
std::optional<Factors> factors_of(const StageNest& stage) {
  const ir::Reduce* sum = stage.bodies.size() == 1 ? stage.reduction() : nullptr;
  const auto* product = sum && sum->op == ir::ReduceOp::kSum ? ir::as<ir::Binary>(sum->sources[0]) : nullptr;
  if (!product || product->op != ir::BinOp::kMul) return {};
  const auto load = [](const ir::Expr& factor) {
    const auto* cast = ir::as<ir::Cast>(factor);
    return cast ? cast->value : factor;
  };
  const Factors found{load(product->a), load(product->b)};
  const auto *left = ir::as<ir::Load>(found.left), *right = ir::as<ir::Load>(found.right);
  return left && right && left->buffer.id() != right->buffer.id() ? std::optional(found) : std::nullopt;
}

// The dimension of a tensor as long as the axis that is the axis alone.
std::optional<size_t> dimension_of(const ir::Load& load, const Axis& axis) {
  for (size_t d = 0; d < load.at.size(); ++d) {
    const auto* var = ir::as<ir::VarRef>(load.at[d]);
    if (var && var->var == axis.var && Extent(load.buffer.shape()[d]) == axis.extent) return d;
  }
  return {};
}

// A copy of what the sum reads, rounded up by a layout, which may hold ones, or by a split of its own.
bool copy_rounded_up(Stepper& s, const std::string& sum, const ir::Load& load, size_t dimension, int64_t by,
                     bool ones) {
  const std::string source = s.nest().stage(s.nest().find_stage(load.buffer.id())).name, scope = "global";
  const std::string copy = s.nest().unique_name(source + "." + scope);
  if (!s.may(CacheRead{source, Scope::kGlobal, {sum}})) return false;
  const std::string axis = "ax" + std::to_string(dimension), size = std::to_string(by);
  if (!ones && s.random().chance(50)) return s.must(Split{copy, axis, Factor(by), {}, Tail::kPad});
  std::vector<std::string> indices;
  for (size_t d = 0; d < load.at.size(); ++d)
    if (d != dimension) indices.push_back("ax" + std::to_string(d));
  indices.insert(indices.begin() + s.random().below(static_cast<int64_t>(indices.size()) + 1), axis + " // " + size);
  indices.push_back(axis + " % " + size);
  return s.must(TransformLayout{copy, indices, ones ? "1" : "0"});
}

}  // namespace

void pad_terms(Stepper& s, const std::string& name) {
  const std::optional<Factors> factors = factors_of(s.stage(name));
  if (!factors || s.on_device || has_loops_of_intrinsic(s.stage(name))) return;
  for (int axis = 0; axis < s.stage(name).reduce_rank; ++axis) {
    const Axis terms = s.stage(name).axes[static_cast<size_t>(s.stage(name).data_rank + axis)];
    const ir::Load &left_load = *ir::as<ir::Load>(factors->left), &right_load = *ir::as<ir::Load>(factors->right);
    const auto left = dimension_of(left_load, terms), right = dimension_of(right_load, terms);
    if (!left || !right || !terms.extent.known() || terms.extent.value() < 2) continue;
    const int64_t by = s.random().one_of<int64_t>({2, 3, 4, 8});
    const bool one = s.random().chance(15), ones = s.random().chance(20);  // the condition stays
    if (!copy_rounded_up(s, name, left_load, *left, by, ones)) return;
    if (!one && !copy_rounded_up(s, name, right_load, *right, by, ones)) return;
    if (s.must(Split{name, terms.name, Factor(by), {}, Tail::kPad}) && terms.extent.value() % by != 0)
      s.count("terms past the end");
    return;
  }
}

}  // namespace tw::diff
