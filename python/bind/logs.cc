// Logs of measurements and their reports, in Python.
#include <pybind11/stl.h>

#include "autotune/log/autotvm.h"
#include "autotune/log/history.h"
#include "autotune/log/log_tools.h"
#include "autotune/measure/here.h"
#include "autotune/report/report.h"
#include "codegen/calibration.h"
#include "python/bind/bind.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using namespace tw::autotune;

void bind_record(py::module_& m) {
  py::class_<Record>(m, "TuneRecord")
      .def_readonly("kind", &Record::kind)
      .def_readonly("task", &Record::name)
      .def_readonly("args", &Record::args)
      .def_property_readonly("hash", [](const Record& r) { return r.key.hash; })
      .def_property_readonly("target", [](const Record& r) { return r.key.target; })
      .def_property_readonly("threads", [](const Record& r) { return r.key.threads; })
      .def_property_readonly("hardware", [](const Record& r) { return r.key.hardware; })
      .def_property_readonly("call", [](const Record& r) { return call_text(r.name, r.args); })
      .def_readonly("trial", &Record::trial)
      .def_readonly("flops", &Record::flops)
      .def_readonly("seed", &Record::seed)
      .def_readonly("version", &Record::version)
      .def_readonly("time", &Record::time);
}

py::dict dict_of(const LogEdit& edit) {
  py::list dropped;
  for (const DroppedLine& d : edit.dropped) dropped.append(py::make_tuple(d.path, d.line.line, d.line.why));
  using namespace py::literals;
  return py::dict("kept"_a = edit.kept, "repeated"_a = edit.repeated, "worse"_a = edit.worse, "dropped"_a = dropped);
}

// A measurement of a candidate that somebody else has timed.
Record measurement(const Task& task, uint64_t index, double seconds, int runs, const std::string& status,
                   const std::string& detail) {
  Record record;
  record.key = key_of(task, runtime::this_machine());
  record.name = task.name();
  record.args = task.args();
  record.trial.index = index;
  record.trial.knobs = task.space().describe(index);
  record.trial.steps = task.steps(index).value_or_throw();
  record.trial.seconds = seconds;
  record.trial.runs = runs;
  record.trial.status = status;
  record.trial.detail = detail;
  return record;
}

MachineDescription described_here(const Target& target) {
  return codegen::with_kept_rates(preferred_machine(target).value_or(runtime::this_machine()), target);
}

std::string page_of_log(const std::string& path, const Task* task, const std::string& title) {
  const py::gil_scoped_release release;
  return html_report(subjects_of(path, codegen::with_kept_rates(runtime::this_machine(), Target::host()), task), title);
}

}  // namespace

void bind_logs(py::module_& m) {
  bind_record(m);
  m.def("_load_log", [](const std::string& path) {
    Log log = load_log(path);
    return std::pair(std::move(log.records), log.damaged);
  });
  m.def("_pick_best", [](const std::string& path) { return pick_best(load_log(path)); });
  m.def("_write_best", [](const std::string& path, const std::string& output) { return pick_best(path, output); });
  m.def("_merge_logs", [](const std::vector<std::string>& logs, const std::string& output) {
    return dict_of(merge_logs(logs, output));
  });
  m.def("_prune_log", [](const std::string& log, const std::string& output, size_t keep) {
    return dict_of(prune_log(log, output, keep));
  });
  m.def("_import_autotvm", [](const std::string& log, const std::string& output, const Task* task) {
    return dict_of(import_autotvm(log, output, task, runtime::this_machine()));
  });
  m.def("_export_autotvm",
        [](const std::string& log, const std::string& output) { return dict_of(export_autotvm(log, output)); });
  m.def("_to_autotvm", [](const Record& record) { return to_autotvm(record); });
  m.def("_from_autotvm", [](const std::string& line, const Task* task) {
    return (task ? from_autotvm(line, *task, runtime::this_machine()) : from_autotvm(line)).value_or_throw();
  });
  m.def("_measurement", &measurement);
  m.def("_report_log", &page_of_log);
  m.def(
      "_report_result",
      [](const Task& task, const TuneResult& result, const std::string& title) {
        return html_report({subject_of(task, result, described_here(task.target()))}, title);
      },
      py::call_guard<py::gil_scoped_release>());
  m.def(
      "_summary",
      [](const Task& task, const TuneResult& result) {
        return html_summary(subject_of(task, result, described_here(task.target())));
      },
      py::call_guard<py::gil_scoped_release>());
}

}  // namespace tw::bind
