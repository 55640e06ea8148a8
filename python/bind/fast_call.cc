#include "python/bind/fast_call.h"

#include <pybind11/numpy.h>

#include <cmath>
#include <cstring>
#include <unordered_map>

#include "python/bind/arrays.h"
#include "python/bind/device_arrays.h"
#include "python/bind/packed.h"
#include "src/runtime/extents.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using runtime::ScalarSpec;

std::vector<int> numpy_type_numbers(ir::Type type) {
  std::vector<int> numbers;
  // By name, so that NumPy decides which C type has these bits; "longlong" is the other 64-bit integer.
  const std::string name = ir::to_string(type);
  if (type == ir::Type::bf16() || type.is_float8()) return numbers;  // where ml_dtypes registers them, see below
  numbers.push_back(py::dtype(name).num());
  if (name == "int64") numbers.push_back(py::dtype("longlong").num());
  if (name == "uint64") numbers.push_back(py::dtype("ulonglong").num());
  return numbers;
}

// Arrays, and before each the scalars that have their place there.
std::vector<int> slots_of(const runtime::Kernel& kernel) {
  std::vector<int> slots;
  for (const runtime::Argument argument : runtime::arguments_in_order(kernel)) {
    const auto number = static_cast<int>(argument.number);
    slots.push_back(argument.scalar ? ~number : number);
  }
  return slots;
}

bool holds(ir::Type type, int64_t value) {
  if (type.bits >= 64) return type.is_int() || value >= 0;
  return type.is_uint() ? value >= 0 && value >> type.bits == 0
                        : value >= -(int64_t{1} << (type.bits - 1)) && value < int64_t{1} << (type.bits - 1);
}

dlpack::DataType in_dlpack(ir::Type type) {
  const auto bits = static_cast<uint8_t>(type.is_bool() ? 8 : type.bits);
  const auto code = [&] {
    if (type.is_bool()) return dlpack::kBool;
    if (type == ir::Type::bf16()) return dlpack::kBFloat;
    if (type == ir::Type::e4m3()) return dlpack::kE4M3;
    if (type == ir::Type::e5m2()) return dlpack::kE5M2;
    if (type.is_float()) return dlpack::kFloat;
    return type.is_int() ? dlpack::kInt : dlpack::kUInt;
  };
  return {code(), bits, 1};
}

// Whether a NumPy type that a library has registered, as ml_dtypes does, is this one. A number is given once.
bool is_registered_as(ir::Type type, int number, PyObject* descriptor) {
  constexpr int kRegistered = 256;  // and above
  if (number < kRegistered) return false;
  static auto* const known = new std::unordered_map<int, std::optional<ir::Type>>;  // under the GIL
  const auto [found, is_new] = known->try_emplace(number);
  if (is_new) found->second = type_of(py::reinterpret_borrow<py::dtype>(descriptor));
  return found->second == type;
}

// Whether a gradient is asked for of the array: then its library keeps it from others.
bool requires_grad(PyObject* object) {
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  PyObject* const asked = PyObject_GetAttr(object, name);
  if (asked == nullptr) PyErr_Clear();
  Py_XDECREF(asked);
  return asked != nullptr && asked != Py_False;
}

// What the type's library has of DLPack's C functions; null: none of our version. Types that were asked stay alive.
const dlpack::ExchangeApi* exchange_of(PyTypeObject* type) {
  static auto* const known = new std::unordered_map<PyTypeObject*, const dlpack::ExchangeApi*>;  // under the GIL
  const auto found = known->find(type);
  if (found != known->end()) return found->second;
  const py::handle handle(reinterpret_cast<PyObject*>(type));
  const dlpack::ExchangeApi* api = nullptr;
  const py::object capsule = py::getattr(handle, "__dlpack_c_exchange_api__", py::none());
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kExchangeApi))
    api = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::kExchangeApi));
  if (api != nullptr && (api->version.major != 1 || api->look == nullptr || api->current_stream == nullptr))
    api = nullptr;
  handle.inc_ref();
  known->emplace(type, api);
  return api;
}

}  // namespace

