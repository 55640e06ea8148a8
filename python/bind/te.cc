// Tensor expressions in Python: tensors, axes and operations. The operators of expressions are in te_expr.cc.
#include "tensorwright/te.h"

#include <pybind11/stl.h>

#include <unordered_map>

#include "python/bind/bind.h"
#include "python/bind/te_expr.h"
#include "python/bind/tiles.h"
#include "python/bind/vectors.h"
#include "src/ir/simplify.h"
#include "te/dtype.h"
#include "te/promote.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using ir::Expr;
using ir::Type;
using ir::Var;
using te::IterVar;
using te::Operation;
using te::Tensor;

// A[i] of a tensor with more dimensions: waits for the other subscripts.
struct Slice {
  Tensor tensor;
  std::vector<Expr> at;
};

void append_subscript(const Tensor& tensor, py::handle subscript, std::vector<Expr>& at) {
  if (py::isinstance<py::slice>(subscript) || py::isinstance<py::ellipsis>(subscript))
    refuse(ErrorKind::kExpr, tensor.name() + "(...): a subscript must be one index, not a slice",
           {tensor.name() + "[...] takes slices, for intrinsics"});
  at.push_back(to_expr(subscript, "a subscript"));
}

py::object read(const Tensor& tensor, std::vector<Expr> at) {
  if (at.size() < shown_shape(tensor).size()) return py::cast(Slice{tensor, std::move(at)});
  return py::cast(Lanes::element(tensor, std::move(at)));
}

py::object subscript(const Tensor& tensor, std::vector<Expr> at, py::handle key) {
  const py::tuple items = py::isinstance<py::tuple>(key) ? py::reinterpret_borrow<py::tuple>(key) : py::make_tuple(key);
  for (const py::handle item : items)
    if (py::isinstance<py::slice>(item)) return py::cast(region_of(tensor, std::move(at), items));
  for (const py::handle item : items) append_subscript(tensor, item, at);
  return read(tensor, std::move(at));
}

py::object subscripted(const Tensor& tensor, const py::args& key) {
  std::vector<Expr> at;
  const bool packed = key.size() == 1 && (py::isinstance<py::tuple>(key[0]) || py::isinstance<py::list>(key[0]));
  const py::object all = packed ? py::object(key[0]) : py::object(key);
  for (const py::handle item : all) append_subscript(tensor, item, at);
  return py::cast(Lanes::element(tensor, std::move(at)));
}

py::tuple numbers_or_exprs(const std::vector<Expr>& list) {
  py::tuple result(list.size());
  for (size_t i = 0; i < list.size(); ++i) result[i] = extent_object(list[i]);
  return result;
}

std::string describe(const Tensor& tensor) {
  std::string shape;
  for (const Expr& extent : shown_shape(tensor)) shape += (shape.empty() ? "" : ", ") + ir::to_string(extent);
  return "Tensor(" + tensor.name() + ": " + shown_dtype(tensor) + "[" + shape + "])";
}

std::string describe(const IterVar& axis) {
  const std::string ends = ir::to_string(axis.min) + ".." + ir::to_string(ir::simplify(axis.min + axis.extent));
  return std::string(axis.reduction ? "reduce_axis(" : "axis(") + axis.var.name() + ": " + ends + ")";
}

bool several(py::handle value) { return py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value); }

// `what` names the tensor: "compute C".
std::vector<Expr> shape_of(const std::string& what, py::handle shape) {
  std::vector<Expr> extents;
  const auto add = [&](py::handle extent) {
    const std::string role = what + ": the extent of dimension " + std::to_string(extents.size());
    extents.push_back(to_extent(extent, role.c_str()));
  };
  if (!several(shape))
    add(shape);
  else
    for (const py::handle extent : shape) add(extent);
  return extents;
}

std::vector<Expr> values_of(py::handle value, const char* role) {
  if (!several(value)) return {to_expr(value, role)};
  std::vector<Expr> all;
  for (const py::handle one : value) all.push_back(to_expr(one, role));
  return all;
}

