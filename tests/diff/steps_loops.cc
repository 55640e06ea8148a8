// Proposals that change a stage's loops, and those that say how a loop runs.
#include <algorithm>
#include <optional>

#include "src/ir/walk.h"
#include "tests/diff/sample_steps.h"

namespace tw::diff {

namespace {

// Revisited values are harmless while nothing is added to what is there: no reduction outside, so no reordering later.
Tail tail_for(Stepper& s, const std::string& name, bool reduction) {
  const bool in_order = !s.reordered.contains(name);
  const Tail tail = s.random().one_of({Tail::kAuto, Tail::kGuard, Tail::kMask, Tail::kPeel, Tail::kShiftInward});
  if (tail == Tail::kShiftInward && (reduction || !in_order || s.on_device)) return Tail::kGuard;
  if (tail == Tail::kShiftInward) s.shifted.insert(name);
  return tail;
}

// Parts of two or three, of which the last has none.
std::optional<Factor> too_many_parts(Stepper& s, const Extent& extent) {
  if (!extent.known()) return {};
  const int64_t n = extent.value(), size = 2 + s.random().below(2), parts = (n + size - 1) / size + 1;
  return (n + parts - 1) / parts == size ? std::optional<Factor>(parts) : std::nullopt;
}

// How many neighbours along the axis read the same element, as i // 3 does.
std::optional<int64_t> repeats(const StageNest& stage, const Axis& axis) {
  std::optional<int64_t> found;
  for (const ir::Expr& body : stage.bodies)
    ir::walk(body, [&](const ir::Expr& e) {
      const auto* quotient = ir::as<ir::Binary>(e);
      if (!quotient || quotient->op != ir::BinOp::kFloorDiv) return true;
      const auto* var = ir::as<ir::VarRef>(quotient->a);
      if (var && axis.var && var->var == axis.var) found = ir::as_int(quotient->b);
      return true;
    });
  return found;
}

// The axis itself, or the outer loop of splits by factors that are numbers.
bool is_padding_legal(const StageNest& stage, const Axis& axis) {
  if (stage.op->scan()) return false;
  if (axis.reduction ? stage.bodies.size() != 1 || stage.reduction()->op != ir::ReduceOp::kSum : stage.output)
    return false;
  AxisId at = stage.find_axis(axis.name);
  for (auto relation = stage.relations.rbegin(); relation != stage.relations.rend(); ++relation)
    if (const auto* split = std::get_if<SplitRelation>(&*relation); split && split->outer == at && !split->by_parts()) {
      if (!split->factor.known()) return false;
      at = split->parent;
    }
  return at < stage.data_rank + stage.reduce_rank;
}

// Parts that read one element each, some of them past the end: of these, the element would be past the end as well.
bool split_by_repeats(Stepper& s, const std::string& name, const Axis& axis) {
  const std::optional<int64_t> times = repeats(s.stage(name), axis);
  if (!times || *times < 2 || !s.random().chance(70)) return false;
  if (!s.must(Split{name, axis.name, Factor(*times), {}, Tail::kGuard})) return false;
  const std::string outer = axis.name + ".o";
  const Extent parts = s.stage(name).axes[s.stage(name).find_axis(outer)].extent;
  s.must(Split{name, outer, s.factor(parts), {}, Tail::kGuard});
  s.count("parts that read one element");
  return true;
}

}  // namespace

void split(Stepper& s, const std::string& name) {
  const Axis axis = s.stage(name).axes[s.random().pick(s.stage(name).leaves)];
  if (split_by_repeats(s, name, axis)) return;
  const Factor f = s.size(axis.extent);
  const bool pad = f.size.empty() && is_padding_legal(s.stage(name), axis) && s.random().chance(20);
  const Tail tail = pad ? Tail::kPad : tail_for(s, name, axis.reduction);
  Split step{name, axis.name, {}, {}, tail};
  if (s.random().chance(70)) {
    step.factor = f;
  } else {
    step.nparts = s.random().chance(60) ? too_many_parts(s, axis.extent).value_or(f) : f;
  }
  if (s.must(step)) s.count_tail(tail, axis.extent, f.value);
}

void tile(Stepper& s, const std::string& name) {
  const std::vector<std::string> names = s.loop_names(name);
  // A tile reorders, so a reduction may come to stand outside of a loop that revisits values.
  if (names.size() < 2 || s.shifted.contains(name)) return;
  const size_t x = static_cast<size_t>(s.random().below(static_cast<int64_t>(names.size()) - 1));
  const StageNest& nest = s.stage(name);
  const auto may_pad = [&](size_t loop) { return is_padding_legal(nest, nest.axes[nest.leaves[loop]]); };
  const Extent ex = nest.axes[nest.leaves[x]].extent, ey = nest.axes[nest.leaves[x + 1]].extent;
  const Factor fx = s.size(ex), fy = s.size(ey);
  const bool pad = fx.size.empty() && fy.size.empty() && may_pad(x) && may_pad(x + 1) && s.random().chance(20);
  const Tail tail = pad ? Tail::kPad : s.random().one_of({Tail::kAuto, Tail::kGuard, Tail::kMask, Tail::kPeel});
  s.reordered.insert(name);
  if (!s.must(Tile{name, names[x], names[x + 1], fx, fy, tail})) return;
  s.count_tail(tail, ex, fx.value);
  s.count_tail(tail, ey, fy.value);
}

void fuse(Stepper& s, const std::string& name) {
  const StageNest& nest = s.stage(name);
  if (nest.leaves.size() < 2) return;
  const size_t first = static_cast<size_t>(s.random().below(static_cast<int64_t>(nest.leaves.size()) - 1));
  std::vector<std::string> names = {nest.axes[nest.leaves[first]].name};
  for (size_t next = first + 1; next < nest.leaves.size() && (next == first + 1 || s.random().chance(30)); ++next) {
    if (nest.axes[nest.leaves[next]].reduction != nest.axes[nest.leaves[first]].reduction) break;
    names.push_back(nest.axes[nest.leaves[next]].name);
  }
  if (names.size() > 1) s.must(Fuse{name, names});
}

void reorder(Stepper& s, const std::string& name) {
  if (s.shifted.contains(name)) return;
  std::vector<std::string> names = s.loop_names(name);
  for (size_t i = names.size(); i > 1; --i) std::swap(names[i - 1], names[s.random().below(static_cast<int64_t>(i))]);
  if (names.size() > 2 && s.random().chance(40)) names.pop_back();
  s.reordered.insert(name);
  s.must(Reorder{name, names});
}

void annotate(Stepper& s, const std::string& name) {
  if (s.plain.contains(name)) return;
  const std::vector<AxisId> leaves = s.stage(name).leaves;
  Random& random = s.random();
  int64_t copies = 1;
  size_t serial_from = leaves.size();  // loops from here on stand inside a vectorized one
  const bool sum = s.stage(name).is_reduction() && random.chance(40);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Axis axis = s.stage(name).axes[leaves[i]];
    if (s.on_device && i == 0 && !axis.reduction) continue;  // to be bound
    const bool inside_vector = i > serial_from;
    if (!s.on_device && !axis.reduction && !inside_vector && !s.shifted.contains(name) && i < 2 && random.chance(25)) {
      s.must(Parallel{name, axis.name});
    } else if (!axis.reduction && !inside_vector && axis.extent.known() && axis.extent.value() <= 1024 &&
               random.chance(i + 1 == leaves.size() ? 60 : 15)) {
      if (s.must(Vectorize{name, axis.name})) serial_from = i;
    } else if (sum && axis.reduction && !inside_vector && axis.extent.known() && axis.extent.value() <= 64 &&
               s.stage(name).tensorized.axis == schedule::kNone && random.chance(50)) {
      if (s.must(Vectorize{name, axis.name})) serial_from = i;
      s.count("sum across lanes");
    } else if (axis.extent.known() && axis.extent.value() * copies <= 32 && random.chance(25)) {
      copies *= std::max<int64_t>(axis.extent.value(), 1);
      s.must(Unroll{name, axis.name});
    } else if (random.chance(5)) {
      const bool explicitly = random.chance(70);
      s.must(Pragma{name, axis.name, explicitly ? "auto_unroll_max_step" : "unroll_explicit", random.below(20)});
    }
  }
}

}  // namespace tw::diff
