// Stock operators in Python: products of matrices, convolutions, and kernels by name.
#include "tensorwright/ops.h"

#include <cmath>

#include "python/bind/ops.h"
#include "python/bind/te_expr.h"
#include "python/bind/vectors.h"

namespace py = pybind11;

namespace tw::bind {

void refuse_option(const std::string& op, const std::string& option, const char* expected, py::handle value) {
  const std::string got = py::cast<std::string>(py::repr(value));
  throw Error(Diagnostic{ErrorKind::kArgument, op + ": " + option + " must be " + expected + ", not " + got, {}, {}});
}

void all_options_known(const std::string& op, const py::dict& left) {
  for (const auto& [name, value] : left)
    throw py::type_error(op + ": unexpected option " + py::cast<std::string>(py::repr(name)));
}

namespace {

bool whole(py::handle value) { return PyIndex_Check(value.ptr()) && !PyBool_Check(value.ptr()); }

int64_t integer(const std::string& op, const char* name, const char* expected, py::handle value) {
  if (!whole(value)) refuse_option(op, name, expected, value);
  const int64_t result = PyNumber_AsSsize_t(value.ptr(), PyExc_OverflowError);
  if (PyErr_Occurred()) throw py::error_already_set();
  return result;
}

}  // namespace

void read_option(const std::string& op, const char* name, py::handle value, bool& field) {
  if (!PyBool_Check(value.ptr())) refuse_option(op, name, "True or False", value);
  field = value.ptr() == Py_True;
}

void read_option(const std::string& op, const char* name, py::handle value, int64_t& field) {
  field = integer(op, name, "an integer", value);
}

void read_option(const std::string& op, const char* name, py::handle value, double& field) {
  if (!PyFloat_Check(value.ptr()) && !whole(value) && !py::hasattr(value, "__float__"))
    refuse_option(op, name, "a number", value);
  field = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred()) throw py::error_already_set();
}

// An integer as it is; what no 64 bits hold lies beyond every integer dtype, as its double does.
void read_option(const std::string& op, const char* name, py::handle value, te::ops::Number& field) {
  double rounded = 0;
  read_option(op, name, value, rounded);
  field = rounded;
  if (!whole(value)) return;
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) throw py::error_already_set();
  if (rounded < 0) {
    const long long held = PyLong_AsLongLong(index.ptr());
    field = PyErr_Occurred() ? std::nextafter(rounded, -HUGE_VAL) : te::ops::Number(held);
  } else {
    const unsigned long long held = PyLong_AsUnsignedLongLong(index.ptr());
    if (!PyErr_Occurred()) field = held;
  }
  PyErr_Clear();
}

void read_option(const std::string& op, const char* name, py::handle value, std::string& field) {
  if (!PyUnicode_Check(value.ptr())) refuse_option(op, name, "a string", value);
  field = py::cast<std::string>(value);
}

void read_option(const std::string& op, const char* name, py::handle value, std::vector<int64_t>& field) {
  const char* const expected = "an integer or a sequence of integers";
  field.clear();
  if (whole(value)) {
    field.push_back(integer(op, name, expected, value));
    return;
  }
  if (!py::isinstance<py::sequence>(value) || PyUnicode_Check(value.ptr())) refuse_option(op, name, expected, value);
  for (const py::handle one : value) field.push_back(integer(op, name, expected, one));
}

void read_option(const std::string& op, const char* name, py::handle value, ir::Expr& field) {
  if (py::isinstance<ir::Expr>(value) || py::isinstance<ir::Var>(value)) {
    field = to_expr(value);
  } else {
    field = integer(op, name, "an integer or an expression of te.var", value);
  }
}

void read_option(const std::string& op, const char* name, py::handle value, te::Tensor& field) {
  if (!py::isinstance<te::Tensor>(value)) refuse_option(op, name, "a tensor", value);
  field = py::cast<te::Tensor>(value);
  of_scalars(op, field);
}

void read_tensor(const std::string& op, size_t place, py::handle value, te::Tensor& tensor) {
  if (!py::isinstance<te::Tensor>(value))
    refuse_option(op, "argument " + std::to_string(place), "a tensor of te", value);
  tensor = py::cast<te::Tensor>(value);
  of_scalars(op, tensor);
}

void read_tensor(const std::string& op, size_t place, py::handle value, std::vector<te::Tensor>& tensors) {
  if (!py::isinstance<py::sequence>(value))
    refuse_option(op, "argument " + std::to_string(place), "a sequence of tensors", value);
  for (const py::handle one : value) read_tensor(op, place, one, tensors.emplace_back());
}

void bind_ops(py::module_& m) {
  define_op(m, "matmul", &te::ops::matmul);
  define_op(m, "dense", &te::ops::dense);
  define_op(m, "conv1d", &te::ops::conv1d);
  define_op(m, "conv2d", &te::ops::conv2d);
  define_op(m, "conv3d", &te::ops::conv3d);
  define_op(m, "depthwise_conv2d", &te::ops::depthwise_conv2d);
  define_op(m, "conv1d_transpose", &te::ops::conv1d_transpose);
  define_op(m, "conv2d_transpose", &te::ops::conv2d_transpose);
  define_op(m, "conv3d_transpose", &te::ops::conv3d_transpose);
  define_op(m, "conv2d_im2col", &te::ops::conv2d_im2col);
  define_op(m, "conv2d_winograd", &te::ops::conv2d_winograd);
  define_op(m, "quantize", &te::ops::quantize);
  define_op(m, "dequantize", &te::ops::dequantize);
  define_op(m, "quantized_dense", &te::ops::quantized_dense);
  define_op(m, "quantized_conv2d", &te::ops::quantized_conv2d);

  m.def("kernels", [] {
    py::list all;
    for (const te::ops::StockKernel& kernel : te::ops::kernels()) {
      py::list parameters;
      for (const te::ops::Parameter& p : kernel.parameters)
        parameters.append(py::make_tuple(p.name, p.meaning, p.standard));
      all.append(py::make_tuple(kernel.name, kernel.summary, parameters));
    }
    return all;
  });
  m.def("make_kernel", [](const std::string& name, const std::map<std::string, std::string>& given) {
    const te::ops::Made made = te::ops::make(name, given, user_line());
    return py::make_tuple(made.args, made.args_json);
  });
}

}  // namespace tw::bind
