#include "python/bind/device_arrays.h"

#include <pybind11/stl.h>

#include "python/bind/bind.h"
#include "python/bind/dlpack.h"
#include "python/bind/packed.h"
#include "src/runtime/cuda/failures.h"
#include "src/runtime/cuda/memory.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using runtime::cuda::GpuDevice;
using runtime::cuda::Place;
using runtime::cuda::Stream;

constexpr const char* kInterface = "__cuda_array_interface__";

[[noreturn]] void refuse_array(const std::string& place, const std::string& what, std::vector<std::string> notes = {},
                               ErrorKind kind = ErrorKind::kArgument) {
  throw Error(Diagnostic{kind, place + ": " + what, {}, std::move(notes)});
}

[[noreturn]] void elsewhere(const std::string& place, const std::string& where) {
  refuse_array(place, "must be in the memory of a CUDA device, not " + where,
               {"tw.device_array(a) copies a NumPy array there; t.cuda() a PyTorch tensor"});
}

std::string device_text(int ordinal) { return "cuda:" + std::to_string(ordinal); }

std::optional<std::pair<int, int>> dlpack_device(py::handle object) {
  if (!py::hasattr(object, "__dlpack__") || !py::hasattr(object, "__dlpack_device__")) return std::nullopt;
  try {
    const py::tuple device = object.attr("__dlpack_device__")();
    return std::pair(py::int_(device[0]).cast<int>(), py::int_(device[1]).cast<int>());
  } catch (const py::error_already_set&) {
    return std::nullopt;
  } catch (const py::cast_error&) {
    return std::nullopt;
  }
}

bool is_cuda(int type) { return type == dlpack::kCuda || type == dlpack::kCudaManaged; }

// As the interface and DLPack number streams: 1 is the default one.
py::object numbered(Stream stream) {
  return stream == nullptr ? py::int_(1) : py::int_(reinterpret_cast<uintptr_t>(stream));
}

py::object capsule_of(const std::string& place, py::handle object, Stream stream) {
  const py::object number = numbered(stream);
  try {
    return object.attr("__dlpack__")(py::arg("stream") = number, py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& e) {
    if (!e.matches(PyExc_TypeError)) refuse_array(place, "its __dlpack__ failed", {e.what()});
  }
  try {
    return object.attr("__dlpack__")(py::arg("stream") = number);
  } catch (py::error_already_set& e) {
    refuse_array(place, "its __dlpack__ failed", {e.what()});
  }
}

// What its owner has still to do on a stream of its own comes first.
void wait_for(const Place& place, uintptr_t other) {
  const Stream theirs = other <= 2 ? nullptr : reinterpret_cast<Stream>(other);
  if (other == 0 || theirs == place.stream) return;
  const GpuDevice& device = *runtime::cuda::gpu_device(place.ordinal).value_or_throw();
  const runtime::cuda::OnDevice here(device);
  const runtime::cuda::Driver& driver = *device.driver;
  runtime::cuda::Event event = nullptr;
  runtime::cuda::check(device, driver.event_create(&event, runtime::cuda::kNoTiming), "stream", "making an event");
  runtime::cuda::Code failed = driver.event_record(event, theirs);
  if (failed == 0) failed = driver.stream_wait(place.stream, event, 0);
  driver.event_destroy(event);
  runtime::cuda::check(device, failed, "stream", "waiting for another one",
                       runtime::cuda::notes_of_stream(failed, device));
}

[[noreturn]] void refuse_entry(const std::string& place, const py::dict& interface, const char* name,
                               const char* rule) {
  refuse_array(place, "must have " + std::string(rule) + " as " + name + " in its " + kInterface + ", " +
                          (interface.contains(name) ? "not " + described(interface[name]) : "which has none"));
}

// `rule`: what the entry has to be.
template <class Value>
Value entry_in(const std::string& place, const py::dict& interface, const char* name, const char* rule) {
  try {
    return interface[name].cast<Value>();
  } catch (const py::cast_error&) {
    refuse_entry(place, interface, name, rule);
  }
}

bool is_address(PyObject* data) {
  if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2 || !PyLong_Check(PyTuple_GET_ITEM(data, 0))) return false;
  PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(data, 0));
  const bool is = PyErr_Occurred() == nullptr;
  PyErr_Clear();
  return is;
}

