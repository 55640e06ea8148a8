// From schedules to functions in Python. building.py and target.py put checked arguments in front of these.
#include "tensorwright/build.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind.h"
#include "codegen/backends.h"
#include "function.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using Tensors = std::vector<te::Tensor>;

// Scalars among the arguments, each with the number of tensors before it.
using Scalars = std::vector<std::pair<ir::Var, int>>;

std::vector<te::ScalarArgument> scalar_arguments(const Scalars& scalars) {
  std::vector<te::ScalarArgument> result;
  for (const auto& [var, place] : scalars) result.push_back({var, place});
  return result;
}

Function build_function(const schedule::Schedule& schedule, const Tensors& args, const Target& target,
                        const std::string& name, const Scalars& scalars) {
  std::shared_ptr<const Module> module;
  {
    py::gil_scoped_release released;
    module = build(schedule, args, target, name, scalar_arguments(scalars));
  }
  return make_function(std::move(module));
}

using Declared = std::tuple<std::string, schedule::Schedule, Tensors, Scalars>;

std::vector<Function> build_functions(const std::vector<Declared>& declared, const Target& target) {
  std::vector<KernelDeclaration> kernels;
  for (const auto& [name, schedule, args, scalars] : declared)
    kernels.push_back({name, schedule, args, scalar_arguments(scalars)});
  std::shared_ptr<const Module> module;
  {
    py::gil_scoped_release released;
    module = build(kernels, target);
  }
  std::vector<Function> functions;
  for (const auto& kernel : module->kernels()) functions.emplace_back(kernel, module);
  return functions;
}

// Without the last line's end: print adds one.
std::string text_of(const ir::Program& program) {
  std::string text = ir::to_string(program);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void bind_target(py::module_& m) {
  py::class_<Target>(m, "Target")
      .def(py::init([](const std::string& text) { return Target::parse(text).value_or_throw(); }), py::arg("text"))
      .def_static("host", &Target::host)
      .def_readonly("kind", &Target::kind)
      .def_readonly("triple", &Target::triple)
      .def_readonly("cpu", &Target::cpu)
      .def_readonly("arch", &Target::arch)
      .def_readonly("features", &Target::features)
      .def_readonly("sve_bits", &Target::sve_bits)
      .def_property_readonly("vector_bits", [](const Target& t) { return t.abilities.vector_bits; })
      .def_property_readonly("vector_registers", [](const Target& t) { return t.abilities.vector_registers; })
      .def("has", &Target::has, py::arg("feature"))
      .def("__str__", &Target::to_string)
      .def(
          "__eq__", [](const Target& a, const Target& b) { return a == b; }, py::is_operator())
      .def("__hash__", [](const Target& t) { return std::hash<std::string>{}(t.to_string()); });
}

}  // namespace

void bind_build(py::module_& m) {
  bind_target(m);
  py::class_<ir::Program>(m, "Program", "A loop program; str() shows it as text.")
      .def_readonly("name", &ir::Program::name)
      .def("__str__", &text_of)
      .def("__repr__", &text_of);
  const auto released = py::call_guard<py::gil_scoped_release>();
  m.def("_build", &build_function);
  m.def("_build_all", &build_functions);
  m.def(
      "_loop_program",
      [](const schedule::Schedule& s, const Tensors& args, const std::string& name, const Scalars& scalars) {
        return loop_program(s, args, name, scalar_arguments(scalars));
      },
      released);
  m.def(
      "_lowered_program",
      [](const schedule::Schedule& s, const Tensors& args, const Target& target, const std::string& name,
         const Scalars& scalars, bool plain) {
        if (!plain) return lowered_program(s, args, target, name, scalar_arguments(scalars));
        const ir::Program loops = loop_program(s, args, name, scalar_arguments(scalars));
        return lower::run_pipeline(codegen::backend_of(target).passes, loops, target, {}, lower::PlainLoops::kStay);
      },
      released);
  m.def("_default_schedule", &default_schedule, released);
  m.def("_host_hardware", [] { return host_hardware().to_string(); });
}

}  // namespace tw::bind