FastCall::FastCall(const runtime::Kernel& kernel)
    : kernel_(kernel),
      slots_(slots_of(kernel)),
      packed_type_(reinterpret_cast<PyTypeObject*>(py::type::of<PackedArray>().ptr())),
      device_type_(reinterpret_cast<PyTypeObject*>(py::type::of<DeviceArray>().ptr())) {
  const auto* cuda = dynamic_cast<const runtime::cuda::CudaKernel*>(&kernel);
  on_device_ = cuda != nullptr;
  possible_ = kernel.args().size() <= kMost && kernel.scalars().size() <= kMost;
  if (on_device_) possible_ = possible_ && cuda->requirements().empty();
  for (const runtime::ArgSpec& spec : kernel.args()) {
    possible_ = possible_ && spec.symbolic_strides.empty() && !spec.dtype.is_packed();
    if (possible_) expected_.push_back(expected_of(spec));
  }
}

FastCall::Expected FastCall::expected_of(const runtime::ArgSpec& spec) const {
  Expected expected;
  expected.dtype = spec.dtype;
  expected.in_dlpack = in_dlpack(spec.dtype);
  expected.type_numbers = numpy_type_numbers(spec.dtype);
  for (const int64_t extent : spec.shape) expected.shape.push_back({extent});
  for (size_t d = 0; d < spec.symbolic_shape.size(); ++d) expected.shape[d] = extent_of(spec.symbolic_shape[d]);
  for (const int64_t stride : spec.strides) expected.strides.push_back(stride * spec.dtype.bytes());
  expected.item = spec.dtype.bytes();
  expected.written = spec.written;
  expected.layout = spec.layout;
  return expected;
}

FastCall::Extent FastCall::extent_of(const ir::Expr& extent) const {
  if (const auto number = ir::as_int(extent)) return {*number};
  const auto* var = ir::as<ir::VarRef>(extent);
  for (size_t s = 0; var && s < kernel_.scalars().size(); ++s)
    if (kernel_.scalars()[s].var == var->var) return {0, static_cast<int>(s)};
  return {0, -1, &extent};
}

bool FastCall::take_array(const Expected& expected, PyObject* object, Array& array) const {
  if (!expected.layout.empty()) {
    if (Py_TYPE(object) != packed_type_) return false;
    const auto& packed = py::cast<const PackedArray&>(py::handle(object));
    if (packed.view.layout != expected.layout || packed.view.shape.size() != expected.shape.size()) return false;
    static_assert(sizeof(py::ssize_t) == sizeof(int64_t));
    array = {packed.view.data, reinterpret_cast<const py::ssize_t*>(packed.view.shape.data())};
    return true;
  }
  if (!py::detail::npy_api::get().PyArray_Check_(object)) {
    const dlpack::ExchangeApi* library = exchange_of(Py_TYPE(object));
    dlpack::Device device = {};
    return library != nullptr && take_tensor(expected, *library, object, array, device) &&
           (device.type == dlpack::kCpu || device.type == dlpack::kCudaHost);
  }
  const auto* given = py::detail::array_proxy(object);
  const auto* type = py::detail::array_descriptor_proxy(given->descr);
  if (type->byteorder == '>') return false;
  bool known = expected.type_numbers.empty() && is_registered_as(expected.dtype, type->type_num, given->descr);
  for (const int number : expected.type_numbers) known |= type->type_num == number;
  if (!known || given->nd != static_cast<int>(expected.shape.size())) return false;
  if (expected.written && !(given->flags & py::detail::npy_api::NPY_ARRAY_WRITEABLE_)) return false;
  array = {given->data, given->dimensions, given->strides};
  return reinterpret_cast<uintptr_t>(given->data) % static_cast<size_t>(expected.item) == 0;
}

