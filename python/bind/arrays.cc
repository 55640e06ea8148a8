#include "python/bind/arrays.h"

#include "python/bind/dlpack.h"
#include "python/bind/packed.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& what, std::vector<std::string> notes = {},
                         ErrorKind kind = ErrorKind::kArgument) {
  throw Error(Diagnostic{kind, place + ": " + what, {}, std::move(notes)});
}

std::string type_name(py::handle object) {
  const auto type = py::type::of(object);
  const std::string module = py::str(type.attr("__module__"));
  const std::string name = py::str(type.attr("__qualname__"));
  return module == "builtins" ? name : module + "." + name;
}

bool byte_swapped(const py::dtype& dtype) { return dtype.byteorder() == '>'; }

BorrowedArray borrow_numpy(const std::string& place, const py::array& array) {
  const std::optional<ir::Type> type = type_of(array.dtype());
  if (byte_swapped(array.dtype())) {
    refuse(place,
           "must be in the byte order of this machine, not byte-swapped (" +
               std::string(py::str(array.dtype().attr("str"))) + ")",
           {"convert it: a.astype(a.dtype.newbyteorder(\"=\"))"}, ErrorKind::kDType);
  }
  if (!type)
    refuse(place, "has a dtype that no kernel takes: " + std::string(py::str(array.dtype())), {}, ErrorKind::kDType);
  if (type->is_packed())
    refuse(place, "must hold two " + ir::to_string(*type) + " in a byte, not one as NumPy does",
           {"pack it: tw.pack_int4(a)"}, ErrorKind::kDType);
  BorrowedArray borrowed;
  borrowed.owner = array;
  borrowed.view.data = py::detail::array_proxy(array.ptr())->data;
  borrowed.view.dtype = *type;
  borrowed.view.read_only = !array.writeable();
  borrowed.view.shape.assign(array.shape(), array.shape() + array.ndim());
  for (py::ssize_t d = 0; d < array.ndim(); ++d) {
    if (array.strides(d) % array.itemsize() != 0)
      refuse(place, "must have strides of whole elements, not of " + std::to_string(array.strides(d)) + " bytes",
             {"pass a copy"});
    borrowed.view.strides.push_back(array.strides(d) / array.itemsize());
  }
  return borrowed;
}

std::optional<ir::Type> type_of(const dlpack::DataType& type) {
  if (type.lanes != 1) return std::nullopt;
  std::optional<ir::Type> known;
  if (type.code == dlpack::kInt) known = ir::Type::i(type.bits);
  if (type.code == dlpack::kUInt) known = ir::Type::u(type.bits);
  if (type.code == dlpack::kFloat) known = ir::Type::f(type.bits);
  if (type.code == dlpack::kBFloat && type.bits == 16) known = ir::Type::bf16();
  if (type.code == dlpack::kE4M3) known = ir::Type::e4m3();
  if (type.code == dlpack::kE5M2) known = ir::Type::e5m2();
  if (type.code == dlpack::kBool && type.bits == 8) known = ir::Type::boolean();
  return known && ir::parse_type(ir::to_string(*known)) == known ? known : std::nullopt;
}

// The tensor in a capsule, and whether it may be written.
std::pair<const dlpack::Tensor*, bool> tensor_in(const std::string& place, const py::object& capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    auto* managed = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    return {&managed->tensor, false};
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto* managed =
        static_cast<dlpack::ManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if ((managed->flags & dlpack::kPadded) != 0 && managed->tensor.dtype.bits < 8)
      refuse(place, "must have its elements of " + std::to_string(managed->tensor.dtype.bits) +
                        " bits packed, not one to a byte");
    if (managed->major == 1) return {&managed->tensor, (managed->flags & dlpack::kReadOnly) != 0};
  }
  refuse(place, "its __dlpack__ gave no tensor of DLPack 1");
}

std::string device_name(py::handle object, const std::string& otherwise) {
  return py::hasattr(object, "device") ? std::string(py::str(object.attr("device"))) : otherwise;
}

void require_cpu(const std::string& place, py::handle object) {
  if (!py::hasattr(object, "__dlpack_device__")) return;
  std::string name;
  try {
    const auto device = object.attr("__dlpack_device__")().cast<std::pair<int, int>>();
    if (device.first == dlpack::kCpu || device.first == dlpack::kCudaHost) return;
    name = device_name(object, "DLPack type " + std::to_string(device.first));
  } catch (const py::cast_error&) {
    refuse(place, "must be an array; its __dlpack_device__ gave no (type, number)");
  } catch (const py::error_already_set& e) {  // PyTorch has devices that DLPack does not
    name = device_name(object, e.what());
  }
  refuse(place, "must be in CPU memory, not on device " + name, {"copy it to the CPU first"});
}

