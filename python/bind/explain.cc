// Explanations in Python: _core.Explanation, which s.explain() returns.
#include "schedule/explain.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "codegen/backends.h"
#include "codegen/calibration.h"
#include "python/bind/bind.h"
#include "schedule/on_target.h"
#include "tensorwright/runtime.h"

namespace py = pybind11;
using namespace tw::schedule;

namespace {

py::dict by_level(const std::array<double, kLevels>& values, int first) {
  py::dict out;
  for (int level = first; level < kLevels; ++level)
    out[to_string(static_cast<Level>(level))] = values[static_cast<size_t>(level)];
  return out;
}

py::dict by_term(const DeviceSeconds& seconds) {
  py::dict out;
  for (int term = 0; term < kDeviceTerms; ++term)
    out[to_string(static_cast<DeviceTerm>(term))] = seconds[static_cast<size_t>(term)];
  return out;
}

void bind_accounts(py::module_& m) {
  py::class_<LoopAccount>(m, "LoopAccount")
      .def_readonly("wavefronts", &LoopAccount::wavefronts)
      .def_property_readonly("seconds", [](const LoopAccount& loop) { return by_term(loop.seconds); })
      .def_property_readonly("bound", [](const LoopAccount& loop) { return to_string(loop.bound); });
  py::class_<StageAccount>(m, "StageAccount")
      .def_readonly("operations", &StageAccount::operations)
      .def_readonly("products", &StageAccount::products)
      .def_readonly("instructions", &StageAccount::instructions)
      .def_readonly("requests", &StageAccount::requests)
      .def_readonly("wavefronts", &StageAccount::wavefronts)
      .def_readonly("least", &StageAccount::least)
      .def_readonly("sectors", &StageAccount::sectors)
      .def_readonly("bytes", &StageAccount::bytes)
      .def_property_readonly("seconds", [](const StageAccount& stage) { return by_term(stage.seconds); })
      .def_property_readonly("bound", [](const StageAccount& stage) { return to_string(stage.bound); });
  py::class_<LaunchAccount>(m, "LaunchAccount")
      .def_readonly("blocks", &LaunchAccount::blocks)
      .def_readonly("threads", &LaunchAccount::threads)
      .def_readonly("registers", &LaunchAccount::registers)
      .def_readonly("shared", &LaunchAccount::shared)
      .def_readonly("spills", &LaunchAccount::spills)
      .def_readonly("resident", &LaunchAccount::resident)
      .def_readonly("occupancy", &LaunchAccount::occupancy)
      .def_readonly("waves", &LaunchAccount::waves)
      .def_readonly("used", &LaunchAccount::used)
      .def_readonly("hidden", &LaunchAccount::hidden)
      .def_property_readonly("seconds", [](const LaunchAccount& launch) { return by_term(launch.seconds); })
      .def_property_readonly("bound", [](const LaunchAccount& launch) { return to_string(launch.bound); })
      .def_readonly("waiting", &LaunchAccount::waiting)
      .def_readonly("total", &LaunchAccount::total)
      .def_readonly("stages", &LaunchAccount::stages);
}

}  // namespace

void bind_explain(py::module_& m) {
  bind_accounts(m);
  py::class_<LoopExplanation>(m, "LoopExplanation")
      .def_readonly("name", &LoopExplanation::name)
      .def_readonly("kind", &LoopExplanation::kind)
      .def_readonly("extent", &LoopExplanation::extent)
      .def_readonly("lanes", &LoopExplanation::lanes)
      .def_readonly("bytes", &LoopExplanation::bytes)
      .def_property_readonly("fits", [](const LoopExplanation& loop) { return to_string(loop.fits); })
      .def_readonly("reuse", &LoopExplanation::reuse)
      .def_readonly("inside", &LoopExplanation::inside);
  py::class_<NestExplanation>(m, "NestExplanation")
      .def_readonly("headline", &NestExplanation::headline)
      .def_readonly("loops", &NestExplanation::loops)
      .def_readonly("runs", &NestExplanation::runs)
      .def_readonly("operations", &NestExplanation::operations)
      .def_readonly("waste", &NestExplanation::waste)
      .def_readonly("cores", &NestExplanation::cores)
      .def_readonly("plain", &NestExplanation::plain)
      .def_readonly("chains", &NestExplanation::chains)
      .def_property_readonly("moved", [](const NestExplanation& nest) { return by_level(nest.moved, kL1); })
      .def_property_readonly("seconds", [](const NestExplanation& nest) { return by_level(nest.seconds, kCompute); })
      .def_property_readonly("bound", [](const NestExplanation& nest) { return to_string(nest.bound); });
  py::class_<Explanation>(m, "Explanation")
      .def_readonly("nests", &Explanation::nests)
      .def_readonly("launches", &Explanation::launches)
      .def("__str__", [](const Explanation& all) { return to_string(all); })
      .def("__repr__", [](const Explanation& all) { return to_string(all); });
  m.def("_explain", [](const Schedule& schedule, const tw::Target& target) {
    const tw::MachineDescription here = tw::codegen::with_kept_rates(tw::runtime::this_machine(), target);
    return tw::codegen::backend_of(target).explain(on_target(schedule, target), describe_machine(target, here));
  });
}
