// Loops, guards, init and update, allocations.
//
//   C reduces over k, leaves i, k, j.o, j.i; P attached at k; j split unevenly:
//
//     for i:
//       for j.o, j.i: if j.o*f + j.i < n: C[i, j] = identity          // data loops inside the outermost reduction loop
//       for k:
//         alloc P: ... P ...
//         for j.o, j.i: if j.o*f + j.i < n: C[i, j] = C[i, j] op x
//
// A condition stands directly inside the innermost loop that it mentions.
#include "schedule/emit.h"

#include <algorithm>

#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

struct Condition {
  ir::Expr holds;
  int level;  // how many loops of the stage are open where it can be tested
  bool data;  // of the data axes: the init part has to obey it too
};

class Emitter {
 public:
  Emitter(const LoopNest& nest, const Placement& placed, const NestBounds& all, const Arguments& arguments)
      : nest_(nest), placed_(placed), all_(all), arguments_(arguments), buffers_(nest.size()), attached_(nest.size()) {
    for (int i = 0; i < nest.size(); ++i) {
      if (auto given = arguments.find(i); given != arguments.end()) buffers_[i] = given->second;
      if (!placed.live(i)) continue;
      buffers_[i].resize(nest.stage(i).buffers.size());
      for (size_t output = 0; output < buffers_[i].size(); ++output)
        if (!buffers_[i][output]) buffers_[i][output] = scratch(i, output);
      if (placed.parent[i] == kNone) {
        roots_.push_back(i);
      } else {
        attached_[placed.parent[i]].push_back(i);
      }
    }
  }

  ir::Stmt program() {
    ir::Stmt rest = ir::seq({});
    for (size_t i = roots_.size(); i-- > 0;) rest = produce(roots_[i], rest, false);
    return rest;
  }

 private:
  struct Stage {  // under emission
    int id;
    const StageNest& nest;
    const StageBounds& bounds;
    std::vector<Condition> conditions;
    int first_reduction;  // position among the leaves; their number when there is none
    bool in_vector;
  };

  // Whether the stage is kept whole, so that its root axes are its subscripts.
  bool whole(int i) const { return nest_.stage(i).is_placeholder() || arguments_.contains(i); }

  ir::Buffer scratch(int i, size_t output) const {
    const StageNest& stage = nest_.stage(i);
    const te::Output& kept = stage.op->outputs[output];
    std::vector<ir::Expr> shape = kept.shape;
    for (int d = 0; d < stage.data_rank && !whole(i); ++d) shape[d] = all_.stages[i].extent[d];
    Scope scope = stage.scope.value_or(placed_.parent[i] == kNone ? Scope::kGlobal : Scope::kLocal);
    std::string name = buffers_[i].size() == 1 ? stage.name : stage.name + ".v" + std::to_string(output);
    return ir::Buffer(name, kept.dtype, shape, scope);
  }

  // The stage, then `rest`, which reads it.
  ir::Stmt produce(int i, ir::Stmt rest, bool in_vector) {
    ir::Stmt both = ir::seq({emit_stage(i, in_vector), std::move(rest)});
    for (const ir::Buffer& buffer : buffers_[i]) {
      if (buffer.scope() == Scope::kArgument) continue;
      if (buffer.scope() == Scope::kLocal && has_parallel_loop(both)) {
        // Threads that share values find them in memory, not in one thread's registers.
        ir::Buffer shared(buffer.name(), buffer.element(), buffer.shape(), Scope::kGlobal);
        both = ir::allocate(shared, ir::replace_buffers(both, {{buffer.id(), shared}}));
      } else {
        both = ir::allocate(buffer, both);
      }
    }
    return both;
  }

  static bool has_parallel_loop(const ir::Stmt& stmt) {
    bool found = false;
    ir::walk(stmt, [&](const ir::Stmt& s) {
      const auto* loop = ir::as<ir::For>(s);
      found |= loop && loop->kind == ir::ForKind::kParallel;
      return !found;
    });
    return found;
  }

  ir::Stmt emit_stage(int i, bool in_vector) {
    Stage stage{i, nest_.stage(i), all_.stages[i], {}, 0, in_vector};
    for (int d = 0; d < stage.nest.data_rank; ++d)
      if (stage.bounds.extent[d] == 0) return ir::seq({});
    stage.first_reduction = static_cast<int>(stage.nest.leaves.size());
    for (int position = stage.first_reduction; position-- > 0;)
      if (stage.nest.axes[stage.nest.leaves[position]].reduction) stage.first_reduction = position;
    find_conditions(stage);
    return guarded(stage, 0, inside(stage, 0, in_vector));
  }

  // ------------------------------------------------------------------------------------------------------ conditions

