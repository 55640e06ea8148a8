// The callable that tw.build and tw.load return.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "python/bind/arrays.h"
#include "python/bind/fast_call.h"
#include "tensorwright/build.h"
#include "tensorwright/runtime.h"

namespace tw::bind {

class Function {
 public:
  // Without a module (a loaded shared object) there is no source to show.
  explicit Function(std::shared_ptr<const runtime::Kernel> kernel, std::shared_ptr<const Module> module = nullptr);

  void call(const pybind11::args& arrays) const;
  runtime::Timing time(const pybind11::args& arrays, const runtime::TimingOptions&) const;

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
  Taken take_checked(const pybind11::args& given) const;
  void call_checked(const pybind11::args& arrays) const;
  size_t argument(const pybind11::object& which) const;

  std::shared_ptr<const runtime::Kernel> kernel_;
  std::shared_ptr<const Module> module_;
  FastCall fast_;
  bool checks_ranges_ = false;
};

inline Function make_function(std::shared_ptr<const Module> module) {
  auto kernel = module->kernel();
  return Function(std::move(kernel), std::move(module));
}

}  // namespace tw::bind
