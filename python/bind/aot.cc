// Production builds in Python.
#include "tensorwright/aot.h"

#include <pybind11/stl.h>

#include "autotune/computation_hash.h"
#include "python/bind/bind.h"
#include "python/bind/function.h"
#include "te/at_size.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using Tensors = std::vector<te::Tensor>;
using Scalars = std::vector<std::pair<ir::Var, int>>;

aot::Frozen freeze_schedule(const schedule::Schedule& s, const Tensors& args, const Scalars& scalars,
                            const Target& target, const aot::FreezeOptions& options) {
  std::vector<te::ScalarArgument> arguments;
  for (const auto& [var, place] : scalars) arguments.push_back({var, place});
  return aot::freeze(s, args, target, options, arguments);
}

aot::Frozen freeze_any_size(const Tensors& args, const Scalars& scalars, const Target& target,
                            const aot::FreezeOptions& options) {
  std::vector<te::ScalarArgument> arguments;
  for (const auto& [var, place] : scalars) arguments.push_back({var, place});
  return aot::freeze_any_size(args, target, options, arguments);
}

aot::Frozen freeze_by_size(const std::string& size, const std::vector<std::pair<int64_t, schedule::Schedule>>& bounded,
                           const schedule::Schedule& otherwise, const Tensors& args, const Scalars& scalars,
                           const Target& target, const aot::FreezeOptions& options) {
  std::vector<te::ScalarArgument> arguments;
  for (const auto& [var, place] : scalars) arguments.push_back({var, place});
  std::vector<aot::SizedSchedule> schedules;
  for (const auto& [bound, s] : bounded) schedules.push_back({bound, s});
  return aot::freeze_by_size(size, schedules, otherwise, args, target, options, arguments);
}

std::string file_name(const std::string& name, const Target& target) {
  aot::Frozen f;
  f.name = name;
  f.target = target;
  return aot::file_name(f);
}

// By its source first, then by the log.
std::optional<std::string> stale(const std::string& path, const std::string& hash, const std::string& log,
                                 bool require_tuned) {
  const aot::Frozen f = aot::read(path);
  const std::optional<std::string> by_source = hash.empty() ? std::nullopt : aot::stale_source(f, hash);
  return by_source ? by_source : aot::stale(f, log, require_tuned);
}

py::dict dict_of(const aot::Built& built) {
  using namespace py::literals;
  return py::dict("files"_a = built.files, "compiled"_a = built.compiled, "unchanged"_a = built.unchanged);
}

}  // namespace

void bind_aot(py::module_& m) {
  const auto unlocked = py::call_guard<py::gil_scoped_release>();
  py::class_<aot::Frozen>(m, "Frozen")
      .def("bounds",
           [](const aot::Frozen& f) {
             std::vector<int64_t> bounds;
             for (const aot::FrozenRange& range : f.sized) bounds.push_back(range.up_to);
             if (f.at_size > 0) bounds.push_back(f.at_size);
             return bounds;
           })
      .def_readonly("size", &aot::Frozen::size)
      .def_readonly("others", &aot::Frozen::others)
      .def("set_loss", [](aot::Frozen& f, double worst, int64_t at, std::vector<int64_t> sizes, std::string hardware,
                          int threads, int trials) {
        f.loss = aot::FrozenLoss{worst, at, std::move(sizes), std::move(hardware), threads, trials};
      });
  py::class_<aot::FreezeOptions>(m, "FreezeOptions")
      .def(py::init<>())
      .def_readwrite("name", &aot::FreezeOptions::name)
      .def_readwrite("log", &aot::FreezeOptions::log)
      .def_readwrite("hardware", &aot::FreezeOptions::hardware)
      .def_readwrite("threads", &aot::FreezeOptions::threads)
      .def_readwrite("allow_default", &aot::FreezeOptions::allow_default)
      .def_readwrite("source", &aot::FreezeOptions::source);
  m.def(
      "_freeze_task",
      [](const autotune::Task& task, const aot::FreezeOptions& options) { return aot::freeze(task, options); },
      unlocked);
  m.def("_freeze_schedule", &freeze_schedule, unlocked);
  m.def("_freeze_by_size", &freeze_by_size, unlocked);
  m.def("_freeze_any_size", &freeze_any_size, unlocked);
  m.def("_function_of_frozen", [](const aot::Frozen& f) {
    const auto module = [&] {
      const py::gil_scoped_release release;
      return build(f.program, f.target, 3, f.packers);
    }();
    return make_function(module);
  });
  m.def("_write_frozen", &aot::write, unlocked);
  m.def("_frozen_name", &file_name);
  m.def("_frozen_stale", &stale, unlocked);
  m.def("_at_size", &te::at_size, unlocked);
  m.def("_computation_hash", &autotune::computation_hash);
  m.def("_target_named", [](const std::string& text) { return aot::target_named(text).value_or_throw().to_string(); });
  m.def("_build_frozen", [](const std::vector<std::string>& paths, const std::string& folder, const std::string& name,
                            const std::string& prefix, const std::optional<Target>& baseline, bool archive, bool shared,
                            bool debug_lines, const std::vector<std::string>& externs) {
    const aot::BuildOptions options{.folder = folder,
                                    .name = name,
                                    .prefix = prefix,
                                    .baseline = baseline,
                                    .archive = archive,
                                    .shared = shared,
                                    .debug_lines = debug_lines,
                                    .externs = externs};
    const aot::Built built = [&] {
      const py::gil_scoped_release release;
      return aot::build(paths, options);
    }();
    return dict_of(built);
  });
}

}  // namespace tw::bind