  void find_conditions(Stage& stage) const {
    for (const Relation& relation : stage.nest.relations) {
      const auto* split = std::get_if<SplitRelation>(&relation);
      if (!split || !is_uneven(stage.bounds, *split) || is_shifted(stage.nest, stage.bounds, *split)) continue;
      add_condition(stage, stage.bounds.value[split->parent] < ir::Expr(stage.bounds.extent[split->parent]),
                    !stage.nest.axes[split->parent].reduction);
    }
    for (int d = 0; d < stage.nest.data_rank; ++d) {
      if (ir::is_int(stage.bounds.lo[d], 0) && stage.bounds.extent[d] == stage.nest.axes[d].extent) continue;
      add_condition(stage, stage.bounds.index[d] >= ir::Expr(0), true);
      add_condition(stage, stage.bounds.index[d] < ir::Expr(stage.nest.axes[d].extent), true);
    }
  }

  void add_condition(Stage& stage, const ir::Expr& holds, bool data) const {
    if (ir::can_prove(holds, all_.ranges)) return;
    Condition condition{ir::simplify(holds, all_.ranges), 0, data};
    auto used = ir::used_vars(condition.holds);
    for (size_t position = 0; position < stage.nest.leaves.size(); ++position) {
      const ir::Var& var = stage.bounds.loop[stage.nest.leaves[position]];
      if (var && used.contains(var.id())) condition.level = static_cast<int>(position) + 1;
    }
    stage.conditions.push_back(std::move(condition));
  }

  static ir::Stmt guarded(const Stage& stage, int level, ir::Stmt body, bool init = false) {
    ir::Expr all;
    for (const Condition& condition : stage.conditions)
      if (condition.level == level && (condition.data || !init)) all = all ? all && condition.holds : condition.holds;
    return all ? ir::if_then(all, std::move(body)) : body;
  }

  // ------------------------------------------------------------------------------------------------------ loops

  // What stands inside the first `level` loops of the stage.
  ir::Stmt inside(const Stage& stage, int level, bool in_vector) {
    bool innermost = level == static_cast<int>(stage.nest.leaves.size());
    ir::Stmt body = innermost ? element(stage) : open_loop(stage, level, in_vector);
    if (level == stage.first_reduction && stage.nest.is_reduction()) {
      ir::Stmt init = init_part(stage, level, in_vector);
      body = ir::seq({init, body});
    }
    const std::vector<int>& attached = attached_[stage.id];
    for (size_t i = attached.size(); i-- > 0;)
      if (placed_.level[attached[i]] == level - 1) body = produce(attached[i], body, in_vector);
    return body;
  }

  ir::Stmt open_loop(const Stage& stage, int level, bool in_vector) {
    AxisId leaf = stage.nest.leaves[level];
    bool vector = stage.nest.axes[leaf].annotation == Annotation::kVectorized && stage.bounds.loop[leaf];
    ir::Stmt body = guarded(stage, level + 1, inside(stage, level + 1, in_vector || vector));
    return with_pragmas(stage, leaf, loop_around(stage, leaf, body, in_vector));
  }

  ir::Stmt loop_around(const Stage& stage, AxisId leaf, const ir::Stmt& body, bool in_vector) const {
    const ir::Var& var = stage.bounds.loop[leaf];
    if (!var) return body;
    if (stage.bounds.extent[leaf] == 0) return ir::seq({});
    return ir::loop(var, stage.bounds.extent[leaf], body, kind(stage.nest.axes[leaf].annotation, in_vector),
                    tail_of(stage, leaf));
  }

  // Inside a vectorized loop of another stage everything is scalars' work.
  static ir::ForKind kind(Annotation annotation, bool in_vector) {
    switch (annotation) {
      case Annotation::kNone:
        return ir::ForKind::kSerial;
      case Annotation::kUnrolled:
        return ir::ForKind::kUnrolled;
      case Annotation::kVectorized:
        return in_vector ? ir::ForKind::kSerial : ir::ForKind::kVectorized;
      case Annotation::kParallel:
        return in_vector ? ir::ForKind::kSerial : ir::ForKind::kParallel;
    }
    return ir::ForKind::kSerial;
  }

  // The tail of the last uneven split that the loop came from.
  static Tail tail_of(const Stage& stage, AxisId leaf) {
    Tail tail = Tail::kNone;
    for (const Relation& relation : stage.nest.relations) {
      const auto* split = std::get_if<SplitRelation>(&relation);
      if (!split || !is_uneven(stage.bounds, *split) || is_shifted(stage.nest, stage.bounds, *split)) continue;
      auto leaves = leaves_from(stage.nest, split->parent);
      if (std::find(leaves.begin(), leaves.end(), leaf) == leaves.end()) continue;
      tail = split->tail == Tail::kShiftInward ? Tail::kGuard : split->tail;
    }
    return tail;
  }

