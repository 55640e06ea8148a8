// Expressions in Python: conversion from numbers, the operators, and the functions of te.
#include "python/bind/te_expr.h"

#include <pybind11/stl.h>

#include <cmath>
#include <limits>

#include "python/bind/bind.h"
#include "python/bind/te_whole.h"
#include "python/bind/tiles.h"
#include "python/bind/vectors.h"
#include "src/ir/equal.h"
#include "te/dtype.h"
#include "te/operation.h"
#include "te/promote.h"
#include "te/refuse.h"
#include "tensorwright/te_functions.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using ir::BinOp;
using ir::Expr;
using ir::Type;
using ir::Var;
using te::IterVar;

std::string type_name(py::handle value) { return py::cast<std::string>(py::type::handle_of(value).attr("__name__")); }

Expr from_int(py::handle value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0) {
    refuse(ErrorKind::kDType,
           "a Python int in an expression must fit into 64 bits, not " + py::cast<std::string>(py::str(value)),
           {"te.const(value, \"uint64\") holds values up to 2**64 - 1"});
  }
  return Expr(static_cast<int64_t>(number));
}

Expr from_float(double value) {
  if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max()) {
    refuse(ErrorKind::kDType,
           "a Python float in an expression is a float32, which does not hold " + std::to_string(value),
           {"te.const(value, \"float64\") does"});
  }
  return ir::float_imm(Type::f(32), value);
}

// NumPy's scalars and arrays of rank 0 count as the Python numbers that they hold.
py::object numpy_item(py::handle value, const char* role) {
  if (!py::hasattr(value, "item") || !py::hasattr(value, "ndim")) return {};
  if (py::cast<int>(value.attr("ndim")) != 0) {
    refuse(ErrorKind::kDType, std::string(role) + " must be a value, not an array",
           {"declare an input with te.placeholder(shape, dtype) and pass the array when you call the kernel"});
  }
  py::object item = value.attr("item")();
  if (py::hasattr(item, "item"))  // an np.longdouble's is an np.longdouble again
    refuse(ErrorKind::kDType, std::string(role) + " must be at most 64 bits wide, not " + type_name(value),
           {"float(x) converts"});
  return item;
}

Expr from_object(py::handle value, const char* role) {
  if (Expr element = tensor_value(value, role)) return element;
  if (const py::object item = numpy_item(value, role)) return to_expr(item, role);
  if (PyIndex_Check(value.ptr())) return from_int(py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr())));
  std::vector<std::string> notes;
  if (value.is_none()) notes.push_back("a function without `return` gives None");
  if (py::isinstance<Region>(value))
    refuse(ErrorKind::kExpr, value.cast<Region>().tensor.name() + "[...]: a subscript must be one index, not a slice",
           {"a tensor expression names one element at a time; a slice is a tile for an intrinsic that is called",
            "declare the part as a stage: te.compute((n,), lambda i: " + value.cast<Region>().tensor.name() +
                "[i + start])"});
  if (py::hasattr(value, "__tw_loop__"))
    refuse(ErrorKind::kDType,
           std::string(role) + " must be an expression or a number, not the loop " + std::string(py::repr(value)),
           {"the axes of a definition have values there: C.op.axis, or the indices of its function"});
  if (py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value))
    notes.push_back("several values take one te.compute each");
  refuse(ErrorKind::kDType, std::string(role) + " must be an expression or a number, not " + type_name(value), notes);
}

using Operator = Expr (*)(Expr, Expr);

template <BinOp op>
Expr apply(Expr a, Expr b) {
  return te::arith(op, std::move(a), std::move(b));
}

Expr divide(Expr a, Expr b) {
  const Type ta = a.type(), tb = b.type();
  const auto ambiguous = [](Type t) { return t.is_int() || t.is_index(); };
  if (ambiguous(ta) && ambiguous(tb)) {
    refuse(ErrorKind::kDType, "/: expected a float operand, not " + te::dtype_name(ta) + " / " + te::dtype_name(tb),
           {"integers divide with // (floor), te.truncdiv (towards zero), or as floats: a.astype(\"float32\") / b"});
  }
  return te::divide(std::move(a), std::move(b));
}

Expr logical(BinOp on_bool, BinOp on_integer, Expr a, Expr b) {
  const bool bools = a.type().is_bool() && b.type().is_bool();
  return te::arith(bools ? on_bool : on_integer, std::move(a), std::move(b));
}
Expr bit_and(Expr a, Expr b) { return logical(BinOp::kAnd, BinOp::kBitAnd, std::move(a), std::move(b)); }
Expr bit_or(Expr a, Expr b) { return logical(BinOp::kOr, BinOp::kBitOr, std::move(a), std::move(b)); }
Expr bit_xor(Expr a, Expr b) { return logical(BinOp::kNe, BinOp::kBitXor, std::move(a), std::move(b)); }

