// Sessions with boards: arrays, files and kernels there.
#include "tensorwright/rpc.h"

#include <pybind11/stl.h>

#include "python/bind/bind.h"
#include "python/bind/scalars.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using rpc::RemoteArray;
using rpc::RemoteKernel;
using rpc::Session;
using runtime::ScalarValue;

ir::Type type_of(const std::string& dtype) {
  const std::optional<ir::Type> type = ir::parse_type(dtype);
  if (!type) refuse(ErrorKind::kDType, "array: there is no dtype " + dtype);
  return *type;
}

// A call's arguments, in their order: arrays, and numbers where the kernel has scalars.
struct Arguments {
  std::vector<RemoteArray> arrays;
  std::vector<ScalarValue> scalars;
};

Arguments taken(const RemoteKernel& kernel, const py::args& given) {
  Arguments taken;
  for (size_t i = 0; i < given.size(); ++i) {
    if (py::isinstance<RemoteArray>(given[i])) {
      taken.arrays.push_back(given[i].cast<RemoteArray>());
      continue;
    }
    const std::string place = kernel.name() + ": argument " + std::to_string(i + 1);
    if (taken.scalars.size() == kernel.scalars().size())
      refuse(ErrorKind::kArgument, place + " must be an array of the session, not " + std::string(py::repr(given[i])),
             {"session.array(x) makes one"});
    const runtime::ScalarSpec& spec = kernel.scalars()[taken.scalars.size()];
    taken.scalars.push_back(scalar_value(place + " (" + spec.var.name() + ")", spec.var.type(), given[i]));
  }
  return taken;
}

py::bytes content_of(const RemoteArray& array) {
  std::string bytes(array.bytes(), '\0');
  {
    const py::gil_scoped_release released;
    array.copy_to(bytes.data());
  }
  return py::bytes(bytes);
}

// The bytes of a buffer that is compact.
std::string_view bytes_of(const py::buffer_info& info) {
  return {static_cast<const char*>(info.ptr), static_cast<size_t>(info.size * info.itemsize)};
}

void write(RemoteArray& array, const py::buffer& from) {
  const py::buffer_info info = from.request();
  const std::string_view bytes = bytes_of(info);
  if (bytes.size() != array.bytes())
    refuse(ErrorKind::kArgument, "an array of " + std::to_string(array.bytes()) + " bytes cannot be filled from " +
                                     std::to_string(bytes.size()));
  const py::gil_scoped_release released;
  array.copy_from(bytes.data());
}

void bind_kernel(py::module_& m) {
  py::class_<RemoteKernel>(m, "RemoteKernel")
      .def_property_readonly("name", &RemoteKernel::name)
      .def_property_readonly("args", &RemoteKernel::args)
      .def_property_readonly("scalars",
                             [](const RemoteKernel& kernel) {
                               std::vector<std::string> names;
                               for (const runtime::ScalarSpec& s : kernel.scalars()) names.push_back(s.var.name());
                               return names;
                             })
      .def("call",
           [](const RemoteKernel& kernel, double timeout, const py::args& given) {
             const Arguments a = taken(kernel, given);
             const py::gil_scoped_release released;
             kernel(a.arrays, a.scalars, timeout);
           })
      .def("time", [](const RemoteKernel& kernel, int number, int repeat, double min_repeat_ms, double cooldown_ms,
                      double timeout, const py::args& given) {
        const Arguments a = taken(kernel, given);
        const py::gil_scoped_release released;
        return kernel.time(a.arrays, {number, repeat, min_repeat_ms}, cooldown_ms, a.scalars, timeout).runs;
      });
}

void bind_session(py::module_& m) {
  using Released = py::call_guard<py::gil_scoped_release>;
  py::class_<Session>(m, "RemoteSession")
      .def_property_readonly("description", &Session::description)
      .def("close", &Session::close, Released())
      .def("upload",
           [](Session& session, const std::string& name, const py::buffer& content) {
             const py::buffer_info info = content.request();
             const py::gil_scoped_release released;
             session.upload(name, bytes_of(info));
           })
      .def("download",
           [](const Session& session, const std::string& name) {
             std::string content;
             {
               const py::gil_scoped_release released;
               content = session.download(name);
             }
             return py::bytes(content);
           })
      .def("listdir", &Session::listdir, Released())
      .def("remove", &Session::remove, Released())
      .def("load_module", &Session::load_module, Released())
      .def("array", [](Session& session, const std::string& dtype, std::vector<int64_t> shape) {
        const ir::Type type = type_of(dtype);
        const py::gil_scoped_release released;
        return session.array(type, std::move(shape));
      });
}

}  // namespace

void bind_rpc(py::module_& m) {
  py::class_<RemoteArray>(m, "RemoteArray")
      .def_property_readonly("dtype", [](const RemoteArray& a) { return ir::to_string(a.dtype()); })
      .def_property_readonly("shape", [](const RemoteArray& a) { return py::tuple(py::cast(a.shape())); })
      .def("read", content_of)
      .def("write", write);
  bind_kernel(m);
  bind_session(m);
  m.def(
      "rpc_connect",
      [](const std::string& host, uint16_t port, const std::string& secret, double timeout) {
        return Session::connect({host, port, secret, timeout});
      },
      py::call_guard<py::gil_scoped_release>());
  m.def(
      "rpc_request",
      [](const std::string& host, uint16_t port, const std::string& secret, double timeout, const std::string& key,
         const std::string& predicate, int priority, double wait, double session_timeout, int max_retry) {
        return Session::request({host, port, secret, timeout},
                                {key, predicate, priority, wait, session_timeout, max_retry});
      },
      py::call_guard<py::gil_scoped_release>());
  m.def(
      "rpc_summary",
      [](const std::string& host, uint16_t port, const std::string& secret, double timeout) {
        return rpc::tracker_summary({host, port, secret, timeout});
      },
      py::call_guard<py::gil_scoped_release>());
}

}  // namespace tw::bind