// What the object says of its memory; `shape`, `typestr` and `data`, an address and a flag, are there.
py::dict interface_in(const std::string& place, py::handle object) {
  const py::object given = object.attr(kInterface);
  if (!py::isinstance<py::dict>(given))
    refuse_array(place, "must have a dict as its " + std::string(kInterface) + ", not " + described(given));
  const auto require = [&](const char* name, const char* rule, auto is) {
    if (!given.contains(name) || !is(py::object(given[name]).ptr())) refuse_entry(place, given, name, rule);
  };
  require("shape", "a tuple of sizes", [](PyObject* shape) { return PyTuple_Check(shape); });
  require("typestr", "a text", [](PyObject* type) { return PyUnicode_Check(type); });
  require("data", "an address and a flag", is_address);
  if (given.contains("mask") && !given["mask"].is_none())
    refuse_array(place, "must have all of its elements, and its " + std::string(kInterface) + " has a mask",
                 {"pass a copy of what is to be read"});
  return given;
}

py::dtype dtype_in(const std::string& place, const py::object& text) try {
  return py::dtype::from_args(text);
} catch (const py::error_already_set&) {
  refuse_array(place, "has a typestr that NumPy does not know: " + std::string(py::str(text)), {}, ErrorKind::kDType);
}

BorrowedArray borrow_interface(const std::string& place, py::handle object, const Place& on) {
  const py::dict interface = interface_in(place, object);
  const py::dtype dtype = dtype_in(place, interface["typestr"]);
  const std::optional<ir::Type> type = type_of(dtype);
  if (!type)
    refuse_array(place, "has a dtype that no kernel takes: " + std::string(py::str(py::object(dtype))), {},
                 ErrorKind::kDType);
  BorrowedArray borrowed;
  borrowed.owner = py::reinterpret_borrow<py::object>(object);
  const py::tuple data = interface["data"];
  borrowed.view.data = reinterpret_cast<void*>(data[0].cast<uintptr_t>());
  borrowed.view.read_only = data[1].cast<bool>();
  borrowed.view.dtype = *type;
  using Numbers = std::vector<int64_t>;
  borrowed.view.shape = entry_in<Numbers>(place, interface, "shape", "a tuple of sizes");
  if (interface.contains("strides") && !interface["strides"].is_none()) {
    const char* const rule = "as many bytes as sizes";
    const Numbers strides = entry_in<Numbers>(place, interface, "strides", rule);
    if (strides.size() != borrowed.view.shape.size()) refuse_entry(place, interface, "strides", rule);
    for (const int64_t bytes : strides) {
      if (bytes % dtype.itemsize() != 0)
        refuse_array(place, "must have strides of whole elements, not of " + std::to_string(bytes) + " bytes",
                     {"pass a copy"});
      borrowed.view.strides.push_back(bytes / dtype.itemsize());
    }
  }
  if (interface.contains("stream") && !interface["stream"].is_none())
    wait_for(on, entry_in<uintptr_t>(place, interface, "stream", "a stream's number"));
  return borrowed;
}

std::string module_of_type(py::handle object) {
  const std::string module = py::str(py::type::of(object).attr("__module__"));
  return module.substr(0, module.find('.'));
}

// What a library calls its stream: a number, or an object that has one.
Stream stream_in(const std::string& call, py::handle stream) {
  const auto number = [](py::handle value) { return reinterpret_cast<Stream>(value.cast<uintptr_t>()); };
  try {
    if (py::isinstance<py::int_>(stream) && !py::isinstance<py::bool_>(stream)) {
      const auto given = number(stream);
      return reinterpret_cast<uintptr_t>(given) <= 1 ? nullptr : given;
    }
    if (py::hasattr(stream, "__cuda_stream__")) {
      const py::object given = stream.attr("__cuda_stream__");
      const py::object said = PyCallable_Check(given.ptr()) ? given() : given;
      if (py::isinstance<py::tuple>(said) && py::len(said) == 2) return number(py::tuple(said)[1]);
    }
    for (const char* name : {"cuda_stream", "ptr"})
      if (py::hasattr(stream, name)) return number(stream.attr(name));
  } catch (const py::cast_error&) {
  }
  refuse(ErrorKind::kArgument,
         call + ": stream must be a stream of PyTorch or CuPy, or its number, not " + described(stream));
}