// One tensor, or a tuple of them.
py::object one_or_all(const std::vector<Tensor>& tensors) {
  if (tensors.size() == 1) return py::cast(tensors[0]);
  py::tuple all(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) all[i] = py::cast(tensors[i]);
  return all;
}

struct FoundVectors {};  // thrown by the definition of what turns out to have lanes

py::object compute(py::handle shape, std::vector<std::string> axis_names, const py::function& body,
                   const std::string& name) {
  std::vector<Expr> extents = shape_of("compute " + name, shape);
  int lanes = 1;
  const auto values = [&](const std::vector<Var>& axes, const Var& lane) {
    py::tuple arguments(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) arguments[i] = py::cast(axes[i]);
    const Defining element;
    const Lanes vectors(lane);
    std::vector<Expr> all = values_of(body(*arguments), "the value of a compute's function");
    lanes = vectors.count();
    return all;
  };
  const auto of_scalars = [&](const std::vector<Var>& axes) {
    std::vector<Expr> all = values(axes, Var("lane"));
    if (lanes > 1) throw FoundVectors();
    return all;
  };
  const auto of_lanes = [&](const std::vector<Var>& axes) {
    return values(std::vector<Var>(axes.begin(), axes.end() - 1), axes.back());
  };
  try {
    return one_or_all(te::compute_tuple(extents, of_scalars, name, axis_names, user_line()));
  } catch (const FoundVectors&) {
    if (axis_names.size() == extents.size()) axis_names.emplace_back("lane");
    extents.emplace_back(lanes);
    const std::vector<Tensor> made =
        te::compute_tuple(std::move(extents), of_lanes, name, std::move(axis_names), user_line());
    set_lanes(made[0].op(), lanes);
    return one_or_all(made);
  }
}

Tensor placeholder(py::handle shape, const std::string& dtype, const std::string& name, py::handle strides, bool param,
                   const std::optional<std::pair<int64_t, int64_t>>& range) {
  te::Placeholder known{.param = param, .range = range};
  std::vector<Expr> extents = shape_of("placeholder " + name, shape);
  if (!strides.is_none()) known.strides = shape_of("placeholder " + name + ", strides", strides);
  const VectorName vector = vector_named(dtype);
  if (vector.lanes > 1) {
    for (Expr& stride : known.strides) stride = ir::simplify(te::as_index(stride) * Expr(vector.lanes));
    if (!strides.is_none()) known.strides.emplace_back(1);
    extents.emplace_back(vector.lanes);
  }
  Tensor made = te::placeholder(std::move(extents), vector.element, name, std::move(known), user_line());
  set_lanes(made.op(), vector.lanes);
  return made;
}

py::object scan(const std::vector<Tensor>& init, const std::vector<Tensor>& update, const std::vector<Tensor>& state,
                const std::string& name) {
  for (const auto* tensors : {&init, &update, &state})
    for (const Tensor& t : *tensors) of_scalars("scan " + name, t);
  return one_or_all(te::scan(init, update, state, name, user_line()));
}

const te::Scan& scan_of(const Operation& op) {
  if (!op->scan()) refuse(ErrorKind::kExpr, op->name + " is no scan: only a scan has a time", {"op.axis are its axes"});
  return *op->scan();
}

// What te.compute was told about an operation, for those who look for it: a word, and JSON. No schedule does, so that
// operations have no room for it; under Python's lock.
struct Labels {
  std::string tag, attrs;
};
std::unordered_map<uint64_t, Labels>& labels() {
  static std::unordered_map<uint64_t, Labels> all;
  return all;
}
Labels labels_of(const Operation& op) {
  const auto found = labels().find(op->id);
  return found == labels().end() ? Labels{} : found->second;
}

std::string kind_of(const Operation& op) {
  return op->is_placeholder() ? "placeholder" : op->scan() ? "scan" : op->external() ? "extern" : "compute";
}

