// Whether an array is what a kernel expects of an argument; if not, the message says what was expected and what came.

#include <algorithm>

#include "src/runtime/kernel.h"

namespace tw::runtime {
namespace {

std::string tuple(const std::vector<int64_t>& values) {
  std::string text = "(";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + (values.size() == 1 ? ",)" : ")");
}

std::string names_of(const Kernel& kernel) {
  std::string text;
  for (const ArgSpec& spec : kernel.args()) text += (text.empty() ? "" : ", ") + spec.name;
  return text;
}

// "dense: argument 2 (B)", counted as people do.
std::string place(const Kernel& kernel, size_t i) {
  return kernel.name() + ": argument " + std::to_string(i + 1) + " (" + kernel.args()[i].name + ")";
}

Diagnostic refuse(const Kernel& kernel, size_t i, const std::string& what, ErrorKind kind = ErrorKind::kArgument) {
  return Diagnostic{kind, place(kernel, i) + ": " + what, {}, {}};
}

std::vector<int64_t> compact_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

bool strides_fit(const ArgSpec& spec, const ArrayView& view) {
  if (view.strides.empty() && spec.strides.empty()) return true;
  const std::vector<int64_t> wanted = spec.strides.empty() ? compact_strides(spec.shape) : spec.strides;
  const std::vector<int64_t> got = view.strides.empty() ? compact_strides(view.shape) : view.strides;
  for (size_t d = 0; d < wanted.size(); ++d)
    if (spec.shape[d] > 1 && wanted[d] != got[d]) return false;
  return true;
}

Diagnostic wrong_shape(const Kernel& kernel, size_t i, std::span<const ArrayView> views) {
  const std::vector<int64_t>& wanted = kernel.args()[i].shape;
  const std::string what = wanted.size() == views[i].shape.size() ? "shape" : "rank and shape";
  Diagnostic d = refuse(kernel, i, what + " must be " + tuple(wanted) + ", not " + tuple(views[i].shape));
  for (size_t other = 0; other < views.size(); ++other)
    if (other != i && views[other].shape == wanted && kernel.args()[other].shape != wanted) {
      d.notes.push_back("argument " + std::to_string(other + 1) + " has that shape; the order of arguments is " +
                        names_of(kernel));
      break;
    }
  return d;
}

Status check_one(const Kernel& kernel, size_t i, std::span<const ArrayView> views) {
  const ArgSpec& spec = kernel.args()[i];
  const ArrayView& view = views[i];
  if (view.dtype != spec.dtype)
    return refuse(kernel, i, "dtype must be " + ir::to_string(spec.dtype) + ", not " + ir::to_string(view.dtype),
                  ErrorKind::kDType);
  if (view.shape != spec.shape) return wrong_shape(kernel, i, views);
  if (spec.written && view.read_only) return refuse(kernel, i, "an output must be writable, this array is read-only");
  const int64_t elements = spec.elements();
  if (elements == 0) return Unit{};
  if (!view.data) return refuse(kernel, i, "must have memory, its address is null");
  if (!strides_fit(spec, view)) {
    const std::string wanted =
        spec.strides.empty() ? "compact (row-major)" : "strided as declared, " + tuple(spec.strides);
    return refuse(kernel, i, "must be " + wanted + ", not with strides " + tuple(view.strides) + " (in elements)")
           << "pass a copy, or declare the placeholder with strides";
  }
  if (reinterpret_cast<uintptr_t>(view.data) % static_cast<size_t>(spec.dtype.bytes()) != 0)
    return refuse(kernel, i, "must be aligned to its elements (" + std::to_string(spec.dtype.bytes()) + " bytes)")
           << "pass a copy";
  return Unit{};
}

bool overlap(const ArgSpec& a, const ArrayView& x, const ArgSpec& b, const ArrayView& y) {
  const auto begin_x = reinterpret_cast<uintptr_t>(x.data), begin_y = reinterpret_cast<uintptr_t>(y.data);
  return begin_x < begin_y + b.bytes() && begin_y < begin_x + a.bytes();
}

Status check_overlap(const Kernel& kernel, std::span<const ArrayView> views) {
  const std::vector<ArgSpec>& specs = kernel.args();
  for (size_t out = 0; out < specs.size(); ++out) {
    if (!specs[out].written || specs[out].elements() == 0) continue;
    for (size_t other = 0; other < specs.size(); ++other)
      if (other != out && specs[other].elements() != 0 && overlap(specs[out], views[out], specs[other], views[other]))
        return refuse(kernel, out,
                      "an output must not share memory with another argument, it overlaps argument " +
                          std::to_string(other + 1) + " (" + specs[other].name + ")")
               << "pass an array of its own for the output";
  }
  return Unit{};
}

}  // namespace

Status check_args(const Kernel& kernel, std::span<const ArrayView> views) {
  const size_t wanted = kernel.args().size();
  if (views.size() != wanted)
    return Diagnostic{ErrorKind::kArgument,
                      kernel.name() + ": takes " + std::to_string(wanted) + " arguments (" + names_of(kernel) +
                          "), not " + std::to_string(views.size()),
                      {},
                      {}};
  for (size_t i = 0; i < wanted; ++i)
    if (Status status = check_one(kernel, i, views); !status.ok()) return status;
  return check_overlap(kernel, views);
}

void call(const Kernel& kernel, std::span<const ArrayView> views) {
  check_args(kernel, views).value_or_throw();
  std::vector<void*> data;
  for (const ArrayView& view : views) data.push_back(view.data);
  if (const int32_t code = kernel.run(data.data()); code != 0) throw_kernel_failed(kernel, code);
}

}  // namespace tw::runtime
