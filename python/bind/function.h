// The callable that tw.build and tw.load return.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "python/bind/arrays.h"
#include "python/bind/fast_call.h"
#include "src/runtime/cuda/graph.h"
#include "tensorwright/build.h"
#include "tensorwright/runtime.h"

namespace tw::bind {

// A call of a device's function that is replayed: what f.graph(..) returns.
struct ReplayedCall {
  std::shared_ptr<const runtime::Kernel> kernel;
  pybind11::tuple arrays;  // which are kept
  pybind11::object first;  // of them, which is no scalar
  std::shared_ptr<const runtime::cuda::CallGraph> graph;
  int ordinal = 0;
  void run(pybind11::handle stream) const;
};

class Function {
 public:
  // Without a module (a loaded shared object) there is no source to show.
  explicit Function(std::shared_ptr<const runtime::Kernel> kernel, std::shared_ptr<const Module> module = nullptr);

  // `stream`, of a device's functions only: None is the caller's current one.
  void call(const pybind11::args& arrays, pybind11::handle stream = pybind11::none()) const;
  runtime::Timing time(const pybind11::args& arrays, const runtime::TimingOptions&) const;
  ReplayedCall graph(const pybind11::args& arrays) const;

  // The array as the kernel takes it for its parameter `which`, a name or a number: a PackedArray, or the array itself
  // where the schedule packs nothing.
  pybind11::object pack(const pybind11::object& which, const pybind11::object& array) const;
  std::vector<std::string> packed_params() const;

  // Whether calls check what placeholders promise of their values (TW_CHECK_RANGES=1, or as set).
  bool checks_ranges() const { return checks_ranges_; }
  void check_ranges(bool on) { checks_ranges_ = on; }

  const runtime::Kernel& kernel() const { return *kernel_; }
  const Module* module() const { return module_.get(); }

 private:
  // A call taken apart: arrays, which are borrowed, and the bits of the scalars.
  struct Taken {
    std::vector<BorrowedArray> arrays;
    std::vector<runtime::ScalarValue> scalars;
  };
  using Borrow = std::function<BorrowedArray(const std::string& place, pybind11::handle object)>;
  Taken take_checked(const pybind11::args& given, const Borrow& borrow = bind::borrow) const;
  void call_checked(const pybind11::args& arrays) const;
  // Where a call of a device's function runs: where its arrays are, all on one device.
  runtime::cuda::Place place_of(const pybind11::args& given, pybind11::handle stream) const;
  Taken take_on_device(const pybind11::args& given, const runtime::cuda::Place&) const;
  void call_on_device(const pybind11::args& given, pybind11::handle stream) const;
  std::string place_of_argument(size_t given) const;  // "dense: argument 2 (B)"
  size_t argument(const pybind11::object& which) const;

  std::shared_ptr<const runtime::Kernel> kernel_;
  std::shared_ptr<const Module> module_;
  const runtime::cuda::CudaKernel* cuda_ = nullptr;  // kernel_, where it is a device's
  FastCall fast_;
  bool checks_ranges_ = false;
};

inline Function make_function(std::shared_ptr<const Module> module) {
  auto kernel = module->kernel();
  return Function(std::move(kernel), std::move(module));
}

}  // namespace tw::bind
