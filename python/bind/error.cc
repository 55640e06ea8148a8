// tw::Error as the exception classes of tensorwright/errors.py, with the user's line filled in.
#include "tensorwright/error.h"

#include <pybind11/stl.h>

#include "python/bind/bind.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

const char* class_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kDType:
      return "DTypeError";
    case ErrorKind::kExpr:
      return "ExprError";
    case ErrorKind::kSchedule:
      return "ScheduleError";
    case ErrorKind::kArgument:
      return "ArgumentError";
    case ErrorKind::kTarget:
      return "TargetError";
    case ErrorKind::kBuild:
      return "BuildError";
    case ErrorKind::kLog:
      return "LogError";
    case ErrorKind::kNoRecord:
      return "NoRecord";
    case ErrorKind::kTune:
      return "TuneError";
    case ErrorKind::kParse:
      return "ParseError";
    case ErrorKind::kInternal:
      return "InternalError";
  }
  return "InternalError";
}

// Where nothing is known, the innermost frame outside the package; the text through linecache, which knows notebook
// cells.
void locate(SourceLine& where) {
  py::module_ location = py::module_::import("tensorwright._location");
  if (!where.known()) {
    auto [file, line] = location.attr("user_line")().cast<std::pair<std::string, int>>();
    where.file = file;
    where.line = line;
  }
  if (where.text.empty()) where.text = location.attr("line_text")(where.file, where.line).cast<std::string>();
}

void raise(const Error& error) {
  Diagnostic d = error.diagnostic();
  locate(d.where);
  py::object type = py::module_::import("tensorwright.errors").attr(class_name(d.kind));
  py::object value = type(d.render());
  value.attr("what") = d.what;
  value.attr("notes") = d.notes;
  value.attr("file") = d.where.file;
  value.attr("line") = d.where.line;
  PyErr_SetObject(type.ptr(), value.ptr());
}

}  // namespace

void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const Error& error) {
      try {
        raise(error);
      } catch (py::error_already_set& inner) {
        inner.restore();
      }
    }
  });
}

}  // namespace tw::bind
