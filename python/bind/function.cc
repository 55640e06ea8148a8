// Calls: a fast path for NumPy arrays that are exactly what the kernel expects (no allocation, no Python call), and the
// checked path for everything else, which also writes the error messages.

#include "python/bind/function.h"

#include <array>

#include "python/bind/arrays.h"
#include "python/bind/scalars.h"
#include "src/runtime/kernel.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

constexpr size_t kFastArguments = 16;

std::vector<int> numpy_type_numbers(ir::Type type) {
  std::vector<int> numbers;
  // By name, so that NumPy decides which C type has these bits; "longlong" is the other 64-bit integer.
  const std::string name = ir::to_string(type);
  if (type == ir::Type::bf16()) return numbers;  // registered by ml_dtypes, if at all: the checked path
  numbers.push_back(py::dtype(name).num());
  if (name == "int64") numbers.push_back(py::dtype("longlong").num());
  if (name == "uint64") numbers.push_back(py::dtype("ulonglong").num());
  return numbers;
}

std::vector<runtime::ArrayView> views_of(const std::vector<BorrowedArray>& borrowed) {
  std::vector<runtime::ArrayView> views;
  for (const BorrowedArray& array : borrowed) views.push_back(array.view);
  return views;
}

}  // namespace

Function::Function(std::shared_ptr<const runtime::Kernel> kernel, std::shared_ptr<const Module> module)
    : kernel_(std::move(kernel)), module_(std::move(module)) {
  size_t scalar = 0;
  const auto place_scalars = [&](size_t arrays) {
    const std::vector<runtime::ScalarSpec>& scalars = kernel_->scalars();
    for (; scalar < scalars.size() && scalars[scalar].place >= 0; ++scalar) {
      if (scalars[scalar].place > static_cast<int>(arrays)) return;
      slots_.push_back(~static_cast<int>(scalar));
    }
  };
  for (size_t i = 0; i < kernel_->args().size(); ++i) {
    place_scalars(i);
    slots_.push_back(static_cast<int>(i));
  }
  place_scalars(kernel_->args().size());
  symbolic_ = !kernel_->scalars().empty();
  if (symbolic_) return;
  for (const runtime::ArgSpec& spec : kernel_->args()) {
    Expected expected;
    expected.type_numbers = numpy_type_numbers(spec.dtype);
    expected.shape.assign(spec.shape.begin(), spec.shape.end());
    expected.strides.assign(spec.strides.begin(), spec.strides.end());
    if (expected.strides.empty()) {
      expected.strides.assign(spec.shape.size(), 1);
      for (size_t d = spec.shape.size(); d-- > 1;) expected.strides[d - 1] = expected.strides[d] * expected.shape[d];
    }
    for (py::ssize_t& stride : expected.strides) stride *= spec.dtype.bytes();
    expected.bytes = spec.bytes();
    expected.alignment = static_cast<size_t>(spec.dtype.bytes());
    expected.written = spec.written;
    expected_.push_back(std::move(expected));
  }
}

bool Function::take(const Expected& expected, PyObject* object, void** data) const {
  if (!py::detail::npy_api::get().PyArray_Check_(object)) return false;
  const auto* array = py::detail::array_proxy(object);
  const auto* type = py::detail::array_descriptor_proxy(array->descr);
  if (type->byteorder == '>') return false;
  bool known = false;
  for (const int number : expected.type_numbers) known |= type->type_num == number;
  if (!known || array->nd != static_cast<int>(expected.shape.size())) return false;
  for (size_t d = 0; d < expected.shape.size(); ++d) {
    if (array->dimensions[d] != expected.shape[d]) return false;
    if (expected.shape[d] != 1 && array->strides[d] != expected.strides[d]) return false;
  }
  if (expected.written && !(array->flags & py::detail::npy_api::NPY_ARRAY_WRITEABLE_)) return false;
  *data = array->data;
  return reinterpret_cast<uintptr_t>(array->data) % expected.alignment == 0;
}

bool Function::outputs_apart(void* const* data) const {
  const auto begin = [&](size_t i) { return reinterpret_cast<uintptr_t>(data[i]); };
  for (size_t out = 0; out < expected_.size(); ++out)
    for (size_t i = 0; expected_[out].written && i < expected_.size(); ++i)
      if (i != out && begin(out) < begin(i) + expected_[i].bytes && begin(i) < begin(out) + expected_[out].bytes)
        return false;
  return true;
}

bool Function::take_all(const py::args& arrays, void** data) const {
  if (symbolic_ || arrays.size() != expected_.size() || expected_.size() > kFastArguments) return false;
  for (size_t i = 0; i < expected_.size(); ++i)
    if (!take(expected_[i], PyTuple_GET_ITEM(arrays.ptr(), static_cast<py::ssize_t>(i)), &data[i])) return false;
  return outputs_apart(data);
}

Function::Taken Function::take_checked(const py::args& given) const {
  Taken taken;
  if (given.size() != slots_.size()) {
    throw Error(Diagnostic{ErrorKind::kArgument,
                           kernel_->name() + ": takes " + std::to_string(slots_.size()) + " arguments (" +
                               runtime::argument_names(*kernel_) + "), not " + std::to_string(given.size()),
                           {},
                           {}});
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const bool array = slots_[i] >= 0;
    const auto at = static_cast<size_t>(array ? slots_[i] : ~slots_[i]);
    const std::string& name = array ? kernel_->args()[at].name : kernel_->scalars()[at].var.name();
    const std::string place = kernel_->name() + ": argument " + std::to_string(i + 1) + " (" + name + ")";
    if (array)
      taken.arrays.push_back(borrow(place, given[i]));
    else
      taken.scalars.push_back(scalar_value(place, kernel_->scalars()[at].var.type(), given[i]));
  }
  return taken;
}

void Function::call(const py::args& arrays) const {
  std::array<void*, kFastArguments> data;
  if (!take_all(arrays, data.data())) return call_checked(arrays);
  int32_t code;
  {
    const py::gil_scoped_release released;
    code = kernel_->run(data.data());
  }
  if (code != 0) runtime::throw_kernel_failed(*kernel_, code);
}

void Function::call_checked(const py::args& arrays) const {
  const Taken taken = take_checked(arrays);
  const std::vector<runtime::ArrayView> views = views_of(taken.arrays);
  const py::gil_scoped_release released;
  runtime::call(*kernel_, views, taken.scalars);
}

runtime::Timing Function::time(const py::args& arrays, const runtime::TimingOptions& options) const {
  const Taken taken = take_checked(arrays);
  const std::vector<runtime::ArrayView> views = views_of(taken.arrays);
  const py::gil_scoped_release released;
  return runtime::time(*kernel_, views, options, taken.scalars);
}

}  // namespace tw::bind
