// Schedules in Python: _core.Schedule takes Steps by stage and axis names; schedule.py puts s[C].split(i, 16) in front
// of it.
#include "tensorwright/schedule.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <tuple>

#include "python/bind/bind.h"
#include "python/bind/te_expr.h"
#include "schedule/graph_json.h"
#include "schedule/group.h"
#include "schedule/loop_nest.h"
#include "schedule/placement.h"
#include "schedule/refuse.h"
#include "schedule/sizes.h"
#include "schedule/to_python.h"
#include "schedule/unbounded.h"
#include "schedule/whole_parts.h"
#include "src/ir/walk.h"

namespace py = pybind11;

namespace {

using namespace tw::schedule;
using tw::SourceLine;

using Names = std::vector<std::string>;
using Line = std::pair<std::string, int>;

SourceLine source_line(const Line& at) { return {at.first, at.second}; }

[[noreturn]] void refused(tw::Diagnostic d, const Line& at) {
  d.where = source_line(at);
  throw tw::Error(std::move(d));
}

Tail tail_named(const char* step, const std::string& name, const Line& at) {
  for (Tail tail : {Tail::kAuto, Tail::kGuard, Tail::kMask, Tail::kPeel, Tail::kPad, Tail::kShiftInward})
    if (to_string(tail) == name) return tail;
  refused(with_hint(refuse(step, "tail must be auto, guard, mask, peel, pad or shift_inward, not " + name), name,
                    {"auto", "guard", "mask", "peel", "pad", "shift_inward"}),
          at);
}

Scope scope_named(const char* step, const std::string& name, const Line& at) {
  if (const auto scope = tw::ir::scratch_scope_named(name)) return *scope;
  tw::Diagnostic d = refuse(step, "scope must be local, warp, shared or global, not " + name);
  if (name.starts_with("shared.")) d.notes.push_back("what a block of a GPU shares is \"shared\"");
  if (name.starts_with("wmma."))
    d.notes.push_back(
        "leave this line out: a stage that is tensorized by a product of a warp keeps its fragments in registers by "
        "itself, s[C].tensorize(i, \"mma.m16n8k16.f16\")");
  refused(std::move(d), at);
}

int stage_of(const Schedule& schedule, const tw::te::Operation& op) {
  int stage = schedule.nest().find_stage(op->buffer_id());
  if (stage != kNone) return stage;
  Names names;
  for (int i = 0; i < schedule.nest().size(); ++i) names.push_back(schedule.nest().stage(i).name);
  tw::Diagnostic d = refuse("s[...]", "tensor must be part of the schedule; " + op->name + " is not");
  for (int i = 0; i < schedule.nest().size(); ++i)
    if (const tw::te::Scan* scan = schedule.nest().stage(i).op->scan())
      for (const tw::te::Tensor& state : scan->state)
        if (state.op() == op)
          d.notes.push_back(op->name + " is the state of the scan " + names[static_cast<size_t>(i)] +
                            ": it stands for earlier values of it and has no stage of its own; s[" +
                            names[static_cast<size_t>(i)] + "] is where they are kept");
  throw tw::Error(std::move(d) << "its stages are " + join(names));
}

// The name of an axis in a stage; for an axis of another stage a name that the refusal then shows.
std::string axis_named(const Schedule& schedule, const std::string& stage, const tw::te::IterVar& iter) {
  const LoopNest& nest = schedule.nest();
  int wanted = nest.find_stage(stage);
  AxisId axis = wanted == kNone ? kNone : nest.stage(wanted).axis_of(iter.var);
  if (axis != kNone) return nest.stage(wanted).axes[axis].name;
  for (int i = 0; i < nest.size(); ++i)
    if (nest.stage(i).axis_of(iter.var) != kNone) return iter.var.name() + " of stage " + nest.stage(i).name;
  return iter.var.name() + " of another schedule";
}

// The variable of a loop that a Step made, the same at each question. They are kept with the operation's id, for no
// nest has room for what only Python asks for.
tw::ir::Var loop_var(const tw::te::Operation& op, const std::string& axis) {
  static std::map<std::pair<uint64_t, std::string>, tw::ir::Var> vars;  // under Python's lock
  const auto [found, made] = vars.try_emplace({op->id, axis}, tw::ir::Var(axis));
  return found->second;
}

struct AxisFacts {
  std::string name;
  tw::te::Operation op;
  tw::ir::Var definition;  // empty: a Step made the axis
  Extent extent;
  bool reduction;
  std::string annotation;
  tw::te::TensorIntrinPtr intrin;  // that stands in the place of the loop and those inside it
};

AxisFacts axis_facts(const Schedule& schedule, const std::string& stage, const std::string& name) {
  const StageNest& nest = schedule.nest().stage(schedule.nest().find_stage(stage));
  const Axis& axis = nest.axes[nest.find_axis(name)];
  const AxisId tile = nest.tensorized.axis;
  const bool tensorized = tile != kNone && nest.axes[tile].name == name;
  return {axis.name,
          nest.op,
          axis.var,
          axis.extent,
          axis.reduction,
          tensorized ? "tensorized" : to_string(axis.annotation),
          tensorized ? nest.tensorized.intrin : nullptr};
}

// (parent, outer, inner, factor, nparts) of a split, (outer, inner, fused, None, None) of a fuse.
using RelationFacts = std::tuple<std::string, std::string, std::string, py::object, py::object>;

std::vector<RelationFacts> relations(const Schedule& schedule, const std::string& stage) {
  const StageNest& nest = schedule.nest().stage(schedule.nest().find_stage(stage));
  const auto name = [&](AxisId axis) { return nest.axes[axis].name; };
  const auto given = [](const Extent& n) -> py::object {
    if (n == 0) return py::none();
    return n.known() ? py::int_(n.value()) : tw::bind::extent_object(n.expr());
  };
  std::vector<RelationFacts> all;
  for (const Relation& relation : nest.relations) {
    if (const auto* fuse = std::get_if<FuseRelation>(&relation)) {
      all.emplace_back(name(fuse->outer), name(fuse->inner), name(fuse->fused), py::none(), py::none());
    } else {
      const auto& split = std::get<SplitRelation>(relation);
      all.emplace_back(name(split.parent), name(split.outer), name(split.inner), given(split.factor),
                       given(split.parts));
    }
  }
  return all;
}

Names leaf_names(const Schedule& schedule, const std::string& stage) {
  const StageNest& nest = schedule.nest().stage(schedule.nest().find_stage(stage));
  Names names;
  for (AxisId leaf : nest.leaves) names.push_back(nest.axes[leaf].name);
  return names;
}

// A condition over the stage's axes, with the names that they have there.
std::string condition_text(const Schedule& s, const std::string& name, const tw::ir::Expr& condition) {
  const StageNest& stage = s.nest().stage(s.nest().find_stage(name));
  tw::ir::Substitution named;
  for (int d = 0; d < stage.data_rank; ++d)
    named[stage.axes[d].var.id()] = tw::ir::Var(stage.axes[d].name, stage.axes[d].var.type());
  return tw::ir::to_string(tw::ir::substitute(condition, named));
}

// The variables over which a layout is written, and their names: the data axes, or ax0, ax1, ... of a placeholder.
std::vector<std::pair<std::string, tw::ir::Expr>> layout_axes(const Schedule& s, const std::string& name) {
  const StageNest& stage = s.nest().stage(s.nest().find_stage(name));
  std::vector<std::pair<std::string, tw::ir::Expr>> axes;
  for (size_t d = 0; d < stage.op->shape().size(); ++d) {
    const std::string axis = static_cast<int>(d) < stage.data_rank ? stage.axes[d].name : "ax" + std::to_string(d);
    axes.emplace_back(axis, tw::ir::Var(axis));
  }
  return axes;
}

// The stage that a cache primitive has just made: the newest name.
std::string cache_stage(Schedule& schedule, Step step, const std::string& wanted) {
  std::string name = schedule.nest().unique_name(wanted);
  schedule.apply(std::move(step));
  return name;
}

Schedule whole_parts(const Schedule& s, const std::string& stage, const SourceLine& at) {
  tw::Result<Schedule> whole = in_whole_parts(s, stage);
  if (whole.ok()) return std::move(whole).value_or_throw();
  tw::Diagnostic d = std::move(whole).error();
  d.where = at;
  throw tw::Error(std::move(d));
}

// After disable_predication (`whole`) a rest is padded.
void split(Schedule& s, const std::string& stage, Step step, bool whole) {
  Schedule next = s;
  const SourceLine at = step.where;
  next.apply(std::move(step));
  s = whole ? whole_parts(next, stage, at) : next;
}

using OptionalFactor = std::optional<Factor>;

// The Step will hold names of scalars.
OptionalFactor named(const Schedule& s, const char* step, const char* field, OptionalFactor factor, const Line& at) {
  if (!factor) return factor;
  if (const tw::Status fine = check_scalars(s.nest(), step, field, *factor); !fine.ok()) refused(fine.error(), at);
  return factor;
}

void bind_primitives(py::class_<Schedule>& c) {
  c.def("_split", [](Schedule& s, const std::string& stage, const std::string& axis, OptionalFactor factor,
                     OptionalFactor nparts, const std::string& tail, bool whole, const Line& at) {
    const Split step{stage, axis, named(s, "split", "factor", std::move(factor), at),
                     named(s, "split", "nparts", std::move(nparts), at), tail_named("split", tail, at)};
    split(s, stage, {step, source_line(at)}, whole);
  });
  c.def("_tile",
        [](Schedule& s, const std::string& stage, const std::string& x, const std::string& y, const Factor& x_factor,
           const Factor& y_factor, const std::string& tail, bool whole, const Line& at) {
          const Tile step{stage,
                          x,
                          y,
                          *named(s, "tile", "x_factor", x_factor, at),
                          *named(s, "tile", "y_factor", y_factor, at),
                          tail_named("tile", tail, at)};
          split(s, stage, {step, source_line(at)}, whole);
        });
  c.def("_fuse", [](Schedule& s, const std::string& stage, const Names& axes, const Line& at) {
    s.apply({Fuse{stage, axes}, source_line(at)});
  });
  c.def("_reorder", [](Schedule& s, const std::string& stage, const Names& axes, const Line& at) {
    s.apply({Reorder{stage, axes}, source_line(at)});
  });
  c.def("_vectorize", [](Schedule& s, const std::string& stage, const std::string& axis, const Line& at) {
    s.apply({Vectorize{stage, axis}, source_line(at)});
  });
  c.def("_unroll", [](Schedule& s, const std::string& stage, const std::string& axis, const Line& at) {
    s.apply({Unroll{stage, axis}, source_line(at)});
  });
  c.def("_parallel", [](Schedule& s, const std::string& stage, const std::string& axis, const Line& at) {
    s.apply({Parallel{stage, axis}, source_line(at)});
  });
  c.def("_bind", [](Schedule& s, const std::string& stage, const std::string& axis, const std::string& thread,
                    const Line& at) { s.apply({Bind{stage, axis, thread}, source_line(at)}); });
  c.def("_compute_at", [](Schedule& s, const std::string& stage, const std::string& consumer, const std::string& axis,
                          const Line& at) { s.apply({ComputeAt{stage, consumer, axis}, source_line(at)}); });
  c.def("_compute_root",
        [](Schedule& s, const std::string& stage, const Line& at) { s.apply({ComputeRoot{stage}, source_line(at)}); });
  c.def("_compute_inline", [](Schedule& s, const std::string& stage, const Line& at) {
    s.apply({ComputeInline{stage}, source_line(at)});
  });
  c.def("_set_scope", [](Schedule& s, const std::string& stage, const std::string& scope, const Line& at) {
    s.apply({SetScope{stage, scope_named("set_scope", scope, at)}, source_line(at)});
  });
  c.def("_pragma", [](Schedule& s, const std::string& stage, const std::string& axis, const std::string& key,
                      int64_t value, const Line& at) { s.apply({Pragma{stage, axis, key, value}, source_line(at)}); });
  c.def("_storage_align",
        [](Schedule& s, const std::string& stage, const std::string& axis, int64_t factor, int64_t offset,
           const Line& at) { s.apply({StorageAlign{stage, axis, factor, offset}, source_line(at)}); });
  c.def("_double_buffer",
        [](Schedule& s, const std::string& stage, const Line& at) { s.apply({DoubleBuffer{stage}, source_line(at)}); });
  c.def("_rolling_buffer", [](Schedule& s, const std::string& stage, const Line& at) {
    s.apply({RollingBuffer{stage}, source_line(at)});
  });
  c.def("_pipeline", [](Schedule& s, const std::string& stage, const std::string& axis, const Factor& stages,
                        const std::string& by, const Line& at) {
    s.apply({Pipeline{stage, axis, *named(s, "pipeline", "stages", stages, at), by}, source_line(at)});
  });
  c.def("_persistent",
        [](Schedule& s, const std::string& stage, const std::string& axis, OptionalFactor blocks, const Line& at) {
          s.apply({Persistent{stage, axis, named(s, "persistent", "blocks", std::move(blocks), at)}, source_line(at)});
        });
  c.def("_roles", [](Schedule& s, const std::string& stage, const Factor& producer, std::optional<int64_t> consumers,
                     int64_t producer_registers, int64_t consumer_registers, const Line& at) {
    s.apply(
        {Roles{stage, *named(s, "roles", "producer", producer, at), consumers, producer_registers, consumer_registers},
         source_line(at)});
  });
  c.def("_cluster", [](Schedule& s, const std::string& stage, const std::string& axis, const Line& at) {
    s.apply({Cluster{stage, axis}, source_line(at)});
  });
  c.def("_swizzle", [](Schedule& s, const std::string& stage, const std::string& bytes, const Line& at) {
    s.apply({Swizzle{stage, bytes}, source_line(at)});
  });
  c.def("_prefetch",
        [](Schedule& s, const std::string& stage, const std::string& source, const std::string& axis, int64_t offset,
           const Line& at) { s.apply({Prefetch{stage, source, axis, offset}, source_line(at)}); });
  c.def("_tensorize",
        [](Schedule& s, const std::string& stage, const std::string& axis, const std::string& intrin, const Line& at) {
          const tw::te::TensorIntrinPtr known = tw::te::find_tensor_intrin(intrin);  // the Step says which of that name
          s.apply({Tensorize{stage, axis, known ? known->key : intrin}, source_line(at)});
        });
  c.def("_set_store_predicate",
        [](Schedule& s, const std::string& stage, const tw::ir::Expr& condition, const Line& at) {
          s.apply({SetStorePredicate{stage, condition_text(s, stage, condition)}, source_line(at)});
        });
  c.def("_whole_parts",
        [](Schedule& s, const std::string& stage, const Line& at) { s = whole_parts(s, stage, source_line(at)); });
  c.def("_layout_axes", &layout_axes);
  c.def("_transform_layout", [](Schedule& s, const std::string& stage, const py::list& indices,
                                const std::string& pad_value, const Line& at) {
    Names texts;
    for (const py::handle index : indices)
      texts.push_back(py::isinstance<py::str>(index)
                          ? py::cast<std::string>(index)
                          : tw::ir::to_string(tw::bind::to_expr(index, "an index of transform_layout")));
    s.apply({TransformLayout{stage, texts, pad_value}, source_line(at)});
  });
  c.def("_cache_read",
        [](Schedule& s, const std::string& stage, const std::string& scope, const Names& readers, const Line& at) {
          return cache_stage(s, {CacheRead{stage, scope_named("cache_read", scope, at), readers}, source_line(at)},
                             stage + "." + scope);
        });
  c.def("_rfactor",
        [](Schedule& s, const std::string& stage, const std::string& axis, int64_t factor_axis, const Line& at) {
          return cache_stage(s, {Rfactor{stage, axis, factor_axis}, source_line(at)}, stage + ".rf");
        });
  c.def("_hoist", [](Schedule& s, const std::string& stage, int64_t operand, const std::string& scope, const Line& at) {
    return cache_stage(s, {Hoist{stage, operand, scope_named("hoist", scope, at)}, source_line(at)},
                       stage + ".operand" + std::to_string(operand));
  });
  c.def("_cache_write", [](Schedule& s, const std::string& stage, const std::string& scope, const Line& at) {
    return cache_stage(s, {CacheWrite{stage, scope_named("cache_write", scope, at)}, source_line(at)},
                       stage + "." + scope);
  });
}

void bind_questions(py::class_<Schedule>& c) {
  c.def("_stage_of",
        [](const Schedule& s, const tw::te::Operation& op) { return s.nest().stage(stage_of(s, op)).name; });
  c.def("_stage_of",
        [](const Schedule& s, const tw::te::Tensor& t) { return s.nest().stage(stage_of(s, t.op())).name; });
  c.def("_op",
        [](const Schedule& s, const std::string& stage) { return s.nest().stage(s.nest().find_stage(stage)).op; });
  c.def("_axis_named", &axis_named);
  c.def("_axis_facts", &axis_facts);
  c.def("_leaf_names", &leaf_names);
  c.def("_axis_names", [](const Schedule& s, const std::string& stage) {
    Names names;
    for (const Axis& axis : s.nest().stage(s.nest().find_stage(stage)).axes) names.push_back(axis.name);
    return names;
  });
  c.def("_relations", &relations);
  c.def("_pragmas", [](const Schedule& s, const std::string& stage) {
    const StageNest& nest = s.nest().stage(s.nest().find_stage(stage));
    std::vector<std::tuple<std::string, std::string, int64_t>> notes;
    for (const PragmaNote& note : nest.pragmas) notes.emplace_back(nest.axes[note.axis].name, note.key, note.value);
    return notes;
  });
  c.def("_is_output",
        [](const Schedule& s, const std::string& stage) { return s.nest().stage(s.nest().find_stage(stage)).output; });
  c.def("_attached_at",
        [](const Schedule& s, const std::string& stage) -> std::optional<std::pair<std::string, std::string>> {
          const Attach& attach = s.nest().stage(s.nest().find_stage(stage)).attach;
          if (attach.kind != AttachKind::kAt) return std::nullopt;
          const auto& host = s.nest().stage(s.nest().find_stage(attach.stage));
          return std::pair(attach.stage, host.axes[tw::schedule::attach_leaf(host, attach.axis)].name);
        });
  c.def("_stage_names", [](const Schedule& s) {
    Names names;
    for (int i = 0; i < s.nest().size(); ++i) names.push_back(s.nest().stage(i).name);
    return names;
  });
  c.def("_group_members", [](const Schedule& s, const std::vector<tw::te::Operation>& outputs,
                             const std::vector<tw::te::Operation>& inputs, bool include_inputs, const Line& at) {
    tw::Result<Names> members = group_members(s.nest(), outputs, inputs, include_inputs);
    if (!members.ok()) refused(std::move(members).error(), at);
    return *std::move(members);
  });
  c.def("_place_group",
        [](Schedule& s, const Names& members, const std::string& consumer, const std::string& axis, const Line& at) {
          tw::Result<std::vector<Step>> steps = place_group(s.nest(), members, consumer, axis, source_line(at));
          if (!steps.ok()) refused(std::move(steps).error(), at);
          Schedule next = s;  // all of them, or none
          for (Step& step : *steps) next.apply(std::move(step));
          s = std::move(next);
        });
  c.def("_attach_of", [](const Schedule& s, const std::string& stage) {
    const Attach& attach = s.nest().stage(s.nest().find_stage(stage)).attach;
    if (attach.kind != AttachKind::kAt) return Names{attach.kind == AttachKind::kInline ? "inline" : "root"};
    return Names{"at", attach.stage, s.nest().stage(s.nest().find_stage(attach.stage)).axes[attach.axis].name};
  });
  // The scan inside of which a stage is computed, and its time loop.
  c.def("_scan_of",
        [](const Schedule& s, const std::string& stage) -> std::optional<std::pair<std::string, std::string>> {
          const int scan = scan_around(s.nest(), s.nest().find_stage(stage));
          if (scan == kNone) return std::nullopt;
          return std::pair(s.nest().stage(scan).name, s.nest().stage(scan).axes[0].name);
        });
}

}  // namespace

