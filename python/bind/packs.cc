// Packs: tuning by file.
#include <pybind11/stl.h>

#include "python/bind/bind.h"
#include "tensorwright/autotune.h"

namespace py = pybind11;

void bind_packs(py::module_& m) {
  using namespace tw::autotune;
  py::class_<PackSummary>(m, "PackSummary")
      .def_readonly("candidates", &PackSummary::candidates)
      .def_readonly("not_built", &PackSummary::not_built)
      .def_readonly("bytes", &PackSummary::bytes)
      .def_property_readonly("threads", [](const PackSummary& s) { return s.where.threads; })
      .def_property_readonly("hardware", [](const PackSummary& s) { return s.where.hardware; });
  m.def(
      "pack_candidates",
      [](const Task& task, const TuneOptions& options, const std::string& path, int threads,
         const std::string& hardware) { return pack(task, options, path, {threads, hardware}); },
      py::call_guard<py::gil_scoped_release>());
}
