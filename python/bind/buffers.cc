#include "python/bind/buffers.h"

#include <pybind11/stl.h>

#include "python/bind/te_expr.h"
#include "src/ir/simplify.h"
#include "te/dtype.h"
#include "te/promote.h"
#include "tensorwright/te_extern.h"

namespace py = pybind11;

namespace tw::bind {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using ir::Var;

std::vector<Expr> to_shape(py::handle list) {
  std::vector<Expr> out;
  for (const py::handle one : list) out.push_back(te::as_index(to_extent(one, "an extent")));
  return out;
}

te::TileBuffer tile_of(const py::object& buffer) {
  return py::hasattr(buffer, "_tile") ? buffer.attr("_tile").cast<te::TileBuffer>() : te::TileBuffer{};
}

Expr data_of(const py::object& given) {
  const te::TileBuffer tile = tile_of(given);
  const Buffer buffer = tile.memory ? tile.memory : given.cast<Buffer>();
  return ir::address_of(buffer, std::vector<Expr>(buffer.rank(), Expr(0)), false, false);
}

std::vector<Expr> strides_of(const Buffer& buffer) {
  std::vector<Expr> strides = buffer.strides();
  Expr stride = 1;
  for (size_t d = strides.empty() ? buffer.rank() : 0; d-- > 0; stride = ir::simplify(stride * buffer.shape()[d]))
    strides.insert(strides.begin(), stride);
  return strides;
}

bool is_compact(const Buffer& buffer) {
  Expr stride = 1;
  for (size_t d = buffer.strides().size(); d-- > 0; stride = stride * buffer.shape()[d])
    if (!ir::is_int(ir::simplify(buffer.strides()[d] - stride), 0)) return false;
  return true;
}

namespace {

std::vector<Expr> indices(py::handle list, const char* role) {
  std::vector<Expr> out;
  for (const py::handle one : list) out.push_back(te::as_index(to_expr(one, role)));
  return out;
}

// The subscripts of an element of a compact buffer: one for each dimension, or its number in memory.
std::vector<Expr> place(const Buffer& buffer, std::vector<Expr> at) {
  if (at.size() == buffer.rank()) return at;
  if (at.size() == 1 && !buffer.strides().empty())
    refuse(ErrorKind::kExpr, buffer.name() + "[...]: expected " + std::to_string(buffer.rank()) +
                                 " subscripts: its strides are declared, so that counted elements may lie apart");
  if (at.size() != 1)
    refuse(ErrorKind::kExpr, buffer.name() + "[...]: expected " + std::to_string(buffer.rank()) +
                                 " subscripts, or one that counts elements, not " + std::to_string(at.size()));
  std::vector<Expr> out(buffer.rank());
  Expr rest = at[0];
  for (size_t d = buffer.rank(); d-- > 0;) {
    out[d] = d == 0 ? rest : ir::floormod(rest, buffer.shape()[d]);
    rest = ir::floordiv(rest, buffer.shape()[d]);
  }
  return out;
}

Stmt store(const Buffer& buffer, py::handle at, py::handle given) {
  Expr value = to_expr(given, "a value that is stored");
  const bool constant = ir::as<ir::IntImm>(value) || ir::as<ir::FloatImm>(value);
  if (value.type() != buffer.element() && (constant || value.type().is_index()))
    value = te::convert(buffer.element(), value);
  if (value.type() != buffer.element())
    refuse(ErrorKind::kDType,
           buffer.name() + "[...]: a value of " + te::dtype_name(buffer.element()) + " expected, not of " +
               te::dtype_name(value.type()),
           {".astype converts"});
  return ir::store(buffer, place(buffer, indices(at, "a subscript")), value);
}

std::vector<Expr> given_indices(py::handle at) {
  return py::isinstance<py::tuple>(at) || py::isinstance<py::list>(at)
             ? indices(at, "a subscript")
             : std::vector<Expr>{te::as_index(to_expr(at, "a subscript"))};
}

// `lanes` neighbours from there on, along the last dimension.
std::vector<Expr> neighbours(const Buffer& buffer, py::handle begin, int lanes) {
  std::vector<Expr> at = place(buffer, given_indices(begin));
  if (lanes > 1 && at.empty())
    refuse(ErrorKind::kExpr, buffer.name() + ": one element has no neighbours for " + std::to_string(lanes) + " lanes");
  if (lanes > 1) at.back() = ir::ramp(at.back(), 1, lanes);
  return at;
}

// "float32x4" or "float32"; none: one element.
Expr vload(const Buffer& buffer, py::handle begin, const std::optional<std::string>& dtype) {
  int lanes = 1;
  if (dtype) {
    const auto type = ir::parse_type(*dtype);
    if (!type || type->element() != buffer.element())
      refuse(ErrorKind::kDType, buffer.name() + ".vload: dtype must be " + te::dtype_name(buffer.element()) +
                                    ", or that with lanes as " + te::dtype_name(buffer.element()) + "x4, not " +
                                    *dtype);
    lanes = type->lanes;
  }
  return ir::load(buffer, neighbours(buffer, begin, lanes));
}

Stmt vstore(const Buffer& buffer, py::handle begin, py::handle given) {
  const Expr value = to_expr(given, "a value that is stored");
  if (value.type().is_scalar()) {
    const py::object at = py::isinstance<py::tuple>(begin) || py::isinstance<py::list>(begin)
                              ? py::reinterpret_borrow<py::object>(begin)
                              : py::object(py::make_tuple(begin));
    return store(buffer, at, given);
  }
  if (value.type().element() != buffer.element())
    refuse(ErrorKind::kDType,
           buffer.name() + ".vstore: a value of " + te::dtype_name(buffer.element()) + " expected, not of " +
               te::dtype_name(value.type()),
           {".astype converts"});
  return ir::store(buffer, neighbours(buffer, begin, value.type().lanes), value);
}

Expr load(const Buffer& buffer, py::handle at) { return ir::load(buffer, place(buffer, indices(at, "a subscript"))); }

// As tvm counts: "r", "w", "rw"; the offset in elements.
Expr access_ptr(const Buffer& buffer, const std::string& mask, py::handle offset) {
  const bool read = mask.find('r') != mask.npos, written = mask.find('w') != mask.npos;
  if (mask.empty() || mask.find_first_not_of("rw") != mask.npos)
    refuse(ErrorKind::kArgument, "access_ptr: mask must be \"r\", \"w\" or \"rw\", not \"" + mask + "\"");
  const Expr first = te::as_index(to_expr(offset, "an offset"));
  std::vector<Expr> at(buffer.rank(), Expr(0));
  if (!ir::is_int(first, 0)) at = place(buffer, {first});
  return ir::address_of(buffer, at, read, written);
}

Buffer declared(py::handle shape, const std::string& dtype, const std::string& name, const std::string& scope,
                py::handle strides) {
  std::vector<Expr> apart;
  if (!strides.is_none()) apart = indices(strides, "a stride");
  return Buffer(name, te::dtype_named(dtype), to_shape(shape),
                ir::scratch_scope_named(scope).value_or(ir::Scope::kArgument), apart);
}

// What te.decl_buffer says besides.
te::TileBuffer tile(const Buffer& buffer, const std::optional<Var>& elem_offset, const std::string& scope,
                    int64_t alignment, int64_t offset_factor) {
  te::TileBuffer out;
  out.alignment = alignment, out.offset_factor = offset_factor;
  out.scope = ir::scratch_scope_named(scope);
  if (!elem_offset) return out;
  if (!elem_offset->type().is_index())
    refuse(ErrorKind::kDType, "decl_buffer " + buffer.name() + ": elem_offset must count elements, and " +
                                  elem_offset->name() + " is of " + te::dtype_name(elem_offset->type()));
  out.elem_offset = *elem_offset;
  out.memory = Buffer(buffer.name() + "_data", buffer.element(), {Expr(1)}, ir::Scope::kArgument);
  return out;
}

py::tuple numbers(const std::vector<Expr>& all) {
  py::tuple out(all.size());
  for (size_t d = 0; d < all.size(); ++d) out[d] = extent_object(all[d]);
  return out;
}

}  // namespace

void bind_buffers(py::module_& m) {
  py::class_<Buffer>(
      m, "Buffer", py::dynamic_attr(),
      "The memory of a tensor, as statements see it; compact, by rows, unless strides were declared. ``data`` is "
      "the address of its first element and ``elem_offset`` 0, unless a variable was declared for it: then ``data`` is "
      "the address of the memory that the buffer is a part of; ``vload(begin, \"float32x4\")`` reads "
      "neighbours along the last dimension, ``vstore(begin, value)`` stores them.")
      .def_property_readonly("name", [](const Buffer& b) { return b.name(); })
      .def_property_readonly("dtype", [](const Buffer& b) { return te::dtype_name(b.element()); })
      .def_property_readonly("shape", [](const Buffer& b) { return numbers(b.shape()); })
      .def_property_readonly("strides", [](const Buffer& b) { return numbers(strides_of(b)); })
      .def_property_readonly("elem_offset",
                             [](const py::object& b) -> py::object {
                               const te::TileBuffer tile = tile_of(b);
                               return tile.elem_offset ? py::cast(tile.elem_offset) : py::int_(0);
                             })
      .def_property_readonly("data", &data_of)
      .def("vload", &vload, py::arg("begin"), py::arg("dtype") = py::none())
      .def("vstore", &vstore, py::arg("begin"), py::arg("value"))
      .def("access_ptr", &access_ptr, py::arg("mask"), py::arg("offset") = 0)
      .def("__repr__", [](const Buffer& b) {
        std::string shape;
        for (const Expr& extent : b.shape()) shape += (shape.empty() ? "" : ", ") + ir::to_string(extent);
        return "Buffer(" + b.name() + ": " + te::dtype_name(b.element()) + "[" + shape + "])";
      });
  py::class_<te::TileBuffer>(m, "_TileBuffer");
  m.def("_buffer", &declared);
  m.def("_tile", &tile);
  m.def("_load", &load);
  m.def("_store", &store);
}

}  // namespace tw::bind
