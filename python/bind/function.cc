// Calls: a fast path for what is exactly what the kernel expects, and the checked path for everything else, which also
// writes the error messages.

#include "python/bind/function.h"

#include <algorithm>
#include <cstdlib>

#include "python/bind/arrays.h"
#include "python/bind/bind.h"
#include "python/bind/device_arrays.h"
#include "python/bind/packed.h"
#include "python/bind/scalars.h"
#include "src/runtime/kernel.h"
#include "src/support/nearest.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

std::vector<runtime::ArrayView> views_of(const std::vector<BorrowedArray>& borrowed) {
  std::vector<runtime::ArrayView> views;
  for (const BorrowedArray& array : borrowed) views.push_back(array.view);
  return views;
}

bool ranges_by_environment() {
  const char* value = std::getenv("TW_CHECK_RANGES");
  return value && std::string_view(value) == "1";
}

}  // namespace

Function::Function(std::shared_ptr<const runtime::Kernel> kernel, std::shared_ptr<const Module> module)
    : kernel_(std::move(kernel)),
      module_(std::move(module)),
      cuda_(dynamic_cast<const runtime::cuda::CudaKernel*>(kernel_.get())),
      fast_(*kernel_),
      checks_ranges_(ranges_by_environment()) {}

std::string Function::place_of_argument(size_t given) const {
  const int slot = fast_.slots()[given];
  const auto at = static_cast<size_t>(slot >= 0 ? slot : ~slot);
  const std::string& name = slot >= 0 ? kernel_->args()[at].name : kernel_->scalars()[at].var.name();
  return kernel_->name() + ": argument " + std::to_string(given + 1) + " (" + name + ")";
}

Function::Taken Function::take_checked(const py::args& given, const Borrow& borrow) const {
  Taken taken;
  const std::vector<int>& slots = fast_.slots();
  if (given.size() != slots.size())
    refuse(ErrorKind::kArgument, kernel_->name() + ": takes " + std::to_string(slots.size()) + " arguments (" +
                                     runtime::argument_names(*kernel_) + "), not " + std::to_string(given.size()));
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string place = place_of_argument(i);
    if (slots[i] >= 0)
      taken.arrays.push_back(borrow(place, given[i]));
    else
      taken.scalars.push_back(
          scalar_value(place, kernel_->scalars()[static_cast<size_t>(~slots[i])].var.type(), given[i]));
  }
  return taken;
}

void Function::call(const py::args& arrays, py::handle stream) const {
  if (cuda_) return call_on_device(arrays, stream);
  if (!stream.is_none())
    refuse(ErrorKind::kArgument, kernel_->name() + ": only functions of target cuda take a stream");
  FastCall::Memory memory;
  if (checks_ranges_ || !fast_.take(arrays, memory)) return call_checked(arrays);
  int32_t code;
  {
    const py::gil_scoped_release released;
    code = kernel_->run(memory.data.data());
  }
  if (code != 0) runtime::throw_kernel_failed(*kernel_, code, memory.data.data());
}

void Function::call_checked(const py::args& arrays) const {
  const Taken taken = take_checked(arrays);
  const std::vector<runtime::ArrayView> views = views_of(taken.arrays);
  const py::gil_scoped_release released;
  if (checks_ranges_) {
    runtime::check_args(*kernel_, views, taken.scalars).value_or_throw();
    runtime::check_ranges(*kernel_, views).value_or_throw();
  }
  runtime::call(*kernel_, views, taken.scalars);
}

runtime::cuda::Place Function::place_of(const py::args& given, py::handle stream) const {
  runtime::cuda::Place place;
  size_t first = given.size();
  for (size_t i = 0; i < std::min(given.size(), fast_.slots().size()); ++i) {
    if (fast_.slots()[i] < 0) continue;
    const int ordinal = device_of(place_of_argument(i), given[i]);
    if (first == given.size()) {
      first = i;
      place.ordinal = ordinal;
    } else if (ordinal != place.ordinal) {
      refuse(ErrorKind::kArgument, place_of_argument(i) + ": must be on cuda:" + std::to_string(place.ordinal) +
                                       " as argument " + std::to_string(first + 1) +
                                       " is, not on cuda:" + std::to_string(ordinal));
    }
  }
  const py::object array = first == given.size() ? py::object(py::none()) : py::object(given[first]);
  place.stream = stream_for(kernel_->name(), stream, array, place.ordinal);
  return place;
}

Function::Taken Function::take_on_device(const py::args& given, const runtime::cuda::Place& on) const {
  return take_checked(given,
                      [&](const std::string& place, py::handle object) { return borrow_on_device(place, object, on); });
}

