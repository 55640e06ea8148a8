// Python's arrays as ArrayViews: NumPy arrays, and whatever has __dlpack__. No data is copied.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "tensorwright/runtime.h"

namespace tw::bind {

struct BorrowedArray {
  runtime::ArrayView view;
  pybind11::object owner;  // keeps the memory while the view is used
};

// `place` begins the message of an error: "dense: argument 2 (B)". Throws tw::Error for what is no array in this
// process' memory, requires grad, is byte-swapped, or has a dtype that no kernel takes.
BorrowedArray borrow(const std::string& place, pybind11::handle object);

// Of the capsule that an object's __dlpack__ gave.
BorrowedArray borrow_capsule(const std::string& place, pybind11::object capsule);

// An argument in a message: "an array of shape (3, 4)", or a short repr.
std::string described(pybind11::handle object);

// The element type of a NumPy dtype, ml_dtypes.bfloat16 included; nothing for others and for byte-swapped ones.
std::optional<ir::Type> type_of(const pybind11::dtype& dtype);

}  // namespace tw::bind
