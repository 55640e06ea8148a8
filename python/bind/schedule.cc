// Schedules in Python: _core.Schedule takes Steps by stage and axis names; schedule.py puts s[C].split(i, 16) in front
// of it.
#include "python/bind/schedule.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "python/bind/bind.h"
#include "python/bind/te_expr.h"
#include "schedule/graph_json.h"
#include "schedule/to_python.h"
#include "schedule/unbounded.h"

namespace py = pybind11;

void bind_schedule(py::module_& m) {
  using namespace tw::schedule;
  using namespace tw::schedule::binding;

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

  py::class_<Schedule> schedule(m, "Schedule");
  schedule
      .def(py::init<const Schedule&>())  // before the list: s[...] makes a schedule look like a sequence
      .def(py::init<std::vector<tw::te::Tensor>>())
      .def_property_readonly("outputs", [](const Schedule& s) { return s.outputs(); })
      .def("_check",
           [](const Schedule& s, bool strict) { (void)(strict ? check_strictly(s) : s.check()).value_or_throw(); })
      .def("_saved", [](const Schedule& s) { return s; })
      .def("_restore", [](Schedule& s, const Schedule& saved) { s = saved; })
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
  bind_questions(m, schedule);
  m.def("_tensors_to_json", &tensors_to_json);
  m.def("_tensors_from_json", &tensors_from_json);
  m.def("_refuse_step",
        [](const std::string& step, const std::string& rule, const Line& at) { refused(refuse(step, rule), at); });
}