struct Binary {
  const char *name, *mirrored, *of_tensors;
  Operator apply;
};
const Binary kBinaries[] = {
    {"__add__", "__radd__", "add", &apply<BinOp::kAdd>},
    {"__sub__", "__rsub__", "subtract", &apply<BinOp::kSub>},
    {"__mul__", "__rmul__", "multiply", &apply<BinOp::kMul>},
    {"__truediv__", "__rtruediv__", "divide", &divide},
    {"__floordiv__", "__rfloordiv__", "floor_divide", &apply<BinOp::kFloorDiv>},
    {"__mod__", "__rmod__", "mod", &apply<BinOp::kFloorMod>},
    {"__pow__", "__rpow__", "power", &te::power},
    {"__and__", "__rand__", "and", &bit_and},
    {"__or__", "__ror__", "or", &bit_or},
    {"__xor__", "__rxor__", "xor", &bit_xor},
    {"__lshift__", "__rlshift__", "left_shift", &apply<BinOp::kShl>},
    {"__rshift__", "__rrshift__", "right_shift", &apply<BinOp::kShr>},
};

struct Comparison {
  const char *name, *of_tensors;
  BinOp op;
};
const Comparison kComparisons[] = {{"__lt__", "less", BinOp::kLt},    {"__le__", "less_equal", BinOp::kLe},
                                   {"__gt__", "greater", BinOp::kGt}, {"__ge__", "greater_equal", BinOp::kGe},
                                   {"__eq__", "equal", BinOp::kEq},   {"__ne__", "not_equal", BinOp::kNe}};

py::object combine(const char* of_tensors, Operator apply, const py::object& a, const py::object& b) {
  if (whole(a) || whole(b))
    return elementwise(of_tensors, {a, b}, [&](const std::vector<Expr>& x) { return apply(x[0], x[1]); });
  return py::cast(apply(to_expr(a), to_expr(b)));
}

py::object change(const char* of_tensors, Expr (*apply)(Expr), const py::object& a) {
  if (whole(a)) return elementwise(of_tensors, {a}, [&](const std::vector<Expr>& x) { return apply(x[0]); });
  return py::cast(apply(to_expr(a)));
}

// Whether the sides of a comparison are the same, if that is what it asks: of two variables or extents, outside of the
// functions that define something.
std::optional<bool> same_sides(const ir::Binary& comparison) {
  const Expr &a = comparison.a, &b = comparison.b;
  if (a.same_as(b)) return true;
  if (ir::as<ir::VarRef>(a) && ir::as<ir::VarRef>(b) && ir::equal(a, b)) return true;
  const bool variables = ir::as<ir::VarRef>(a) && ir::as<ir::VarRef>(b);
  if (Defining::now() || !(variables || (te::is_extent(a) && te::is_extent(b)))) return std::nullopt;
  return ir::equal(a, b);
}

bool truth(py::object self) {
  const Expr e = to_expr(self);
  const auto* comparison = ir::as<ir::Binary>(e);
  if (comparison && (comparison->op == BinOp::kEq || comparison->op == BinOp::kNe)) {
    const std::optional<bool> same = same_sides(*comparison);
    if (same && (*same || !Defining::now())) return *same == (comparison->op == BinOp::kEq);
  }
  const std::string text = te::short_text(e);
  refuse(ErrorKind::kExpr, "an expression has no truth value: " + text + " is known only when the kernel runs",
         {"if c: a else: b       ->  te.if_then_else(c, a, b)",
          "0 < i < n, and, or    ->  te.all(0 < i, i < n), te.any(c, d); not c is ~c",
          "max(i, j), min(i, j)  ->  te.max(i, j), te.min(i, j)"});
}

[[noreturn]] void refuse_number(py::object self, const char* asked, const char* way) {
  refuse(ErrorKind::kDType,
         std::string(asked) + ": an expression is not a number: " + te::short_text(to_expr(self)) +
             " is known only when the kernel runs",
         {way});
}