py::object export_capsule(const std::string& place, py::handle object) {
  try {
    return object.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(1, 0));
  } catch (py::error_already_set& e) {
    // A producer from before DLPack 1.0 does not know max_version.
    if (!e.matches(PyExc_TypeError)) refuse(place, "its __dlpack__ failed", {e.what()});
  }
  try {
    return object.attr("__dlpack__")();
  } catch (py::error_already_set& e) {
    refuse(place, "its __dlpack__ failed", {e.what()});
  }
}

// A tw.Int4Array.
BorrowedArray borrow_int4(const std::string& place, py::handle object) {
  const py::array bytes = py::reinterpret_borrow<py::object>(object.attr("bytes"));
  BorrowedArray borrowed = borrow_numpy(place, bytes);
  const std::optional<ir::Type> type = ir::parse_type(std::string(py::str(object.attr("dtype"))));
  int64_t elements = 1;
  borrowed.view.shape.clear();
  for (const py::handle extent : py::tuple(object.attr("shape"))) {
    borrowed.view.shape.push_back(extent.cast<int64_t>());
    elements *= borrowed.view.shape.back();
  }
  const bool compact = bytes.ndim() == 1 && (bytes.size() < 2 || bytes.strides(0) == 1);
  if (!type || !type->is_packed() || borrowed.view.dtype != ir::Type::u(8) || !compact ||
      bytes.size() != type->bytes_of(elements))
    refuse(place, "is no whole Int4Array: its bytes must be a uint8 array of half its elements",
           {"tw.pack_int4(a) makes one"});
  borrowed.view.dtype = *type;
  borrowed.view.strides.clear();
  return borrowed;
}

BorrowedArray borrow_dlpack(const std::string& place, py::handle object) {
  // PyTorch would refuse to export these; the reason is ours to give.
  if (py::hasattr(object, "requires_grad") && py::bool_(object.attr("requires_grad")))
    refuse(place, "must not require grad: a kernel records no gradient", {"pass t.detach()"});
  require_cpu(place, object);
  return borrow_capsule(place, export_capsule(place, object));
}

}  // namespace

std::optional<ir::Type> type_of(const py::dtype& dtype) {
  if (byte_swapped(dtype)) return std::nullopt;
  const std::string name = py::str(dtype.attr("name"));
  const std::optional<ir::Type> type = ir::parse_type(name);
  return type && !type->is_index() ? type : std::nullopt;
}

BorrowedArray borrow_capsule(const std::string& place, py::object capsule) {
  BorrowedArray borrowed;
  borrowed.owner = std::move(capsule);  // its destructor calls the producer's deleter
  const auto [tensor, read_only] = tensor_in(place, borrowed.owner);
  const std::optional<ir::Type> type = type_of(tensor->dtype);
  if (!type) {
    refuse(place,
           "has a dtype that no kernel takes: DLPack code " + std::to_string(tensor->dtype.code) + ", " +
               std::to_string(tensor->dtype.bits) + " bits",
           {}, ErrorKind::kDType);
  }
  runtime::ArrayView& view = borrowed.view;
  view.data = tensor->data ? static_cast<char*>(tensor->data) + tensor->byte_offset : nullptr;
  view.dtype = *type;
  view.read_only = read_only;
  view.shape.assign(tensor->shape, tensor->shape + tensor->ndim);
  if (tensor->strides) view.strides.assign(tensor->strides, tensor->strides + tensor->ndim);
  return borrowed;
}

std::string described(py::handle object) {
  constexpr size_t kLongest = 72;
  if (py::hasattr(object, "shape")) {
    try {
      return "an array of shape " + std::string(py::str(py::tuple(object.attr("shape"))));
    } catch (const py::error_already_set&) {  // a shape of its own kind
      return "a " + type_name(object);
    }
  }
  const std::string text = py::str(py::repr(object));
  return text.size() <= kLongest ? text : "a " + type_name(object);
}

BorrowedArray borrow(const std::string& place, py::handle object) {
  if (py::isinstance<PackedArray>(object))
    return {object.cast<const PackedArray&>().view, py::reinterpret_borrow<py::object>(object)};
  if (py::isinstance<py::array>(object)) return borrow_numpy(place, py::reinterpret_borrow<py::array>(object));
  if (py::hasattr(object, "__tw_int4__")) return borrow_int4(place, object);
  if (py::hasattr(object, "__dlpack__")) return borrow_dlpack(place, object);
  refuse(place, "must be an array (NumPy, or anything with __dlpack__), not " + type_name(object));
}

}  // namespace tw::bind
