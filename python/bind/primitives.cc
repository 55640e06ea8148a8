// A method of _core.Schedule for each Step: it takes stages and axes by their names, and the line of the user's
// program.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "python/bind/schedule.h"
#include "python/bind/te_expr.h"
#include "schedule/loop_nest.h"
#include "schedule/sizes.h"
#include "schedule/tails.h"
#include "schedule/whole_parts.h"
#include "src/ir/walk.h"

namespace py = pybind11;

namespace tw::schedule::binding {

namespace {

Tail tail_named(const char* step, const std::string& name, const Line& at) {
  if (const auto tail = schedule::tail_named(name)) return *tail;
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

// A Step whose fields are the method's parameters, in their order.
template <class K, class... Field>
void bind_fields(py::class_<Schedule>& c, const std::tuple<const Field&...>&) {
  c.def(("_" + std::string(K::kName)).c_str(),
        [](Schedule& s, const Field&... fields, const Line& at) { s.apply({K{fields...}, source_line(at)}); });
}
template <class... K>
void bind_as_they_are(py::class_<Schedule>& c) {
  (bind_fields<K>(c, K{}.fields()), ...);
}

void bind_loops(py::class_<Schedule>& c) {
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
  c.def("_tensorize",
        [](Schedule& s, const std::string& stage, const std::string& axis, const std::string& intrin, const Line& at) {
          const tw::te::TensorIntrinPtr known = tw::te::find_tensor_intrin(intrin);  // the Step says which of that name
          s.apply({Tensorize{stage, axis, known ? known->key : intrin}, source_line(at)});
        });
}

void bind_stages(py::class_<Schedule>& c) {
  c.def("_set_scope", [](Schedule& s, const std::string& stage, const std::string& scope, const Line& at) {
    s.apply({SetScope{stage, scope_named("set_scope", scope, at)}, source_line(at)});
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
}

// Those that make stages give their names.
void bind_new_stages(py::class_<Schedule>& c) {
  c.def("_cache_read", [](Schedule& s, const std::string& stage, const std::string& scope, const Names& readers,
                          const Names& axes, const Line& at) {
    return cache_stage(s, {CacheRead{stage, scope_named("cache_read", scope, at), readers, axes}, source_line(at)},
                       stage + "." + scope);
  });
  c.def("_cache_write", [](Schedule& s, const std::string& stage, const std::string& scope, const Line& at) {
    return cache_stage(s, {CacheWrite{stage, scope_named("cache_write", scope, at)}, source_line(at)},
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
}

}  // namespace

void bind_primitives(py::class_<Schedule>& c) {
  bind_as_they_are<Fuse, Reorder, Vectorize, Unroll, Parallel, Bind, ComputeAt, ComputeRoot, ComputeInline, Pragma,
                   StorageAlign, DoubleBuffer, RollingBuffer, Cluster, Swizzle, Prefetch, Nontemporal>(c);
  bind_loops(c);
  bind_stages(c);
  bind_new_stages(c);
}

}  // namespace tw::schedule::binding
