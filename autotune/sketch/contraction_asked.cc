// Which tiles of the outputs are computed: where all who read them do so under a condition, as of causal scores, those
// of which some element is read.
//
//   max over j of (j <= i ? S[i, j] : -inf)     ==>     S.set_store_predicate(j // 64 * 64 <= i // 6 * 6 + 5)
#include <algorithm>

#include "autotune/sketch/contraction_rule.h"
#include "schedule/loop_nest.h"
#include "schedule/narrow.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

using Forms = std::vector<ir::Expr>;  // none of them is negative

// Over the axes of the stage, where the reader asks for the element at which it is itself; nothing where it asks for
// others: then a copy of what it reads may stand between them.
std::optional<Forms> asked_by(const Stage& reader, const schedule::GuardedLoad& read, const Stage& stage) {
  std::vector<Axis> own = reader.data;
  own.insert(own.end(), reader.sums.begin(), reader.sums.end());
  const std::vector<ir::Expr>& at = ir::as<ir::Load>(read.load)->at;
  ir::Substitution axes;
  for (size_t d = 0; d < at.size(); ++d) {
    if (d >= own.size() || !is_axis(at[d], own[d])) return std::nullopt;
    axes[own[d].var.id()] = stage.data[d].var;
  }
  Forms forms;
  for (const ir::Expr& form : read.holds)
    if (std::ranges::all_of(ir::used_vars(form), [&](uint64_t id) { return axes.contains(id); }))
      forms.push_back(ir::simplify(ir::substitute(form, axes)));
  return forms;
}

// Whether rules copy nothing that it reads at its own place.
bool reads_as_it_lies(const Graph& graph, const Stage& reader) {
  return (reader.kind == StageKind::kPointwise || reader.kind == StageKind::kReduction) && reader.scan < 0 &&
         std::ranges::none_of(
             reader.reads,
             [&](const Access& read) {
               return graph.at(read.stage).kind == StageKind::kScan || graph.at(read.stage).scan >= 0;
             });
}

// Wherever an element of the stage is read.
Forms asked(const Graph& graph, const schedule::StageNest& nest, const Stage& stage) {
  std::optional<Forms> common;
  for (int reader : stage.readers) {
    if (!reads_as_it_lies(graph, graph.at(reader))) return {};
    for (const ir::Expr& body : graph.at(reader).bodies)
      for (const schedule::GuardedLoad& read : schedule::guarded_loads(body)) {
        if (nest.output_of(ir::as<ir::Load>(read.load)->buffer.id()) == schedule::kNone) continue;
        const std::optional<Forms> here = asked_by(graph.at(reader), read, stage);
        if (!here) return {};
        if (!common) common = here;
        std::erase_if(*common, [&](const ir::Expr& known) {
          return std::ranges::none_of(*here, [&](const ir::Expr& form) { return ir::equal(form, known); });
        });
      }
  }
  return common.value_or(Forms{});
}

}  // namespace

// Sums in blocks are those of a whole task, whichever tiles are stored.
void Contraction::leave_out_tiles() {
  if (root_.output || root_.readers.empty() || value("block") > 0) return;
  const schedule::LoopNest& nest = k_.s.nest();
  ir::Bounds ranges;
  for (const Axis& axis : root_.data) ranges[axis.var.id()] = {0, axis.extent - 1};
  ir::Expr all;
  for (const ir::Expr& form : asked(k_.graph, nest.stage(nest.find_stage(root_.name)), root_)) {
    const ir::Linear asks = ir::decompose(form);
    ir::Linear most = ir::Linear::point(0), least = most;  // of a tile: least <= most
    int tiled = 0;
    most.add_constant(asks.constant);
    for (const ir::Term& term : asks.terms) {
      const int64_t size = tile_along(term.atom);
      tiled += size > 1;
      const ir::Expr begin = size > 1 ? ir::floordiv(term.atom, size) * ir::Expr(size) : term.atom;
      (term.factor > 0 ? most : least).add(begin, std::abs(term.factor));
      if (term.factor > 0) most.add_constant(term.factor * (size - 1));
    }
    if (tiled < 2 || asks.overflow || most.overflow) continue;
    const ir::Expr holds = ir::build(least, 1) <= ir::build(most, 1);
    if (!ir::can_prove(holds, ranges)) all = all ? all && holds : holds;
  }
  if (all) k_.step(schedule::SetStorePredicate{root_.name, ir::to_string(all)});
}

// Elements of a tile along an axis of the outputs.
int64_t Contraction::tile_along(const ir::Expr& axis_of_outputs) {
  const auto is = [&](int d) { return d >= 0 && is_axis(axis_of_outputs, root_.data[static_cast<size_t>(d)]); };
  if (is(roles_.rows)) return value("tile", 0);
  if (is(roles_.lanes)) return value("tile", 1);
  return is(roles_.share) && lines_ > 1 ? value("tile", 2) : 1;
}

}  // namespace tw::autotune::sketch
