#include "python/bind/scalars.h"

#include <cmath>

#include "python/bind/arrays.h"
#include "src/ir/interp_value.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

[[noreturn]] void refuse_value(const std::string& place, const std::string& wanted, py::handle number, ErrorKind kind) {
  throw Error(Diagnostic{kind, place + ": must be " + wanted + ", not " + described(number), {}, {}});
}

// An index has 64 bits to the caller, though an expression counts it as int32.
ir::Type held_as(ir::Type type) { return type.is_index() ? ir::Type::i(64) : type; }

ir::interp::Value integer(const std::string& place, ir::Type type, py::handle number) {
  const std::string name = ir::to_string(type);
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(number.ptr()));
  if (!index) {
    PyErr_Clear();
    refuse_value(place, "an integer (" + name + ")", number, ErrorKind::kDType);
  }
  ir::interp::Value value{};
  int overflow = 0;
  value.i = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow > 0 && type == ir::Type::u(64)) {
    value.i = static_cast<int64_t>(PyLong_AsUnsignedLongLong(index.ptr()));
    overflow = PyErr_Occurred() ? 1 : 0;
    PyErr_Clear();
  } else if (overflow == 0 && (type.is_uint() ? value.i < 0 : false)) {
    overflow = -1;
  }
  const int bits = type.is_int() ? type.bits - 1 : type.bits;
  const bool wide = bits < 63 && ((value.i >> bits) != 0 && (type.is_uint() || (value.i >> bits) != -1));
  if (overflow != 0 || wide) refuse_value(place, "a number that " + name + " holds", number, ErrorKind::kArgument);
  return value;
}

ir::interp::Value real(const std::string& place, ir::Type type, py::handle number) {
  const py::object as_float =
      py::reinterpret_steal<py::object>(PyUnicode_Check(number.ptr()) ? nullptr : PyNumber_Float(number.ptr()));
  if (!as_float) {
    PyErr_Clear();
    refuse_value(place, "a number (" + ir::to_string(type) + ")", number, ErrorKind::kDType);
  }
  const double given = PyFloat_AsDouble(as_float.ptr()), rounded = ir::round_to(type, given);
  if (std::isfinite(given) && !std::isfinite(rounded))
    refuse_value(place, "a number that " + ir::to_string(type) + " holds", number, ErrorKind::kArgument);
  ir::interp::Value value{};
  if (type.bits == 64) {
    value.d = rounded;
  } else {
    value.f = static_cast<float>(rounded);
  }
  return value;
}

}  // namespace

runtime::ScalarValue scalar_value(const std::string& place, ir::Type type, py::handle number) {
  runtime::ScalarValue bits = 0;
  const ir::Type held = held_as(type);
  ir::interp::Value value{};
  if (held.is_bool()) {
    const int truth = PyObject_IsTrue(number.ptr());
    if (truth < 0) PyErr_Clear();
    if (truth < 0 || py::isinstance<py::str>(number)) refuse_value(place, "a bool", number, ErrorKind::kDType);
    value.i = truth;
  } else {
    value = held.is_float() ? real(place, held, number) : integer(place, held, number);
  }
  ir::interp::write_function(held)(&bits, 0, value);
  return bits;
}

}  // namespace tw::bind