void bind_refusals(const py::object& cls) {
  struct Refusal {
    const char *method, *asked, *way;
  };
  static const Refusal kRefusals[] = {
      {"__float__", "float or a function of math",
       "math.exp(e) -> te.exp(e), and so for log, tanh, erf, sqrt, pow; float(e) -> e.astype(\"float32\")"},
      {"__int__", "int", "e.astype(\"int32\") converts inside an expression"},
      {"__index__", "range or a Python index",
       "a loop over a range that depends on an index is a reduction: te.sum(..., axis=te.reduce_axis((0, n)))"},
      {"__floor__", "math.floor", "te.floor(e)"},
      {"__ceil__", "math.ceil", "te.ceil(e)"},
      {"__trunc__", "math.trunc", "te.trunc(e)"},
  };
  for (const Refusal& r : kRefusals)
    define(cls, r.method, [&r](py::object self) -> py::object { refuse_number(self, r.asked, r.way); });
  define(cls, "__round__",
         [](py::object self, py::args) -> py::object { refuse_number(self, "round", "te.round(e)"); });
}

Expr invert(Expr e) {
  if (e.type().is_bool()) return ir::logical_not(e);
  return te::arith(BinOp::kBitXor, e,
                   ir::int_imm(te::as_data(e).type().is_float() ? Type::i(32) : te::as_data(e).type(), -1));
}

Expr negate(Expr e) { return te::arith(BinOp::kMul, e, e.type().is_bool() ? Expr(-1) : ir::imm(e.type(), -1)); }

// The exact value of a Python number, whole or not, as a constant of a type.
Expr constant(py::handle value, const std::string& dtype) {
  const Type type = te::dtype_named(dtype);
  if (const py::object item = numpy_item(value, "a constant")) return constant(item, dtype);
  const bool whole = py::isinstance<py::int_>(value) || py::isinstance<py::bool_>(value);
  if (!whole && !py::isinstance<py::float_>(value))
    refuse(ErrorKind::kDType, "te.const: value must be a number, not " + type_name(value));
  if (type.is_uint() && type.bits == 64 && whole) {
    const unsigned long long number = PyLong_AsUnsignedLongLong(value.ptr());
    if (PyErr_Occurred() == nullptr) return ir::int_imm(type, static_cast<int64_t>(number));
    PyErr_Clear();
  } else if (!type.is_float() && whole) {
    const Expr number = from_int(value);
    const Expr wrapped = ir::int_imm(type, *ir::as_int(number));
    if (ir::as_int(wrapped) == ir::as_int(number)) return wrapped;
  } else {
    return te::constant(py::cast<double>(value), dtype);
  }
  refuse(ErrorKind::kDType,
         "te.const: value must be one that " + dtype + " holds, not " + py::cast<std::string>(py::str(value)));
}

py::object value_of(const Expr& e) {
  if (const auto number = ir::as_int(e)) return e.type().is_bool() ? py::object(py::bool_(*number)) : py::cast(*number);
  if (const auto* number = ir::as<ir::FloatImm>(e)) return py::cast(number->value);
  throw py::attribute_error("value: only a constant has one; " + te::short_text(e) + " is known when the kernel runs");
}

const ir::Reduce& reduction(const Expr& e, const char* attribute) {
  if (const auto* reduce = ir::as<ir::Reduce>(e)) return *reduce;
  throw py::attribute_error(std::string(attribute) + ": only a reduction has one, not " + te::short_text(e));
}

std::vector<te::IterVar> axes_of(const Expr& e) {
  std::vector<te::IterVar> axes;
  for (const ir::ReduceAxis& axis : reduction(e, "axis").axes) axes.push_back({axis.var, axis.min, axis.extent, true});
  return axes;
}

std::optional<Expr> condition_of(const Expr& e) {
  const Expr& where = reduction(e, "condition").where;
  return where ? std::optional(where) : std::nullopt;
}

std::vector<Expr> exprs(const py::args& values) {
  std::vector<Expr> list;
  for (const py::handle value : values) list.push_back(to_expr(value, "a condition"));
  return list;
}