void Function::call_on_device(const py::args& given, py::handle stream) const {
  runtime::cuda::Place place;
  FastCall::Memory memory;
  if (stream.is_none() && fast_.take_on_device(given, memory, place)) {
    const py::gil_scoped_release released;
    const runtime::cuda::Placed placed(place);
    cuda_->run(memory.data.data());
    return;
  }
  place = place_of(given, stream);
  const Taken taken = take_on_device(given, place);
  const std::vector<runtime::ArrayView> views = views_of(taken.arrays);
  const py::gil_scoped_release released;
  const runtime::cuda::Placed placed(place);
  runtime::call(*kernel_, views, taken.scalars);
}

ReplayedCall Function::graph(const py::args& given) const {
  if (!cuda_) refuse(ErrorKind::kArgument, kernel_->name() + ".graph: only functions of target cuda have graphs");
  const runtime::cuda::Place place = place_of(given, py::none());
  const Taken taken = take_on_device(given, place);
  const std::vector<runtime::ArrayView> views = views_of(taken.arrays);
  ReplayedCall call{kernel_, given, py::none(), nullptr, place.ordinal};
  for (size_t i = given.size(); i-- > 0;)
    if (fast_.slots()[i] >= 0) call.first = given[i];
  const py::gil_scoped_release released;
  call.graph = std::make_shared<const runtime::cuda::CallGraph>(*cuda_, place.ordinal, views, taken.scalars);
  return call;
}

void ReplayedCall::run(py::handle stream) const {
  const runtime::cuda::Stream on = stream_for(kernel->name() + ".graph", stream, first, ordinal);
  const py::gil_scoped_release released;
  graph->run(on);
}

runtime::Timing Function::time(const py::args& arrays, const runtime::TimingOptions& options) const {
  if (cuda_) {
    const runtime::cuda::Place place = place_of(arrays, py::none());
    const Taken on_device = take_on_device(arrays, place);
    const std::vector<runtime::ArrayView> views = views_of(on_device.arrays);
    const py::gil_scoped_release released;
    return runtime::cuda::time_on_device(*cuda_, place, views, options, on_device.scalars);
  }
  const Taken taken = take_checked(arrays);
  const std::vector<runtime::ArrayView> views = views_of(taken.arrays);
  const py::gil_scoped_release released;
  return runtime::time(*kernel_, views, options, taken.scalars);
}

size_t Function::argument(const py::object& which) const {
  const std::vector<runtime::ArgSpec>& args = kernel_->args();
  const std::string call = kernel_->name() + ".pack";
  std::vector<std::string> names;
  for (const runtime::ArgSpec& spec : args) names.push_back(spec.name);
  if (py::isinstance<py::int_>(which) && !py::isinstance<py::bool_>(which)) {
    const auto at = py::reinterpret_borrow<py::int_>(which);
    for (size_t i = 0; i < args.size(); ++i)
      if (at.equal(py::int_(i))) return i;
    refuse(ErrorKind::kArgument, call + ": there is no tensor " + std::string(py::str(which)) + ", they are 0.." +
                                     std::to_string(args.size()));
  }
  if (!py::isinstance<py::str>(which))
    refuse(ErrorKind::kArgument,
           call + ": the first argument must be the name of a parameter or its number, not " + described(which),
           {"f.pack(\"B\", b)"});
  const std::string name = which.cast<std::string>();
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].name == name) return i;
  std::string listed;
  for (const std::string& known : names) listed += (listed.empty() ? "" : ", ") + known;
  refuse(ErrorKind::kArgument, call + ": there is no parameter " + name,
         {"there are " + listed, support::did_you_mean(name, names)});
}

py::object Function::pack(const py::object& which, const py::object& array) const {
  const size_t at = argument(which);
  const std::string& layout = kernel_->args()[at].layout;
  if (kernel_->args()[at].written)
    refuse(ErrorKind::kArgument,
           kernel_->name() + ".pack: " + kernel_->args()[at].name + " is an output; only inputs are packed");
  if (layout.empty()) return array;
  if (py::isinstance<PackedArray>(array) && array.cast<const PackedArray&>().view.layout == layout) return array;
  const BorrowedArray borrowed = borrow(kernel_->name() + ".pack: " + kernel_->args()[at].name, array);
  PackedArray packed;
  {
    const py::gil_scoped_release released;
    runtime::Packed made = runtime::pack(*kernel_, at, borrowed.view);
    if (checks_ranges_) runtime::check_range(*kernel_, at, borrowed.view).value_or_throw();
    packed = {std::move(made.memory), std::move(made.view)};
  }
  return py::cast(std::move(packed));
}

std::vector<std::string> Function::packed_params() const {
  std::vector<std::string> names;
  for (const runtime::ArgSpec& spec : kernel_->args())
    if (!spec.layout.empty()) names.push_back(spec.name);
  return names;
}

}  // namespace tw::bind