// The device of a stream that says it: PyTorch's have a device, CuPy's its number, -1 where it is the current one.
std::optional<int> ordinal_of_stream(py::handle stream) {
  const py::object device = py::getattr(stream, "device", py::none());
  const py::object ordinal = py::getattr(device, "index", py::getattr(stream, "device_id", py::none()));
  if (!py::isinstance<py::int_>(ordinal) || ordinal.cast<int>() < 0) return std::nullopt;
  return ordinal.cast<int>();
}

py::tuple shape_of(const DeviceArray& array) {
  py::tuple shape(array.view.shape.size());
  for (size_t d = 0; d < array.view.shape.size(); ++d) shape[d] = array.view.shape[d];
  return shape;
}

size_t bytes_of(const DeviceArray& array) {
  int64_t elements = 1;
  for (const int64_t extent : array.view.shape) elements *= extent;
  return static_cast<size_t>(array.view.dtype.bytes_of(elements));
}

const GpuDevice& device_of(const DeviceArray& array) {
  return *runtime::cuda::gpu_device(array.ordinal).value_or_throw();
}

// An ordinal: 0, "cuda" or "cuda:1".
int ordinal_in(const char* call, const py::object& device) {
  if (py::isinstance<py::int_>(device) && !py::isinstance<py::bool_>(device)) return device.cast<int>();
  const std::string text = py::str(device);
  const std::string digits = text.starts_with("cuda:") ? text.substr(5) : text == "cuda" ? "0" : "";
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != digits.npos)
    refuse(ErrorKind::kArgument,
           std::string(call) + ": device must be \"cuda:0\" or a number, not " + described(device));
  return std::stoi(digits);
}

DeviceArray copied(const py::object& array, const py::object& device) {
  using namespace py::literals;
  if (py::isinstance<DeviceArray>(array))
    throw Error(Diagnostic{ErrorKind::kArgument,
                           "device_array: array must be in the memory of the host, not on " +
                               device_text(array.cast<const DeviceArray&>().ordinal),
                           {},
                           {"its .numpy() copies it there"}});
  py::object compact = array;
  if (!py::hasattr(array, "__tw_int4__"))
    compact = py::module_::import("numpy").attr("asarray")(array, "order"_a = "C");
  const BorrowedArray from = borrow("device_array", compact);
  DeviceArray out;
  out.ordinal = ordinal_in("device_array", device);
  out.view = from.view;
  out.view.strides.clear();
  out.view.read_only = false;
  const py::gil_scoped_release released;
  out.memory = runtime::cuda::allocate(device_of(out), bytes_of(out));
  out.view.data = out.memory.get();
  runtime::cuda::copy_to_device(device_of(out), out.view.data, from.view.data, bytes_of(out));
  return out;
}

// NumPy has no 4-bit integers: it sees the bytes that hold them.
py::array bytes_for(const DeviceArray& array) {
  if (array.view.dtype.is_packed()) return py::array(py::dtype("uint8"), static_cast<py::ssize_t>(bytes_of(array)));
  return py::array(py::dtype(ir::to_string(array.view.dtype)), array.view.shape);
}

py::object as_numpy(const DeviceArray& array) {
  py::array out = bytes_for(array);
  void* const to = out.mutable_data();
  {
    const py::gil_scoped_release released;
    runtime::cuda::copy_to_host(device_of(array), to, array.view.data, bytes_of(array));
  }
  if (!array.view.dtype.is_packed()) return out;
  return py::module_::import("tensorwright.int4")
      .attr("Int4Array")(out, shape_of(array), ir::to_string(array.view.dtype));
}

py::dict interface_of(const DeviceArray& array) {
  py::dict interface;
  const bool packed = array.view.dtype.is_packed();
  interface["shape"] = packed ? py::make_tuple(bytes_of(array)) : shape_of(array);
  interface["typestr"] = py::dtype(packed ? "uint8" : ir::to_string(array.view.dtype)).attr("str");
  interface["data"] = py::make_tuple(reinterpret_cast<uintptr_t>(array.view.data), false);
  interface["version"] = 3;
  return interface;
}