void bind_operation(py::module_& m) {
  py::class_<Operation>(m, "Operation", "What defines a tensor: ``C.op``.")
      .def_property_readonly("name", [](const Operation& op) { return op->name; })
      .def_property_readonly(
          "axis",
          [](const Operation& op) {
            return op->compute() ? op->compute()->axis : op->scan() ? op->scan()->axis : std::vector<IterVar>();
          },
          "The data axes, one per dimension; of a scan time comes first; empty for a placeholder.")
      .def_property_readonly(
          "scan_axis", [](const Operation& op) { return scan_of(op).axis[0]; }, "The time of a scan.")
      .def_property_readonly(
          "spatial_axis_",
          [](const Operation& op) {
            return std::vector<IterVar>(scan_of(op).axis.begin() + 1, scan_of(op).axis.end());
          },
          "The other axes of a scan.")
      .def_property_readonly(
          "reduce_axis",
          [](const Operation& op) { return op->compute() ? op->compute()->reduce_axis : std::vector<IterVar>(); },
          "The axes of the reduction, in the order in which it names them.")
      .def_property_readonly(
          "input_tensors", [](const Operation& op) { return op->inputs; },
          "The tensors that the definition reads, in order of first use.")
      .def_property_readonly(
          "body", [](const Operation& op) { return op->compute() ? op->compute()->bodies : std::vector<Expr>(); },
          "The value of an element, one expression for each output; empty for a placeholder.")
      .def_property_readonly("is_placeholder", [](const Operation& op) { return op->is_placeholder(); })
      .def_property_readonly("kind", &kind_of,
                             "placeholder, compute, scan or extern; ``isinstance`` of te's classes tells more.")
      .def_property_readonly(
          "tag", [](const Operation& op) { return labels_of(op).tag; },
          "What ``tag=`` or ``te.tag_scope`` said; empty without.")
      .def_property_readonly(
          "attrs",
          [](const Operation& op) {
            const std::string attrs = labels_of(op).attrs;
            return attrs.empty() ? py::object(py::dict()) : py::module_::import("json").attr("loads")(attrs);
          },
          "What ``attrs=`` said, a dict.")
      .def_property_readonly("num_outputs", [](const Operation& op) { return op->outputs.size(); })
      .def("output",
           [](const Operation& op, int64_t i) {
             const auto n = static_cast<int64_t>(op->outputs.size());
             if (i < 0 || i >= n)
               refuse(ErrorKind::kExpr,
                      op->name + ".output: the operation has " +
                          (n == 1 ? "one output, number 0" : "outputs 0.." + std::to_string(n)) + ", not " +
                          std::to_string(i),
                      {});
             return op.output(static_cast<size_t>(i));
           })
      .def(
          "__eq__", [](const Operation& a, const Operation& b) { return a == b; }, py::is_operator())
      .def("same_as",
           [](const Operation& a, py::handle b) { return py::isinstance<Operation>(b) && a == b.cast<Operation>(); })
      .def("__hash__", [](const Operation& op) { return op->id; })
      .def("__repr__", [](const Operation& op) { return kind_of(op) + ("(" + op->name + ")"); });
}

