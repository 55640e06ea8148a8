// Calls: a fast path for NumPy arrays that are exactly what the kernel expects (no allocation, no Python call), and the
// checked path for everything else, which also writes the error messages.

#include "python/bind/function.h"

#include <array>

#include "python/bind/arrays.h"
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

std::vector<BorrowedArray> borrow_all(const runtime::Kernel& kernel, const py::args& arrays) {
  std::vector<BorrowedArray> borrowed;
  const std::vector<runtime::ArgSpec>& specs = kernel.args();
  for (size_t i = 0; i < arrays.size(); ++i) {
    std::string place = kernel.name() + ": argument " + std::to_string(i + 1);
    if (i < specs.size()) place += " (" + specs[i].name + ")";
    borrowed.push_back(borrow(place, arrays[i]));
  }
  return borrowed;
}

std::vector<runtime::ArrayView> views_of(const std::vector<BorrowedArray>& borrowed) {
  std::vector<runtime::ArrayView> views;
  for (const BorrowedArray& array : borrowed) views.push_back(array.view);
  return views;
}

}  // namespace

Function::Function(std::shared_ptr<const runtime::Kernel> kernel, std::shared_ptr<const Module> module)
    : kernel_(std::move(kernel)), module_(std::move(module)) {
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
  if (arrays.size() != expected_.size() || expected_.size() > kFastArguments) return false;
  for (size_t i = 0; i < expected_.size(); ++i)
    if (!take(expected_[i], PyTuple_GET_ITEM(arrays.ptr(), static_cast<py::ssize_t>(i)), &data[i])) return false;
  return outputs_apart(data);
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
  const std::vector<BorrowedArray> borrowed = borrow_all(*kernel_, arrays);
  const std::vector<runtime::ArrayView> views = views_of(borrowed);
  const py::gil_scoped_release released;
  runtime::call(*kernel_, views);
}

runtime::Timing Function::time(const py::args& arrays, const runtime::TimingOptions& options) const {
  const std::vector<BorrowedArray> borrowed = borrow_all(*kernel_, arrays);
  const std::vector<runtime::ArrayView> views = views_of(borrowed);
  const py::gil_scoped_release released;
  return runtime::time(*kernel_, views, options);
}

}  // namespace tw::bind