void bind_functions(py::module_& m) {
  using Unary = Expr (*)(Expr);
  static const std::pair<const char*, Unary> kUnaries[] = {
      {"exp", &te::exp},           {"log", &te::log},           {"tanh", &te::tanh},
      {"sigmoid", &te::sigmoid},   {"erf", &te::erf},           {"sqrt", &te::sqrt},
      {"rsqrt", &te::rsqrt},       {"abs", &te::abs},           {"floor", &te::floor},
      {"ceil", &te::ceil},         {"round", &te::round},       {"trunc", &te::trunc},
      {"sin", &te::sin},           {"cos", &te::cos},           {"tan", &te::tan},
      {"atan", &te::atan},         {"log2", &te::log2},         {"exp2", &te::exp2},
      {"log10", &te::log10},       {"expm1", &te::expm1},       {"log1p", &te::log1p},
      {"cbrt", &te::cbrt},         {"isnan", &te::isnan},       {"isinf", &te::isinf},
      {"asin", &te::asin},         {"acos", &te::acos},         {"sinh", &te::sinh},
      {"cosh", &te::cosh},         {"asinh", &te::asinh},       {"acosh", &te::acosh},
      {"atanh", &te::atanh},       {"exp10", &te::exp10},       {"nearbyint", &te::nearbyint},
      {"isfinite", &te::isfinite}, {"popcount", &te::popcount}, {"clz", &te::clz},
      {"tf32", &te::tf32}};
  for (const auto& [name, f] : kUnaries) m.def(name, [f = f](py::handle x) { return f(to_expr(x)); });
  static const std::pair<const char*, Operator> kOperators[] = {{"max2", static_cast<Operator>(&te::max)},
                                                                {"min2", static_cast<Operator>(&te::min)},
                                                                {"add", &apply<BinOp::kAdd>},
                                                                {"multiply", &apply<BinOp::kMul>},
                                                                {"power", &te::power},
                                                                {"atan2", &te::atan2},
                                                                {"hypot", &te::hypot},
                                                                {"fmod", &te::fmod},
                                                                {"copysign", &te::copysign},
                                                                {"nextafter", &te::nextafter},
                                                                {"ldexp", &te::ldexp},
                                                                {"floordiv", &apply<BinOp::kFloorDiv>},
                                                                {"floormod", &apply<BinOp::kFloorMod>},
                                                                {"truncdiv", &apply<BinOp::kTruncDiv>},
                                                                {"truncmod", &apply<BinOp::kTruncMod>},
                                                                {"divide", &te::divide},
                                                                {"subtract", &apply<BinOp::kSub>}};
  for (const auto& [name, f] : kOperators)
    m.def(name, [f = f](py::handle a, py::handle b) { return f(to_expr(a), to_expr(b)); });
  m.def("fma", [](py::handle a, py::handle b, py::handle c) { return te::fma(to_expr(a), to_expr(b), to_expr(c)); });
  m.def("reinterpret",
        [](const std::string& dtype, py::handle x) { return te::reinterpret(Lanes::dtype(dtype), to_expr(x)); });
  m.def("if_then_else", [](py::handle c, py::handle yes, py::handle no) {
    return te::if_then_else(to_expr(c, "a condition"), to_expr(yes), to_expr(no));
  });
  m.def("select", [](py::handle c, py::handle yes, py::handle no) {
    return te::select(to_expr(c, "a condition"), to_expr(yes), to_expr(no));
  });
  m.def("expr", [](py::handle value) { return to_expr(value); });
  m.def("all", [](const py::args& conditions) { return te::all(exprs(conditions)); });
  m.def("any", [](const py::args& conditions) { return te::any(exprs(conditions)); });
  m.def("const", [](py::handle value, const std::string& dtype) { return constant(value, Lanes::dtype(dtype)); });
  m.def("var", [](const std::string& name, const std::string& dtype) { return te::var(name, dtype); });
  m.def("min_value", [](const std::string& dtype) { return te::min_value(dtype); });
  m.def("max_value", [](const std::string& dtype) { return te::max_value(dtype); });
}

}  // namespace

thread_local int Defining::depth_ = 0;

Expr to_extent(py::handle value, const char* role) {
  const py::object number = numpy_item(value, role);
  const py::handle given = number ? py::handle(number) : value;
  if (PyFloat_Check(given.ptr())) {
    const double extent = PyFloat_AS_DOUBLE(given.ptr());
    if (std::trunc(extent) == extent && std::abs(extent) <= 0x1p53) return Expr(static_cast<int64_t>(extent));
  }
  return to_expr(given, role);
}

py::object extent_object(const Expr& e) {
  static const py::handle number = py::object(py::module_::import("tensorwright._extent").attr("Extent")).release();
  if (const auto value = ir::as_int(e)) return number(*value);
  if (const auto* v = ir::as<ir::VarRef>(e)) return py::cast(v->var);
  return py::cast(e);
}

