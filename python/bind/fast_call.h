// The fast path of a call: NumPy arrays, packed arrays, arrays of a library that has DLPack's C functions, such as
// PyTorch, and plain numbers that are exactly what the kernel expects are taken without an allocation or a Python call;
// of a device's function DeviceArrays, and such arrays of one library.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <vector>

#include "python/bind/dlpack.h"
#include "src/runtime/cuda/kernel.h"
#include "tensorwright/runtime.h"

namespace tw::bind {

class FastCall {
 public:
  static constexpr size_t kMost = 16;  // arrays, and as many scalars

  // What Kernel::run takes. `data` points into `scalars`.
  struct Memory {
    std::array<void*, 2 * kMost> data;
    std::array<runtime::ScalarValue, kMost> scalars;
  };

  explicit FastCall(const runtime::Kernel& kernel);

  // Of each argument of a call in Python: which array, or ~ which scalar.
  const std::vector<int>& slots() const { return slots_; }

  // False where anything is not as expected: the checked path knows what.
  bool take(const pybind11::args& given, Memory& memory) const;

  // Of a device's function; also where it runs: where its arrays are, on the stream that is current in their library.
  bool take_on_device(const pybind11::args& given, Memory& memory, runtime::cuda::Place&) const;

 private:
  struct Extent {
    pybind11::ssize_t number = 0;
    int scalar = -1;                  // that the extent is, or
    const ir::Expr* value = nullptr;  // an expression over scalars
  };
  struct Expected {
    std::vector<int> type_numbers;  // NumPy has two names for some integers
    ir::Type dtype;
    dlpack::DataType in_dlpack = {};
    std::vector<Extent> shape;
    std::vector<pybind11::ssize_t> strides;  // in bytes; empty: compact
    pybind11::ssize_t item = 1;
    bool written = false;
    std::string layout;  // of a packed one
  };
  // An array whose type and flags are right.
  struct Array {
    void* data = nullptr;
    const pybind11::ssize_t* shape = nullptr;
    const pybind11::ssize_t* strides = nullptr;  // null: compact
    pybind11::ssize_t bytes = 0;
    pybind11::ssize_t unit = 1;  // of the strides, in bytes
  };
  using Arrays = std::array<Array, kMost>;
  // Whose arrays these are, and on which device.
  struct Owner {
    const dlpack::ExchangeApi* library = nullptr;  // null: DeviceArrays
    int ordinal = -1;                              // none seen yet
  };

  Expected expected_of(const runtime::ArgSpec&) const;
  Extent extent_of(const ir::Expr&) const;
  // `take_array(which, object, array)`: false where it is not as expected.
  template <class TakeArray>
  bool take_all(const pybind11::args& given, Memory& memory, const TakeArray& take_array) const;
  bool take_array(const Expected&, PyObject* object, Array& array) const;
  bool take_device_array(const Expected&, PyObject* object, Array& array, Owner& owner) const;
  // Of a library that has DLPack's C functions; `device` is where it lies.
  bool take_tensor(const Expected&, const dlpack::ExchangeApi&, PyObject* object, Array& array,
                   dlpack::Device& device) const;
  bool take_scalar(ir::Type, PyObject* object, runtime::ScalarValue& value) const;
  bool read_off_scalars(const Arrays&, Memory&, uint32_t known) const;
  bool has_shape(const Expected&, Array&, const Memory&) const;
  bool outputs_apart(const Arrays&) const;

  const runtime::Kernel& kernel_;
  std::vector<int> slots_;
  std::vector<Expected> expected_;
  PyTypeObject *packed_type_, *device_type_;
  bool possible_ = true, on_device_ = false;
};

}  // namespace tw::bind
