// Whether an array is what a kernel expects of an argument; if not, the message says what was expected and what came.

#include <algorithm>

#include "src/ir/walk.h"
#include "src/runtime/extents.h"
#include "src/runtime/kernel.h"

namespace tw::runtime {
namespace {

std::string tuple(const std::vector<int64_t>& values) {
  std::string text = "(";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + (values.size() == 1 ? ",)" : ")");
}

// Arrays, and the scalars between them, are counted as people do.
size_t number_of(const Kernel& kernel, size_t array) {
  size_t number = array + 1;
  for (const ScalarSpec& scalar : kernel.scalars())
    number += scalar.place >= 0 && scalar.place <= static_cast<int>(array);
  return number;
}

// "dense: argument 2 (B)".
std::string place(const Kernel& kernel, size_t i) {
  return kernel.name() + ": argument " + std::to_string(number_of(kernel, i)) + " (" + kernel.args()[i].name + ")";
}

Diagnostic refuse(const Kernel& kernel, size_t i, const std::string& what, ErrorKind kind = ErrorKind::kArgument) {
  return Diagnostic{kind, place(kernel, i) + ": " + what, {}, {}};
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
      d.notes.push_back("argument " + std::to_string(number_of(kernel, other)) +
                        " has that shape; the order of arguments is " + argument_names(kernel));
      break;
    }
  return d;
}

// Where a scalar has its value from: "argument 1 (A)".
std::string origin(const Kernel& kernel, const ScalarSpec& scalar) {
  if (scalar.place >= 0) return "as passed";
  for (size_t i = 0; i < kernel.args().size(); ++i)
    for (const ir::Expr& extent : kernel.args()[i].symbolic_shape)
      if (const auto* v = ir::as<ir::VarRef>(extent); v && v->var == scalar.var)
        return "of argument " + std::to_string(number_of(kernel, i)) + " (" + kernel.args()[i].name + ")";
  return "";
}

// "dimension 1 must be n*2 = 6, not 5", and where n has its value from.
Diagnostic wrong_extent(const Kernel& kernel, size_t i, size_t d, int64_t wanted, int64_t got, const BoundCall& call) {
  const ir::Expr& symbol = kernel.args()[i].symbolic_shape[d];
  const std::string text = ir::to_string(symbol);
  const std::string rule = "dimension " + std::to_string(d) + " must be " + text;
  Diagnostic out = wanted < 0 ? refuse(kernel, i, rule + ", which must not be negative: " + std::to_string(wanted))
                              : refuse(kernel, i,
                                       rule + (text == std::to_string(wanted) ? "" : " = ") +
                                           (text == std::to_string(wanted) ? "" : std::to_string(wanted)) + ", not " +
                                           std::to_string(got));
  for (size_t s = 0; s < kernel.scalars().size(); ++s) {
    const ScalarSpec& scalar = kernel.scalars()[s];
    if (ir::used_vars(symbol).contains(scalar.var.id()))
      out.notes.push_back(scalar.var.name() + " = " + std::to_string(static_cast<int64_t>(call.scalars[s])) + " " +
                          origin(kernel, scalar));
  }
  return out;
}

Status check_symbolic_shape(const Kernel& kernel, size_t i, const ArrayView& view, const BoundCall& call) {
  constexpr int64_t kMaxElements = int64_t{1} << 56;  // as te has it for constant shapes
  const std::vector<int64_t>& wanted = call.args[i].shape;
  if (wanted.size() != view.shape.size())
    return refuse(kernel, i,
                  "rank must be " + std::to_string(wanted.size()) + ", not " + std::to_string(view.shape.size()));
  int64_t elements = 1;
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d] != view.shape[d] || wanted[d] < 0) return wrong_extent(kernel, i, d, wanted[d], view.shape[d], call);
    if (__builtin_mul_overflow(elements, std::max<int64_t>(wanted[d], 1), &elements) || elements > kMaxElements)
      return refuse(kernel, i, "a tensor has at most 2**56 elements, " + tuple(view.shape) + " makes more");
  }
  return Unit{};
}

// Packed memory is taken only with the layout of its making: shapes may agree by accident.
Status check_layout(const Kernel& kernel, size_t i, const ArgSpec& spec, const ArrayView& view) {
  if (view.layout == spec.layout) return Unit{};
  if (spec.layout.empty())
    return refuse(kernel, i, "must be the array as declared, not one that is packed as " + view.layout);
  std::string shape;
  for (const int64_t extent : spec.shape) shape += (shape.empty() ? "" : "x") + std::to_string(extent);
  const std::string pass = "pass f.pack(\"" + spec.name + "\", array), made once for all calls";
  if (view.layout.empty()) return refuse(kernel, i, spec.name + " is packed as " + shape + " by this kernel") << pass;
  return refuse(kernel, i, "must be packed as " + spec.layout + ", not as " + view.layout)
         << "it was packed for another kernel; " + pass;
}