Expr to_expr(py::handle value, const char* role) {
  if (py::isinstance<Expr>(value)) return value.cast<const Expr&>();
  if (py::isinstance<Var>(value)) return value.cast<const Var&>();
  if (py::isinstance<IterVar>(value)) return value.cast<const IterVar&>().var;
  if (PyBool_Check(value.ptr())) return ir::boolean(value.ptr() == Py_True);
  if (PyLong_Check(value.ptr())) return from_int(value);
  if (PyFloat_Check(value.ptr())) return from_float(PyFloat_AS_DOUBLE(value.ptr()));
  if (py::isinstance<AxisEquality>(value)) return value.cast<const AxisEquality&>().expr();
  return from_object(value, role);
}

py::object compare(BinOp op, Expr a, py::handle b) {
  const bool equality = op == BinOp::kEq || op == BinOp::kNe;
  if (b.is_none() || py::isinstance<py::str>(b) || (equality && py::hasattr(b, "__tw_loop__")))
    return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  return py::cast(te::arith(op, std::move(a), to_expr(b)));
}

void bind_operators(py::object cls) {
  for (const Binary& op : kBinaries) {
    define(cls, op.name, [&op](py::object a, py::object b) { return combine(op.of_tensors, op.apply, a, b); });
    define(cls, op.mirrored, [&op](py::object a, py::object b) { return combine(op.of_tensors, op.apply, b, a); });
  }
  for (const Comparison& c : kComparisons) {
    define(cls, c.name, [&c](py::object a, py::object b) -> py::object {
      if (whole(a) || whole(b))
        return elementwise(c.of_tensors, {a, b},
                           [&](const std::vector<Expr>& x) { return te::arith(c.op, x[0], x[1]); });
      return compare(c.op, to_expr(a), b);
    });
  }
  define(cls, "equal", [](py::object a, py::object b) { return te::arith(BinOp::kEq, to_expr(a), to_expr(b)); });
  define(cls, "__neg__", [](py::object self) { return change("negative", &negate, self); });
  define(cls, "__pos__", [](py::object self) { return whole(self) ? self : py::cast(to_expr(self)); });
  define(cls, "__invert__", [](py::object self) { return change("invert", &invert, self); });
  define(cls, "__abs__", [](py::object self) { return change("abs", &te::abs, self); });
  define(cls, "__bool__", &truth);
  define(cls, "astype", [](py::object self, const py::object& given) {
    const auto dtype = py::cast<std::string>(py::module_::import("tensorwright.te._numpy").attr("dtype_name")(given));
    if (whole(self))
      return elementwise("cast", {self},
                         [&](const std::vector<Expr>& x) { return te::astype(x[0], Lanes::dtype(dtype)); });
    return py::cast(te::astype(to_expr(self), Lanes::dtype(dtype)));
  });
  bind_refusals(cls);
}

void bind_expr(py::module_& m) {
  py::class_<Expr> expr(m, "Expr", "A value in a tensor expression. ``str`` shows it as the IR text does.");
  bind_operators(expr);
  expr.def("__hash__", [](const Expr& e) { return e.hash(); })
      .def_property_readonly("dtype", [](const Expr& e) { return te::dtype_name(e.type()); })
      .def("same_as", [](const Expr& a, py::handle b) { return py::isinstance<Expr>(b) && a.same_as(b.cast<Expr>()); })
      .def_property_readonly("value", &value_of, "The number of a constant.")
      .def_property_readonly("axis", &axes_of, "The axes of a reduction.")
      .def_property_readonly(
          "source", [](const Expr& e) { return reduction(e, "source").sources; }, "What a reduction adds up.")
      .def_property_readonly(
          "init", [](const Expr& e) { return reduction(e, "init").init; }, "What a reduction begins with.")
      .def_property_readonly("condition", &condition_of, "Which terms of a reduction count; None: all.")
      .def("__getitem__",
           [](const Expr& e, py::handle) -> Expr {
             refuse(ErrorKind::kExpr, "an expression takes no subscripts: " + te::short_text(e) + " is one value",
                    {"a tensor takes one subscript per dimension"});
           })
      .def("__repr__", [](const Expr& e) { return ir::to_string(e); });
  py::class_<Var> var(m, "Var", "The variable of an axis.");
  bind_operators(var);
  var.def("__hash__", [](const Var& v) { return v.id(); })
      .def_property_readonly("dtype", [](const Var& v) { return te::dtype_name(v.type()); })
      .def_property_readonly("name", [](const Var& v) { return v.name(); })
      .def("same_as", [](const Var& a, py::handle b) { return py::isinstance<Var>(b) && a == b.cast<Var>(); })
      .def("__repr__", [](const Var& v) { return v.name(); });
  bind_functions(m);
}

}  // namespace tw::bind
