// Arrays in the memory of a CUDA device: whatever has __dlpack__ or __cuda_array_interface__, and our own DeviceArray.
// No data is copied.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "python/bind/arrays.h"
#include "src/runtime/cuda/kernel.h"

namespace tw::bind {

// Python's DeviceArray.
struct DeviceArray {
  std::shared_ptr<void> memory;
  runtime::ArrayView view;
  int ordinal = 0;
};

// The device whose memory the object is in. Throws tw::Error for what is no array there; `place` begins the message.
int device_of(const std::string& place, pybind11::handle object);

// Whose array can be used on the stream without waiting for anything: the owner's own work on it comes before.
BorrowedArray borrow_on_device(const std::string& place, pybind11::handle object, const runtime::cuda::Place&);

// The stream on which the caller of a function works: what `stream` says, or, where it is None, the current one of the
// library that the arrays are of (PyTorch, CuPy), or the default one.
runtime::cuda::Stream stream_for(const std::string& call, pybind11::handle stream, pybind11::handle array, int ordinal);

void bind_device(pybind11::module_& m);

}  // namespace tw::bind