Status check_one(const Kernel& kernel, size_t i, std::span<const ArrayView> views, const BoundCall& call) {
  const ArgSpec& spec = call.args[i];
  const ArrayView& view = views[i];
  TW_TRY([[maybe_unused]] Unit layout, check_layout(kernel, i, spec, view));
  if (view.dtype != spec.dtype)
    return refuse(kernel, i, "dtype must be " + ir::to_string(spec.dtype) + ", not " + ir::to_string(view.dtype),
                  ErrorKind::kDType);
  if (!spec.symbolic_shape.empty()) {
    TW_TRY([[maybe_unused]] Unit shape, check_symbolic_shape(kernel, i, view, call));
  } else if (view.shape != spec.shape) {
    return wrong_shape(kernel, i, views);
  }
  if (spec.written && view.read_only) return refuse(kernel, i, "an output must be writable, this array is read-only");
  const int64_t elements = spec.elements();
  if (elements == 0) return Unit{};
  if (!view.data) return refuse(kernel, i, "must have memory, its address is null");
  if (!strides_fit(spec, view)) {
    const std::string wanted =
        spec.strides.empty() ? "compact (row-major)" : "strided as declared, " + tuple(spec.strides);
    const std::string given =
        view.strides.empty() ? "compact (row-major)" : "with strides " + tuple(view.strides) + " (in elements)";
    return refuse(kernel, i, "must be " + wanted + ", not " + given)
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

Status check_overlap(const Kernel& kernel, std::span<const ArrayView> views, const BoundCall& call) {
  const std::vector<ArgSpec>& specs = call.args;
  for (size_t out = 0; out < specs.size(); ++out) {
    if (!specs[out].written || specs[out].elements() == 0) continue;
    for (size_t other = 0; other < specs.size(); ++other)
      if (other != out && specs[other].elements() != 0 && overlap(specs[out], views[out], specs[other], views[other]))
        return refuse(kernel, out,
                      "an output must not share memory with another argument, it overlaps argument " +
                          std::to_string(number_of(kernel, other)) + " (" + specs[other].name + ")")
               << "pass an array of its own for the output";
  }
  return Unit{};
}

}  // namespace

Status check_argument(const Kernel& kernel, size_t i, std::span<const ArrayView> views, const BoundCall& call) {
  return check_one(kernel, i, views, call);
}

std::string argument_names(const Kernel& kernel) {
  std::string text;
  for (const Argument argument : arguments_in_order(kernel)) {
    const std::string& name =
        argument.scalar ? kernel.scalars()[argument.number].var.name() : kernel.args()[argument.number].name;
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::vector<Argument> arguments_in_order(const Kernel& kernel) {
  std::vector<Argument> all;
  const std::vector<ScalarSpec>& scalars = kernel.scalars();
  size_t scalar = 0;
  const auto add_scalars = [&](size_t arrays) {
    for (; scalar < scalars.size() && scalars[scalar].place >= 0; ++scalar) {
      if (scalars[scalar].place > static_cast<int>(arrays)) return;
      all.push_back({true, scalar});
    }
  };
  for (size_t i = 0; i < kernel.args().size(); ++i) {
    add_scalars(i);
    all.push_back({false, i});
  }
  add_scalars(kernel.args().size());
  return all;
}

Result<BoundCall> checked_call(const Kernel& kernel, std::span<const ArrayView> views,
                               std::span<const ScalarValue> scalars) {
  const size_t wanted = kernel.args().size();
  if (views.size() != wanted)
    return Diagnostic{ErrorKind::kArgument,
                      kernel.name() + ": takes " + std::to_string(wanted) + " arguments (" + argument_names(kernel) +
                          "), not " + std::to_string(views.size()),
                      {},
                      {}};
  TW_TRY(BoundCall call, bind_call(kernel, views, scalars));
  for (size_t i = 0; i < wanted; ++i) {
    TW_TRY([[maybe_unused]] Unit fine, check_one(kernel, i, views, call));
  }
  TW_TRY([[maybe_unused]] Unit apart, check_overlap(kernel, views, call));
  TW_TRY([[maybe_unused]] Unit fit, check_requirements(kernel, call.scalars));
  return call;
}

Status check_args(const Kernel& kernel, std::span<const ArrayView> views, std::span<const ScalarValue> scalars) {
  TW_TRY([[maybe_unused]] BoundCall call, checked_call(kernel, views, scalars));
  return Unit{};
}

void call(const Kernel& kernel, std::span<const ArrayView> views, std::span<const ScalarValue> scalars) {
  BoundCall call = checked_call(kernel, views, scalars).value_or_throw();
  const std::vector<void*> data = addresses(views, call);
  if (const int32_t code = kernel.run(data.data()); code != 0) throw_kernel_failed(kernel, code, data.data());
}

}  // namespace tw::runtime