bool FastCall::take_device_array(const Expected& expected, PyObject* object, Array& array, Owner& owner) const {
  if (!expected.layout.empty()) return false;
  const auto of_one = [&](const dlpack::ExchangeApi* library, int ordinal) {
    const bool first = owner.ordinal < 0;
    if (first) owner = {library, ordinal};
    return owner.library == library && owner.ordinal == ordinal;
  };
  if (Py_TYPE(object) == device_type_) {
    const auto& given = py::cast<const DeviceArray&>(py::handle(object));
    const runtime::ArrayView& view = given.view;
    if (view.dtype != expected.dtype || view.shape.size() != expected.shape.size() || !view.strides.empty())
      return false;
    array = {view.data, reinterpret_cast<const py::ssize_t*>(view.shape.data())};
    return of_one(nullptr, given.ordinal);
  }
  const dlpack::ExchangeApi* library = exchange_of(Py_TYPE(object));
  dlpack::Device device = {};
  return library != nullptr && take_tensor(expected, *library, object, array, device) &&
         (device.type == dlpack::kCuda || device.type == dlpack::kCudaManaged) && of_one(library, device.id);
}

bool FastCall::take_tensor(const Expected& expected, const dlpack::ExchangeApi& library, PyObject* object, Array& array,
                           dlpack::Device& device) const {
  if (requires_grad(object)) return false;
  dlpack::Tensor tensor;
  if (library.look(object, &tensor) != 0) {
    PyErr_Clear();  // the checked path asks again, and says what
    return false;
  }
  device = tensor.device;
  if (!(tensor.dtype == expected.in_dlpack) || tensor.ndim != static_cast<int>(expected.shape.size())) return false;
  array = {static_cast<char*>(tensor.data) + tensor.byte_offset, reinterpret_cast<const py::ssize_t*>(tensor.shape),
           reinterpret_cast<const py::ssize_t*>(tensor.strides), 0, expected.item};
  return reinterpret_cast<uintptr_t>(array.data) % static_cast<size_t>(expected.item) == 0;
}

bool FastCall::take_scalar(ir::Type type, PyObject* object, runtime::ScalarValue& value) const {
  value = 0;
  if (type.is_bool()) {
    value = object == Py_True;
    return PyBool_Check(object);
  }
  if (type.is_int() || type.is_uint() || type.is_index()) {
    if (!PyLong_CheckExact(object)) return false;
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
    value = static_cast<runtime::ScalarValue>(number);
    return overflow == 0 && (type.is_index() || holds(type, number));
  }
  if (!PyFloat_CheckExact(object)) return false;
  const double number = PyFloat_AS_DOUBLE(object);
  if (type == ir::Type::f(64)) {
    std::memcpy(&value, &number, sizeof number);
    return true;
  }
  const auto single = static_cast<float>(number);
  std::memcpy(&value, &single, sizeof single);
  return type == ir::Type::f(32) && std::isfinite(single) == std::isfinite(number);
}

// The scalars that are an extent have their value from the first such; all must have one then.
bool FastCall::read_off_scalars(const Arrays& arrays, Memory& memory, uint32_t known) const {
  for (size_t i = 0; i < expected_.size(); ++i)
    for (size_t d = 0; d < expected_[i].shape.size(); ++d) {
      const int scalar = expected_[i].shape[d].scalar;
      if (scalar < 0 || (known >> scalar & 1) != 0) continue;
      memory.scalars[scalar] = static_cast<runtime::ScalarValue>(arrays[i].shape[d]);
      known |= 1u << scalar;
    }
  return known == (1u << kernel_.scalars().size()) - 1;
}