void bind_tensor(py::module_& m) {
  py::class_<Tensor> tensor(m, "Tensor",
                            "A tensor: ``A[i, j]``, ``A[i][j]`` or ``A(*i)`` reads one element in an expression.");
  tensor.def_property_readonly("name", [](const Tensor& t) { return t.name(); })
      .def_property_readonly("dtype", &shown_dtype)
      .def_property_readonly("shape", [](const Tensor& t) { return numbers_or_exprs(shown_shape(t)); })
      .def_property_readonly("ndim", [](const Tensor& t) { return shown_shape(t).size(); })
      .def_property_readonly("op", [](const Tensor& t) { return t.op(); })
      .def_property_readonly("value_index", [](const Tensor& t) { return t.value_index(); })
      .def("__getitem__", [](const Tensor& t, py::object key) { return subscript(t, {}, key); })
      .def("__call__", &subscripted)
      .def("__iter__", [](const Tensor& t) -> py::object {
        refuse(ErrorKind::kDType, t.name() + ": a tensor cannot be iterated",
               {"it has no values before it is built and run",
                "te.compute with a lambda over its indices says what each element is"});
      });
  bind_operators(tensor);
  tensor.def("same_as",
             [](const Tensor& a, py::handle b) { return py::isinstance<Tensor>(b) && a == b.cast<Tensor>(); });
  tensor.def("__repr__", [](const Tensor& t) { return describe(t); });
  define(tensor, "__eq__",
         [](const Tensor& a, py::object b) { return py::isinstance<Tensor>(b) && a == b.cast<Tensor>(); });
  define(tensor, "__ne__",
         [](const Tensor& a, py::object b) { return !py::isinstance<Tensor>(b) || !(a == b.cast<Tensor>()); });
  define(tensor, "__hash__", [](const Tensor& t) { return t.op()->id; });
  define(tensor, "__bool__", [](const Tensor&) { return true; });

  py::class_<Slice> slice(m, "TensorSlice", "``A[i]`` of a tensor with more dimensions: takes the other subscripts.");
  slice.def("__getitem__", [](const Slice& s, py::object key) { return subscript(s.tensor, s.at, key); })
      .def_property_readonly("dtype", [](const Slice& s) { return shown_dtype(s.tensor); })
      .def("__iter__", [](const Slice& s) -> py::object {
        refuse(ErrorKind::kDType, s.tensor.name() + "[...]: a part of a tensor cannot be iterated",
               {"te.compute with a lambda over its indices says what each element is"});
      });
  bind_operators(slice);
}

struct Range {
  Expr min, extent;
};

py::object axis_equality(const IterVar& a, const py::object& b, bool equal) {
  if (py::isinstance<IterVar>(b)) return py::cast(AxisEquality{a.var, b.cast<IterVar>().var, equal});
  return compare(equal ? ir::BinOp::kEq : ir::BinOp::kNe, a.var, b);
}

void bind_axes(py::module_& m) {
  py::class_<Range>(m, "Range", "The values of an axis: extent values from min on.")
      .def_property_readonly("min", [](const Range& r) { return extent_object(r.min); })
      .def_property_readonly("extent", [](const Range& r) { return extent_object(r.extent); });
  py::class_<IterVar> axis(m, "IterVar", "An axis of a computation, usable as an index expression.");
  axis.def_property_readonly("var", [](const IterVar& a) { return a.var; })
      .def_property_readonly("dom", [](const IterVar& a) { return Range{a.min, a.extent}; })
      .def_property_readonly("extent", [](const IterVar& a) { return extent_object(a.extent); })
      .def_property_readonly("min", [](const IterVar& a) { return extent_object(a.min); })
      .def_property_readonly("name", [](const IterVar& a) { return a.var.name(); })
      .def_property_readonly("reduction", [](const IterVar& a) { return a.reduction; });
  bind_operators(axis);
  axis.def("same_as",
           [](const IterVar& a, py::handle b) { return py::isinstance<IterVar>(b) && a.var == b.cast<IterVar>().var; })
      .def("__repr__", [](const IterVar& a) { return describe(a); })
      .def_property_readonly("dtype", [](const IterVar& a) { return te::dtype_name(a.var.type()); });
  define(axis, "__hash__", [](const IterVar& a) { return a.var.id(); });
  define(axis, "__eq__", [](const IterVar& a, py::object b) { return axis_equality(a, b, true); });
  define(axis, "__ne__", [](const IterVar& a, py::object b) { return axis_equality(a, b, false); });
  py::class_<AxisEquality> equality(m, "AxisEquality",
                                    "Whether two axes are the same, or, in an expression, whether their values are.");
  bind_operators(equality);
  equality.def("__repr__", [](const AxisEquality& e) { return ir::to_string(e.expr()); });
  define(equality, "__bool__", [](const AxisEquality& e) { return (e.a == e.b) == e.equal; });
}

