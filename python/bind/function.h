// The callable that tw.build and tw.load return.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

#include "python/bind/arrays.h"
#include "tensorwright/build.h"
#include "tensorwright/runtime.h"

namespace tw::bind {

class Function {
 public:
  // Without a module (a loaded shared object) there is no source to show.
  explicit Function(std::shared_ptr<const runtime::Kernel> kernel, std::shared_ptr<const Module> module = nullptr);

  void call(const pybind11::args& arrays) const;
  runtime::Timing time(const pybind11::args& arrays, const runtime::TimingOptions&) const;
  const runtime::Kernel& kernel() const { return *kernel_; }
  const Module* module() const { return module_.get(); }

 private:
  // What a NumPy array must look like to be taken without asking anything else.
  struct Expected {
    std::vector<int> type_numbers;                  // NumPy has two names for some integers
    std::vector<pybind11::ssize_t> shape, strides;  // strides in bytes
    size_t bytes = 0;
    size_t alignment = 1;
    bool written = false;
  };
  // A call taken apart: arrays, which are borrowed, and the bits of the scalars.
  struct Taken {
    std::vector<BorrowedArray> arrays;
    std::vector<runtime::ScalarValue> scalars;
  };
  Taken take_checked(const pybind11::args& given) const;
  bool take(const Expected&, PyObject* object, void** data) const;
  bool take_all(const pybind11::args& arrays, void** data) const;
  bool outputs_apart(void* const* data) const;
  void call_checked(const pybind11::args& arrays) const;

  std::shared_ptr<const runtime::Kernel> kernel_;
  std::shared_ptr<const Module> module_;
  std::vector<Expected> expected_;
  std::vector<int> slots_;  // of each argument: which array, or ~ which scalar
  bool symbolic_ = false;   // shapes give scalars, or scalars are passed: the checked path
};

inline Function make_function(std::shared_ptr<const Module> module) {
  auto kernel = module->kernel();
  return Function(std::move(kernel), std::move(module));
}

}  // namespace tw::bind