py::dict describe(const py::object& device) {
  const GpuDevice& gpu = *runtime::cuda::gpu_device(ordinal_in("device_info", device)).value_or_throw();
  py::dict out;
  out["name"] = gpu.name;
  out["arch"] = gpu.arch;
  out["processors"] = gpu.processors;
  out["memory_bytes"] = gpu.memory_bytes;
  return out;
}

}  // namespace

int device_of(const std::string& place, py::handle object) {
  if (py::isinstance<DeviceArray>(object)) return object.cast<const DeviceArray&>().ordinal;
  if (py::isinstance<py::array>(object)) elsewhere(place, "a NumPy array");
  if (py::isinstance<PackedArray>(object)) elsewhere(place, "packed for this machine's CPU");
  if (py::hasattr(object, "__tw_int4__")) elsewhere(place, "a tw.Int4Array");
  if (const auto device = dlpack_device(object)) {
    if (is_cuda(device->first)) return device->second;
    elsewhere(place, device->first == dlpack::kCpu ? "in that of the CPU"
                                                   : "on DLPack device type " + std::to_string(device->first));
  }
  if (!py::hasattr(object, kInterface))
    refuse_array(place, "must be an array in the memory of a CUDA device, not " + described(object));
  const py::tuple data = interface_in(place, object)["data"];
  const auto ordinal = runtime::cuda::ordinal_of(reinterpret_cast<void*>(data[0].cast<uintptr_t>()));
  return ordinal.value_or(0);  // of no elements, or of another driver
}

BorrowedArray borrow_on_device(const std::string& place, py::handle object, const Place& on) {
  if (py::isinstance<DeviceArray>(object))
    return {object.cast<const DeviceArray&>().view, py::reinterpret_borrow<py::object>(object)};
  if (!dlpack_device(object)) return borrow_interface(place, object, on);
  return borrow_capsule(place, capsule_of(place, object, on.stream));
}

Stream stream_for(const std::string& call, py::handle stream, py::handle array, int ordinal) {
  if (!stream.is_none()) {
    if (const auto theirs = ordinal_of_stream(stream); theirs && *theirs != ordinal)
      refuse(ErrorKind::kArgument, call + ": stream must be one of " + device_text(ordinal) +
                                       ", where the arrays are, not of " + device_text(*theirs));
    return stream_in(call, stream);
  }
  const std::string library = module_of_type(array);
  if (library == "torch")
    return stream_in(call, py::module_::import("torch").attr("cuda").attr("current_stream")(ordinal));
  if (library == "cupy") return stream_in(call, py::module_::import("cupy").attr("cuda").attr("get_current_stream")());
  return nullptr;
}

void bind_device(py::module_& m) {
  py::class_<DeviceArray>(m, "DeviceArray", R"(An array in the memory of a CUDA device, made by ``tw.device_array``.

Functions of target ``cuda`` take it; ``numpy()`` waits for the device and copies it back. PyTorch, CuPy and others see the memory
by ``__cuda_array_interface__``.)")
      .def_property_readonly("shape", &shape_of)
      .def_property_readonly("dtype", [](const DeviceArray& a) { return ir::to_string(a.view.dtype); })
      .def_property_readonly("device", [](const DeviceArray& a) { return device_text(a.ordinal); })
      .def("numpy", &as_numpy,
           "A copy of the elements, once the device is done with them; a tw.Int4Array where they have 4 bits.")
      .def_property_readonly(kInterface, &interface_of)
      .def("__repr__", [](const DeviceArray& a) {
        return "<tensorwright.DeviceArray " + ir::to_string(a.view.dtype) + std::string(py::str(shape_of(a))) + " on " +
               device_text(a.ordinal) + ">";
      });
  m.def("device_array", &copied, py::arg("array"), py::arg("device") = "cuda:0", R"(Copy an array to a CUDA device.

Parameters: array, of NumPy, or what it makes one of, or a tw.Int4Array; device, ``"cuda:0"`` or an ordinal.
Returns: a DeviceArray.
Raises: TargetError where there is no such device, ArgumentError where it has not as much memory.)");
  m.def("device_info", &describe, py::arg("device") = "cuda:0",
        R"(What a CUDA device is: name, arch, processors, memory_bytes.

Raises: TargetError where there is no such device.)");
}

}  // namespace tw::bind