Expr reduce(const std::string& op, py::handle source, const std::vector<IterVar>& axes, py::handle where,
            py::handle init) {
  using Function = Expr (*)(Expr, std::vector<IterVar>, Expr, Expr);
  static const std::pair<const char*, Function> kReducers[] = {
      {"sum", &te::sum}, {"prod", &te::prod}, {"min", &te::min}, {"max", &te::max}};
  for (const auto& [name, reducer] : kReducers)
    if (op == name)
      return reducer(to_expr(source), axes, where.is_none() ? Expr() : to_expr(where, "a condition"),
                     init.is_none() ? Expr() : to_expr(init, "an init"));
  TW_CHECK(false, "no reduction " + op);
}

// The arguments of the user's function: a variable each where one value is reduced, else a tuple each.
py::object component(const std::vector<Var>& vars) {
  if (vars.size() == 1) return py::cast(vars[0]);
  return py::cast(vars).cast<py::tuple>();
}

// A reduction by the user's functions, called as tvm calls them: combine(x, y) of values or tuples, identity(*dtypes).
py::object reduce_custom(const std::pair<std::string, std::vector<std::string>>& names, const py::function& combine,
                         const py::function& identity, py::handle sources, const std::vector<IterVar>& axes,
                         py::handle where, py::handle init) {
  te::Reducer reducer;
  reducer.name = names.first;
  if (names.second.size() == 2) reducer.lhs = names.second[0], reducer.rhs = names.second[1];
  reducer.combine = [&](const std::vector<Var>& x, const std::vector<Var>& y) {
    const Defining combination;
    return values_of(combine(component(x), component(y)), "the value of a reducer's function");
  };
  reducer.identity = [&](const std::vector<Type>& types) {
    py::tuple dtypes(types.size());
    for (size_t i = 0; i < types.size(); ++i) dtypes[i] = te::dtype_name(types[i]);
    return values_of(identity(*dtypes), "the identity of a reducer");
  };
  const std::vector<Expr> values =
      reducer(values_of(sources, "what is reduced"), axes, where.is_none() ? Expr() : to_expr(where, "a condition"),
              init.is_none() ? std::vector<Expr>() : values_of(init, "an init"));
  return several(sources) && values.size() > 1 ? py::cast(values).cast<py::tuple>() : py::cast(values[0]);
}

}  // namespace

void annotate(const Operation& op, const std::string& tag, const std::string& attrs) {
  labels()[op->id] = {tag, attrs};
}

Expr tensor_value(py::handle value, const char* role) {
  if (py::isinstance<Tensor>(value)) {
    const Tensor tensor = py::cast<Tensor>(value);
    const size_t rank = shown_shape(tensor).size();
    if (rank == 0) return Lanes::element(tensor, {});
    refuse(ErrorKind::kDType, std::string(role) + " must be a value, not the whole tensor " + tensor.name(),
           {tensor.name() + " has " + std::to_string(rank) + " dimensions",
            "read one element of it: " + tensor.name() + "[i" + (rank > 1 ? ", j" : "") + "] inside te.compute"});
  }
  if (!py::isinstance<Slice>(value)) return {};
  const auto& slice = value.cast<const Slice&>();
  refuse(ErrorKind::kExpr,
         slice.tensor.name() + ": expected " + std::to_string(shown_shape(slice.tensor).size()) + " subscripts, not " +
             std::to_string(slice.at.size()),
         {});
}

void bind_te(py::module_& m) {
  bind_expr(m);
  bind_axes(m);
  bind_operation(m);
  bind_tensor(m);
  m.def("placeholder", &placeholder);
  m.def("compute", &compute);
  m.def("reduce_axis", [](const py::object& min, const py::object& end, const std::string& name) {
    const std::string role = "reduce_axis " + name + ": an end";
    return te::reduce_axis(to_extent(min, role.c_str()), to_extent(end, role.c_str()), name, user_line());
  });
  m.def("_annotate", &annotate);
  m.def("reduce", &reduce);
  m.def("reduce_custom", &reduce_custom);
  m.def("scan", &scan);
  m.def("_of_scalars", &of_scalars);
}

}  // namespace tw::bind
