// tw::Error in Python: one exception class for each ErrorKind, with the user's own line filled in.
#include <string>

#include "python/bind/bind.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

std::string package_dir;  // ends in a slash; set once, when the package is imported

const char* class_of(ErrorKind kind) {
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
    case ErrorKind::kRpc:
      return "RpcError";
    case ErrorKind::kParse:
      return "ParseError";
    case ErrorKind::kInternal:
      break;
  }
  return "InternalError";
}

void set_python_error(const Diagnostic& d) {
  const SourceLine where = d.where.known() ? d.where : user_line();
  const py::object type = py::module_::import("tensorwright.errors").attr(class_of(d.kind));
  py::list arguments;
  arguments.append(d.what);
  for (const std::string& note : d.notes) arguments.append(note);
  const py::object error = type(*py::tuple(arguments), py::arg("file") = where.file, py::arg("line") = where.line,
                                py::arg("text") = where.text);
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error& e) {
    try {
      set_python_error(e.diagnostic());
    } catch (py::error_already_set& broken) {
      broken.restore();
    }
  }
}

std::string render(const std::string& what, const py::tuple& notes, const std::string& file, int line,
                   const std::string& text, bool internal) {
  Diagnostic d{internal ? ErrorKind::kInternal : ErrorKind::kExpr, what, {file, line, text}, {}};
  for (const py::handle note : notes) d.notes.push_back(py::cast<std::string>(py::str(note)));
  return d.render();
}

}  // namespace

void refuse(ErrorKind kind, std::string what, std::vector<std::string> notes) {
  throw Error(Diagnostic{kind, std::move(what), {}, std::move(notes)});
}

SourceLine user_line() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(reinterpret_cast<PyObject*>(frame));
  SourceLine where;
  while (frame != nullptr && !where.known()) {
    const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    std::string file = py::cast<std::string>(code.attr("co_filename"));
    if ((package_dir.empty() || !file.starts_with(package_dir)) && !file.starts_with("<frozen ")) {  // nor its runpy
      where.file = std::move(file);
      where.line = PyFrame_GetLineNumber(frame);
    }
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(reinterpret_cast<PyObject*>(frame));
    frame = outer;
  }
  Py_XDECREF(reinterpret_cast<PyObject*>(frame));
  return where;
}

void bind_errors(py::module_& m) {
  py::register_exception_translator(&translate);
  m.def("_set_package_dir", [](const std::string& dir) { package_dir = dir + "/"; });
  m.def("_user_line", [] {
    const SourceLine where = user_line();
    return py::make_tuple(where.file, where.line);
  });
  m.def("_render", &render);
}

}  // namespace tw::bind
