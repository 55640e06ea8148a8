// Proposals of products of four warps, as those of one: Steps of a launch that are made together.
#include <algorithm>
#include <array>

#include "src/ir/group_products.h"
#include "tests/diff/sample_steps.h"

namespace tw::diff {

namespace {

constexpr int64_t kLeastLine = 32;  // bytes
constexpr int64_t kMostGroups = 8;  // of a block of 1024 threads

// What a stage's loops, which are sizes of a product or multiples of them, can be computed by.
struct Choice {
  const ir::WarpProduct* product = nullptr;  // null: by none
  int64_t step = 0;                          // terms that are copied at once
};

// Columns along rows of the right operand have whole lines in a product, of 32 bytes or more.
bool fits(const ir::WarpProduct& p, const std::array<int64_t, 3>& extents, bool rows_of_terms) {
  const auto [rows, columns, terms] = extents;
  if (rows % p.m != 0 || columns % p.n != 0 || terms % p.k != 0) return false;
  if (rows / p.m * (columns / p.n) > kMostGroups) return false;
  return rows_of_terms || (p.operand.bits == 16 && p.n * p.operand.bytes() % kLeastLine == 0);
}

// Blocks along the columns, which read the same rows, in boxes: parts of 8 of them.
bool can_be_cluster(const StageNest& stage, const Choice& choice) {
  const int64_t blocks = stage.axes[1].extent.value() / choice.product->n, terms = stage.axes[2].extent.value();
  const te::Tensor& right = stage.op->inputs[1];
  return (blocks == 2 || blocks == 4 || blocks == 8) && terms > choice.step &&
         choice.product->operand != choice.product->sum && ir::is_int(right.shape()[1], terms);
}

Choice choose(Stepper& s, const StageNest& stage) {
  if (!stage.is_reduction() || stage.data_rank != 2 || stage.reduce_rank != 1 || stage.op->inputs.size() != 2)
    return {};
  std::array<int64_t, 3> extents{};
  for (size_t d = 0; d < 3; ++d) {
    if (!stage.axes[d].extent.known()) return {};
    extents[d] = stage.axes[d].extent.value();
  }
  const te::Tensor &left = stage.op->inputs[0], &right = stage.op->inputs[1];
  const auto has = [](const te::Tensor& t, int64_t rows, int64_t columns) {
    return t.shape().size() == 2 && ir::is_int(t.shape()[0], rows) && ir::is_int(t.shape()[1], columns);
  };
  const bool rows_of_terms = has(right, extents[1], extents[2]), across = has(right, extents[2], extents[1]);
  if (left == right || !has(left, extents[0], extents[2]) || rows_of_terms == across) return {};
  std::vector<const ir::WarpProduct*> known;
  for (const ir::WarpProduct& p : ir::group_products())
    if (p.operand == left.dtype() && p.operand == right.dtype() && p.sum == stage.op->outputs[0].dtype &&
        (p.operand != p.sum || rounds_factors(stage)) && fits(p, extents, rows_of_terms))
      known.push_back(&p);
  if (known.empty()) return {};
  std::vector<Choice> of_clusters;  // few products have some
  for (const ir::WarpProduct* p : known)
    if (const Choice choice{p, p->k}; can_be_cluster(stage, choice)) of_clusters.push_back(choice);
  if (!of_clusters.empty() && s.random().chance(70)) return s.random().pick(of_clusters);
  Choice out{known[s.random().below(known.size())]};
  std::vector<int64_t> steps;
  for (int64_t step = out.product->k; step <= extents[2]; step += out.product->k)
    if (extents[2] % step == 0) steps.push_back(step);
  out.step = s.random().chance(60) ? steps[0] : steps[s.random().below(steps.size())];
  return out;
}

}  // namespace

bool multiply_in_groups(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  if (s.attached.contains(name) || stage.leaves.size() != 3) return false;
  for (const AxisId leaf : stage.leaves)
    if (stage.axes[leaf].annotation != Annotation::kNone) return false;
  const Choice choice = choose(s, stage);
  if (!choice.product || s.random().chance(20)) return false;
  for (const te::Tensor& operand : stage.op->inputs)
    if (s.nest().find_stage(operand.name() + ".shared") != schedule::kNone) return false;
  const std::string i = stage.axes[0].name, j = stage.axes[1].name, k = stage.axes[2].name, terms = k + ".o";
  s.launch.push_back(Split{name, i, Factor(choice.product->m), {}, Tail::kAuto});
  s.launch.push_back(Split{name, j, Factor(choice.product->n), {}, Tail::kAuto});
  s.launch.push_back(Split{name, k, Factor(choice.step), {}, Tail::kAuto});
  s.launch.push_back(Split{name, k + ".i", Factor(choice.product->k), {}, Tail::kAuto});
  s.launch.push_back(Reorder{name, {i + ".o", j + ".o", terms, k + ".i.o", i + ".i", j + ".i", k + ".i.i"}});
  const bool clusters = can_be_cluster(stage, choice) && s.random().chance(80);
  s.launch.push_back(Bind{name, i + ".o", s.random().chance(50) ? "blockIdx.x" : "threadIdx.y"});
  s.launch.push_back(Bind{name, j + ".o", clusters || s.random().chance(50) ? "blockIdx.y" : "threadIdx.z"});
  s.launch.push_back(Tensorize{name, i + ".i", std::string(choice.product->name)});
  for (const te::Tensor& operand : stage.op->inputs) {
    s.launch.push_back(CacheRead{operand.name(), ir::Scope::kShared, {name}});
    s.launch.push_back(ComputeAt{operand.name() + ".shared", name, terms});
    s.launch.push_back(schedule::Swizzle{operand.name() + ".shared", s.random().chance(30) ? "32" : "auto"});
    s.plain.insert(operand.name() + ".shared");
  }
  const bool rounded = choice.product->operand == choice.product->sum;  // by threads, in registers
  const char* ways[] = {"auto", "auto", "auto", "ldg", "", "cp.async"};
  if (const char* by = clusters ? "tma" : ways[s.random().below(rounded ? 5 : 6)])
    if (*by != 0) s.launch.push_back(schedule::Pipeline{name, terms, 2 + s.random().below(3), by});
  if (clusters) s.launch.push_back(schedule::Cluster{name, j + ".o"});
  s.count("product of four warps");
  return true;
}

}  // namespace tw::diff