  static ir::Stmt with_pragmas(const Stage& stage, AxisId leaf, ir::Stmt loop) {
    int64_t limit = 0;
    bool explicitly = true;
    for (const PragmaNote& note : stage.nest.pragmas) {
      if (note.axis != leaf) continue;
      if (note.key == "auto_unroll_max_step") limit = note.value;
      if (note.key == "unroll_explicit") explicitly = note.value != 0;
    }
    return limit > 0 && explicitly ? auto_unroll(loop, limit) : loop;
  }

  // ------------------------------------------------------------------------------------------------------ elements

  std::vector<ir::Expr> subscripts(const Stage& stage) const {
    const std::vector<ir::Expr>& at = whole(stage.id) ? stage.bounds.index : stage.bounds.value;
    return {at.begin(), at.begin() + stage.nest.data_rank};
  }

  ir::Stmt element(const Stage& stage) {
    const auto* reduce = ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
    if (!reduce) return stored(stage, rewrite(stage, placed_.bodies[stage.id]));
    std::vector<ir::Expr> old;
    for (const ir::Buffer& buffer : buffers_[stage.id]) old.push_back(ir::load(buffer, subscripts(stage)));
    ir::Stmt update = stored(stage, ir::combine(*reduce, old, rewrite(stage, reduce->sources)));
    return reduce->where ? ir::if_then(rewrite(stage, {reduce->where})[0], update) : update;
  }

  // One value for each output. Those of a tuple are all there before the first of them is written.
  ir::Stmt stored(const Stage& stage, const std::vector<ir::Expr>& values) const {
    const std::vector<ir::Buffer>& buffers = buffers_[stage.id];
    if (values.size() == 1) return ir::store(buffers[0], subscripts(stage), values[0]);
    std::vector<ir::Var> vars;
    std::vector<ir::Stmt> stores;
    for (size_t i = 0; i < values.size(); ++i) {
      vars.emplace_back("v" + std::to_string(i), values[i].type());
      stores.push_back(ir::store(buffers[i], subscripts(stage), vars[i]));
    }
    ir::Stmt all = ir::seq(std::move(stores));
    for (size_t i = values.size(); i-- > 0;) all = ir::let_stmt(vars[i], values[i], all);
    return all;
  }

  // The identity, over the data loops that stand inside the outermost reduction loop.
  ir::Stmt init_part(const Stage& stage, int level, bool in_vector) {
    const auto& reduce = *ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
    ir::Stmt body = stored(stage, reduce.init.empty() ? ir::identity_of(reduce) : rewrite(stage, reduce.init));
    for (int position = static_cast<int>(stage.nest.leaves.size()); position-- > level;) {
      AxisId leaf = stage.nest.leaves[position];
      body = guarded(stage, position + 1, std::move(body), true);
      if (!stage.nest.axes[leaf].reduction) body = loop_around(stage, leaf, body, in_vector);
    }
    return ir::refresh(body);
  }

  // The definition over loop variables, its loads from where the values are kept.
  std::vector<ir::Expr> rewrite(const Stage& stage, std::vector<ir::Expr> bodies) const {
    std::unordered_map<uint64_t, ir::Expr> index;
    for (size_t axis = 0; axis < stage.bounds.index.size(); ++axis)
      index[stage.nest.axes[axis].var.id()] = stage.bounds.index[axis];
    std::unordered_map<uint64_t, int> sources;
    for (const Read& read : placed_.reads[stage.id]) sources[ir::as<ir::Load>(read.load)->buffer.id()] = read.source;
    for (ir::Expr& body : bodies)
      body = ir::rewrite(body, [&](const ir::Expr& e) {
        if (const auto* var = ir::as<ir::VarRef>(e)) {
          auto found = index.find(var->var.id());
          return found == index.end() ? e : found->second;
        }
        const auto* load = ir::as<ir::Load>(e);
        return load ? redirected(*load, sources.at(load->buffer.id())) : e;
      });
    return bodies;
  }

  ir::Expr redirected(const ir::Load& load, int source) const {
    std::vector<ir::Expr> at;
    for (size_t d = 0; d < load.at.size(); ++d)
      at.push_back(ir::simplify(whole(source) ? load.at[d] : load.at[d] - all_.stages[source].lo[d], all_.ranges));
    return ir::load(buffers_[source][nest_.stage(source).output_of(load.buffer.id())], at);
  }

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  const Arguments& arguments_;
  std::vector<std::vector<ir::Buffer>> buffers_;  // of each stage, one for each output
  std::vector<std::vector<int>> attached_;        // by parent, producers first
  std::vector<int> roots_;
};

}  // namespace

ir::Stmt emit(const LoopNest& nest, const Placement& placed, const NestBounds& all, const Arguments& arguments) {
  return Emitter(nest, placed, all, arguments).program();
}

}  // namespace tw::schedule
