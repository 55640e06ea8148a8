#include "python/bind/packed.h"

#include <pybind11/numpy.h>

namespace py = pybind11;

namespace tw::bind {
namespace {

py::tuple shape_of(const PackedArray& packed) {
  py::tuple shape(packed.view.shape.size());
  for (size_t d = 0; d < packed.view.shape.size(); ++d) shape[d] = packed.view.shape[d];
  return shape;
}

// A view that keeps the packed array.
py::array as_numpy(const py::object& self) {
  const auto& packed = self.cast<const PackedArray&>();
  py::array array(py::dtype(ir::to_string(packed.view.dtype)), packed.view.shape, packed.view.data, self);
  array.attr("flags").attr("writeable") = false;
  return array;
}

std::string text(const PackedArray& packed) {
  return "<tensorwright.PackedArray " + ir::to_string(packed.view.dtype) + std::string(py::str(shape_of(packed))) +
         ", packed " + packed.view.layout + ">";
}

}  // namespace

void bind_packed(py::module_& m) {
  py::class_<PackedArray>(m, "PackedArray", R"(What ``f.pack`` makes of an array: the memory that a kernel wants.

Functions take it in the place of the parameter that it was packed for, as often as they are called and from any thread, and
refuse it where another layout is expected.)")
      .def_property_readonly(
          "layout", [](const PackedArray& p) { return p.view.layout; }, "How it was packed, as text.")
      .def_property_readonly("shape", &shape_of, "The packed shape.")
      .def_property_readonly("dtype", [](const PackedArray& p) { return ir::to_string(p.view.dtype); })
      .def("numpy", &as_numpy, "A read-only view of the packed elements.")
      .def("__repr__", &text);
}

}  // namespace tw::bind