void bind_schedule(py::module_& m) {
  py::class_<Factor>(
      m, "Factor",
      "A split factor that refers to a tuner's knob: value `value` of part `part` of knob `knob`; or a size "
      "over te.vars, by their names.")
      .def(py::init<int64_t>())
      .def(py::init<tw::ir::Expr>())
      .def(py::init([](const tw::ir::Var& v) { return Factor(tw::ir::Expr(v)); }))
      .def(py::init<std::string, int, int64_t>(), py::arg("knob"), py::arg("part"), py::arg("value"))
      .def_readonly("knob", &Factor::knob)
      .def_readonly("part", &Factor::part)
      .def_readonly("value", &Factor::value)
      .def_readonly("size", &Factor::size);

  py::class_<AxisFacts>(m, "AxisFacts")
      .def_readonly("name", &AxisFacts::name)
      .def_property_readonly("extent",
                             [](const AxisFacts& axis) { return tw::bind::extent_object(axis.extent.expr()); })
      .def_property_readonly(
          "var", [](const AxisFacts& axis) { return axis.definition ? axis.definition : loop_var(axis.op, axis.name); })
      .def_property_readonly("key",
                             [](const AxisFacts& axis) -> py::object {
                               if (axis.definition) return py::cast(axis.definition.id());
                               return py::make_tuple(axis.op->id, axis.name);
                             })
      .def_readonly("reduction", &AxisFacts::reduction)
      .def_readonly("annotation", &AxisFacts::annotation)
      .def_property_readonly(
          "intrin", [](const AxisFacts& axis) { return std::const_pointer_cast<tw::te::TensorIntrin>(axis.intrin); });

  py::class_<Schedule> schedule(m, "Schedule");
  schedule
      .def(py::init<const Schedule&>())  // before the list: s[...] makes a schedule look like a sequence
      .def(py::init<std::vector<tw::te::Tensor>>())
      .def_property_readonly("outputs", [](const Schedule& s) { return s.outputs(); })
      .def("_check", [](const Schedule& s,
                        bool strict) { (void)(strict ? tw::schedule::check_strictly(s) : s.check()).value_or_throw(); })
      .def("_steps_json", [](const Schedule& s) { return to_json(s.steps()); })
      .def("_step_texts",
           [](const Schedule& s) {
             Names texts;
             for (const Step& step : s.steps()) texts.push_back(to_string(step));
             return texts;
           })
      .def_static(
          "_from_json",
          [](std::vector<tw::te::Tensor> outputs, const std::string& json) {
            return Schedule::from_steps(std::move(outputs), steps_from_json(json).value_or_throw()).value_or_throw();
          })
      .def("_to_python", [](const Schedule& s) { return to_python(s); })
      .def("__str__", [](const Schedule& s) { return to_string(s); });
  bind_primitives(schedule);
  bind_questions(schedule);
  m.def("_tensors_to_json", &tensors_to_json);
  m.def("_tensors_from_json", &tensors_from_json);
  m.def("_refuse_step",
        [](const std::string& step, const std::string& rule, const Line& at) { refused(refuse(step, rule), at); });
}
