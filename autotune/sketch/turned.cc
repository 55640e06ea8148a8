#include "autotune/sketch/turned.h"

#include <algorithm>

#include "autotune/sketch/contraction.h"
#include "schedule/loop_nest.h"
#include "schedule/operands.h"
#include "src/target/abilities.h"

namespace tw::autotune::sketch {

namespace {

using schedule::StageNest;

constexpr int64_t kProducts = 64;  // of each element, which pay for its copy
constexpr int64_t kTerms = 16;     // that lie side by side in it, for products of vectors

// The loads that a sum multiplies, once cast; nothing where it adds anything else.
std::vector<const ir::Load*> factors_of(const StageNest& stage) {
  const ir::Reduce* sum = stage.bodies.size() == 1 ? stage.reduction() : nullptr;
  const auto* product = sum && sum->op == ir::ReduceOp::kSum ? ir::as<ir::Binary>(sum->sources[0]) : nullptr;
  if (!product || product->op != ir::BinOp::kMul) return {};
  std::vector<const ir::Load*> factors;
  for (const ir::Expr& factor : {product->a, product->b}) {
    const auto* cast = ir::as<ir::Cast>(factor);
    const auto* load = cast ? ir::as<ir::Load>(cast->value) : nullptr;
    if (!load) return {};
    factors.push_back(load);
  }
  return factors;
}

// Products of the stage for each element of the operand.
int64_t products_of_each(const StageNest& stage, const ir::Load& operand) {
  int64_t products = 1, elements = 1;
  for (int root = 0; root < stage.data_rank + stage.reduce_rank; ++root)
    products *= stage.axes[static_cast<size_t>(root)].extent.value_or(1);
  for (const ir::Expr& extent : operand.buffer.shape()) elements *= ir::as_int(extent).value_or(1);
  return products / std::max<int64_t>(elements, 1);
}

// How the stage's operands may be turned, along the longest sum that both have as a subscript.
std::vector<Turned> turns_of(const schedule::LoopNest& nest, const StageNest& stage, const Target& target) {
  const std::vector<const ir::Load*> factors = factors_of(stage);
  if (factors.empty() || factors[0]->buffer.id() == factors[1]->buffer.id()) return {};
  const ir::Type types[] = {factors[0]->buffer.element(), factors[1]->buffer.element()}, sum = stage.op->dtype();
  if (!multiplies(target, types[0], types[1], sum) && !multiplies(target, types[1], types[0], sum)) return {};
  std::vector<Turned> turns;
  for (const ir::Load* operand : factors) {
    const ir::Load* other = factors[operand == factors[0] ? 1 : 0];
    const int source = nest.find_stage(operand->buffer.id());
    if (source == schedule::kNone || products_of_each(stage, *operand) < kProducts) continue;
    const schedule::Axis* longest = nullptr;
    for (int s = 0; s < stage.reduce_rank; ++s) {
      const schedule::Axis& axis = stage.axes[static_cast<size_t>(stage.data_rank + s)];
      const bool apart = schedule::place_of(operand->at, axis.var) >= 0 && schedule::place_of(other->at, axis.var) >= 0;
      if (apart && (!longest || longest->extent.value_or(0) < axis.extent.value_or(0))) longest = &axis;
    }
    const int place = longest ? schedule::place_of(operand->at, longest->var) : -1,
              last = static_cast<int>(operand->at.size()) - 1;
    if (place < 0 || place == last) continue;
    std::vector<std::string> axes;
    for (int d = 0; d <= last; ++d)
      if (d != place) axes.push_back("ax" + std::to_string(d));
    axes.push_back("ax" + std::to_string(place));
    turns.push_back({{nest.stage(source).name, ir::Scope::kGlobal, {stage.name}, axes}, longest->name});
  }
  return turns;
}

std::optional<Dot> best_dot(const Graph& graph, int stage, const Target& target) {
  const std::optional<Roles> roles = best_roles(graph, stage, target);
  return roles ? dot_of(graph, graph.at(stage), *roles, target) : std::nullopt;
}

// Whether groups of terms that a copy has side by side are multiplied at once, by tiles or so many that vectors gain.
bool gains(const Graph& graph, int stage, const Target& target) {
  const std::optional<Dot> dot = best_dot(graph, stage, target);
  if (!dot || dot->is_tile()) return dot.has_value();
  const bool slow = dot->left.bits > 8 && target::dots_words_slowly(target);
  return !slow && graph.at(stage).sums.back().extent >= kTerms;
}

}  // namespace

Graph turn_operands(Graph graph, const Target& target) {
  const auto narrow = [&](const Stage& stage) {
    return stage.kind == StageKind::kContraction &&
           std::ranges::any_of(stage.reads, [&](const Access& read) { return graph.at(read.stage).type.bits <= 16; });
  };
  if (target.abilities.device || std::ranges::none_of(graph.stages, narrow)) return graph;
  std::vector<Turned> turned;
  const schedule::Schedule plain(graph.outputs);
  const schedule::LoopNest& nest = plain.nest();
  for (int i = 0; i < nest.size(); ++i) {
    const std::vector<Turned> turns = turns_of(nest, nest.stage(i), target);
    if (turns.empty()) continue;
    const std::string& name = nest.stage(i).name;
    const int stage = graph.find(name);
    if (stage < 0 || graph.at(stage).kind != StageKind::kContraction || graph.at(stage).scan >= 0) continue;
    if (best_dot(graph, stage, target)) continue;
    for (const Turned& turn : turns) {
      std::vector<Turned> with = turned;
      with.push_back(turn);
      Graph next = analyse_turned(graph.outputs, target, with);
      if (!gains(next, next.find(name), target)) continue;
      std::swap(turned, with);
      std::swap(graph, next);
      break;
    }
  }
  return graph;
}

}  // namespace tw::autotune::sketch