bool FastCall::has_shape(const Expected& expected, Array& array, const Memory& memory) const {
  constexpr py::ssize_t kMostBytes = py::ssize_t{1} << 56;
  const auto value_of = [&](const ir::Expr& extent) {
    runtime::Values values;
    for (size_t s = 0; s < kernel_.scalars().size(); ++s)
      values[kernel_.scalars()[s].var.id()] = static_cast<int64_t>(memory.scalars[s]);
    return runtime::evaluate(extent, values).value_or(-1);
  };
  py::ssize_t stride = expected.item, last = 0;
  for (size_t d = expected.shape.size(); d-- > 0;) {
    const Extent& extent = expected.shape[d];
    const py::ssize_t wanted = extent.value         ? value_of(*extent.value)
                               : extent.scalar >= 0 ? static_cast<py::ssize_t>(memory.scalars[extent.scalar])
                                                    : extent.number;
    const py::ssize_t given = array.shape[d], declared = expected.strides.empty() ? stride : expected.strides[d];
    const py::ssize_t apart = array.strides ? array.strides[d] * array.unit : stride;  // compact where nothing is said
    if (given != wanted || (given != 1 && apart != declared)) return false;
    last += (given - 1) * declared;
    if (given > 1 && __builtin_mul_overflow(stride, given, &stride)) return false;
    if (given == 0 || stride > kMostBytes) return false;
  }
  array.bytes = last + expected.item;
  return true;
}

bool FastCall::outputs_apart(const Arrays& arrays) const {
  const auto begin = [&](size_t i) { return reinterpret_cast<uintptr_t>(arrays[i].data); };
  const auto end = [&](size_t i) { return begin(i) + static_cast<size_t>(arrays[i].bytes); };
  for (size_t out = 0; out < expected_.size(); ++out)
    for (size_t i = 0; expected_[out].written && i < expected_.size(); ++i)
      if (i != out && begin(out) < end(i) && begin(i) < end(out)) return false;
  return true;
}

bool FastCall::take(const py::args& given, Memory& memory) const {
  return !on_device_ && take_all(given, memory, [&](const Expected& expected, PyObject* object, Array& array) {
    return take_array(expected, object, array);
  });
}

bool FastCall::take_on_device(const py::args& given, Memory& memory, runtime::cuda::Place& place) const {
  Owner owner;
  if (!take_all(given, memory, [&](const Expected& expected, PyObject* object, Array& array) {
        return take_device_array(expected, object, array, owner);
      }))
    return false;
  place = {std::max(owner.ordinal, 0)};
  if (owner.library == nullptr) return true;
  void* stream = nullptr;
  if (owner.library->current_stream(dlpack::kCuda, owner.ordinal, &stream) != 0) {
    PyErr_Clear();
    return false;
  }
  place.stream = static_cast<runtime::cuda::Stream>(stream);
  return true;
}

template <class TakeArray>
bool FastCall::take_all(const py::args& given, Memory& memory, const TakeArray& take_array) const {
  if (!possible_ || given.size() != slots_.size()) return false;
  Arrays arrays;
  uint32_t known = 0;
  const std::vector<ScalarSpec>& scalars = kernel_.scalars();
  for (size_t i = 0; i < slots_.size(); ++i) {
    PyObject* object = PyTuple_GET_ITEM(given.ptr(), static_cast<py::ssize_t>(i));
    if (slots_[i] >= 0) {
      const auto at = static_cast<size_t>(slots_[i]);
      if (!take_array(expected_[at], object, arrays[at])) return false;
      memory.data[at] = arrays[at].data;
    } else {
      const auto at = static_cast<size_t>(~slots_[i]);
      if (!take_scalar(scalars[at].var.type(), object, memory.scalars[at])) return false;
      known |= 1u << at;
    }
  }
  if (!read_off_scalars(arrays, memory, known)) return false;
  for (size_t i = 0; i < expected_.size(); ++i)
    if (!has_shape(expected_[i], arrays[i], memory)) return false;
  for (size_t s = 0; s < scalars.size(); ++s) memory.data[expected_.size() + s] = &memory.scalars[s];
  return outputs_apart(arrays);
}

}  // namespace tw::bind
