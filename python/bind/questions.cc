// What Python asks of a schedule's nest: stages, axes, how they came about, where stages are attached.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <tuple>

#include "python/bind/schedule.h"
#include "python/bind/te_expr.h"
#include "schedule/group.h"
#include "schedule/loop_nest.h"
#include "schedule/placement.h"

namespace py = pybind11;

namespace tw::schedule::binding {

namespace {

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

// The stage whose axis it is, this one if it may be; none of this schedule: "".
std::string stage_with(const Schedule& schedule, const std::string& stage, const tw::te::IterVar& iter) {
  const LoopNest& nest = schedule.nest();
  std::string found;
  for (int i = 0; i < nest.size(); ++i)
    if (nest.stage(i).axis_of(iter.var) != kNone && (found.empty() || nest.stage(i).name == stage))
      found = nest.stage(i).name;
  return found;
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

}  // namespace

void bind_questions(py::module_& m, py::class_<Schedule>& c) {
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

  c.def("_stage_of",
        [](const Schedule& s, const tw::te::Operation& op) { return s.nest().stage(stage_of(s, op)).name; });
  c.def("_stage_of",
        [](const Schedule& s, const tw::te::Tensor& t) { return s.nest().stage(stage_of(s, t.op())).name; });
  c.def("_op",
        [](const Schedule& s, const std::string& stage) { return s.nest().stage(s.nest().find_stage(stage)).op; });
  c.def("_axis_named", &axis_named);
  c.def("_stage_with", &stage_with);
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

}  // namespace tw::schedule::binding
