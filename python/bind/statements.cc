// Statements in Python: what the builder and extern stages are made of, tensor intrinsics, C functions by symbol.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "python/bind/buffers.h"
#include "python/bind/te_expr.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/support/scratch_alignment.h"
#include "te/dtype.h"
#include "te/intrin_names.h"
#include "te/promote.h"
#include "tensorwright/externs.h"
#include "tensorwright/te_extern.h"
#include "tensorwright/tensor_intrin.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using ir::Type;
using ir::Var;

// Addresses of which nothing has been said: the outputs' are written, and in an update read, the others' are read.
Stmt with_access(const Stmt& s, const std::vector<Buffer>& outputs, bool updated) {
  if (!s) return s;
  return ir::rewrite(
      s, [](const Stmt& inner) { return inner; },
      [&](const Expr& e) {
        const auto* a = ir::as<ir::Address>(e);
        if (!a || a->read || a->written) return e;
        const bool output = std::ranges::find(outputs, a->buffer) != outputs.end();
        const bool own = a->buffer.scope() != ir::Scope::kArgument;
        return ir::address_of(a->buffer, a->at, !output || updated || own, output || own);
      });
}

Expr call_extern(const std::string& dtype, const std::string& symbol, const py::args& given) {
  std::vector<Expr> args;
  bool pure = true;
  for (const py::handle one : given) {
    Expr arg = py::isinstance<Buffer>(one) ? data_of(py::reinterpret_borrow<py::object>(one))
                                           : to_expr(one, "an argument of call_extern");
    if (arg.type().is_index()) arg = te::convert(Type::i(32), arg);
    if (arg.type().is_packed())
      refuse(ErrorKind::kDType, "call_extern: C has no values of " + te::dtype_name(arg.type()),
             {te::way_out_of_storage(arg.type())});
    pure = pure && !arg.type().is_handle();
    args.push_back(arg);
  }
  const bool plain = !symbol.empty() && std::all_of(symbol.begin(), symbol.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }) && !(symbol[0] >= '0' && symbol[0] <= '9');
  if (!plain) refuse(ErrorKind::kArgument, "call_extern: the symbol of a C function expected, not \"" + symbol + "\"");
  const Type type = te::dtype_named(dtype);
  if (type.is_half() || type.is_float8() || (type.bits != 1 && type.bits < 8))
    refuse(ErrorKind::kDType, "call_extern: C has no values of " + dtype, {"int8 to int64, float32 and float64"});
  return ir::call_extern(type, symbol, std::move(args), pure);
}

Stmt loop(const Var& var, py::handle extent, const Stmt& body, const std::string& kind) {
  static const std::pair<const char*, ir::ForKind> kKinds[] = {{"serial", ir::ForKind::kSerial},
                                                               {"parallel", ir::ForKind::kParallel},
                                                               {"vectorize", ir::ForKind::kVectorized},
                                                               {"unroll", ir::ForKind::kUnrolled}};
  for (const auto& [name, value] : kKinds)
    if (kind == name) return ir::loop(var, te::as_index(to_extent(extent, "an extent")), body, value);
  refuse(ErrorKind::kArgument,
         "for_range: kind must be \"serial\", \"parallel\", \"vectorize\" or \"unroll\", not \"" + kind + "\"");
}

Expr condition(py::handle given) {
  const Expr cond = to_expr(given, "a condition");
  if (cond.type() != Type::boolean())
    refuse(ErrorKind::kDType, "if_scope: a condition expected, not " + ir::to_string(cond));
  return cond;
}

// What the user's function returned, over the buffers that stand for those that it was given.
Stmt statement(py::handle made, const ir::BufferMap& real) {
  if (made.is_none()) return {};
  if (py::isinstance<Stmt>(made)) return ir::replace_buffers(made.cast<Stmt>(), real);
  const Expr call = to_expr(made, "what the function returns");
  if (!ir::as<ir::CallExtern>(call))
    refuse(ErrorKind::kExpr, "the function must return a statement, not " + ir::to_string(call),
           {"te.call_extern calls a C function; ib.get() is what a builder has made"});
  return ir::replace_buffers(ir::evaluate(call), real);
}

// A buffer as the user's function is given it: what was declared, or the tensor's own.
struct StandIn {
  py::object shown;
  Buffer buffer;
  te::TileBuffer tile;
};

std::vector<py::object> shown(const std::vector<StandIn>& all) {
  std::vector<py::object> out;
  for (const StandIn& one : all) out.push_back(one.shown);
  return out;
}

// The user's buffers, where there are any, in the place of the tensors'.
std::vector<StandIn> stand_ins(const std::vector<Buffer>& real, py::handle given, ir::BufferMap& back) {
  std::vector<StandIn> own;
  if (given.is_none()) {
    for (const Buffer& buffer : real) own.push_back({py::cast(buffer), buffer, {}});
    return own;
  }
  for (const py::handle one : given) {
    const auto shown = py::reinterpret_borrow<py::object>(one);
    own.push_back({shown, one.cast<Buffer>(), tile_of(shown)});
  }
  if (own.size() != real.size())
    refuse(ErrorKind::kArgument,
           "expected " + std::to_string(real.size()) + " buffers, not " + std::to_string(own.size()));
  for (size_t i = 0; i < own.size(); ++i) {
    const Buffer& buffer = own[i].buffer;
    if (buffer.element() != real[i].element() || buffer.rank() != real[i].rank())
      refuse(ErrorKind::kArgument,
             "the buffer " + buffer.name() + " must have the dtype and the rank of " + real[i].name());
    back[buffer.id()] = real[i];
  }
  return own;
}

// Addresses of memory that a tensor has to itself, as the tensor's.
Stmt over_tensors(const Stmt& s, const std::vector<StandIn>& own, const std::vector<Buffer>& real) {
  ir::BufferMap tensors;
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i].tile.memory) tensors[own[i].tile.memory.id()] = real[i];
  if (!s || tensors.empty()) return s;
  return ir::rewrite(
      s, [](const Stmt& inner) { return inner; },
      [&](const Expr& e) {
        const auto* a = ir::as<ir::Address>(e);
        if (!a || !tensors.contains(a->buffer.id())) return e;
        const Buffer& tensor = tensors.at(a->buffer.id());
        return ir::address_of(tensor, std::vector<Expr>(tensor.rank(), Expr(0)), a->read, a->written);
      });
}

// The tensors of an extern stage begin at element 0 of memory of their own, which may be an array of the caller's.
void check_promises(const std::string& name, const std::vector<StandIn>& own) {
  for (const StandIn& one : own) {
    const std::string what = "extern " + name + ": the buffer " + one.buffer.name();
    if (one.tile.scope && ir::is_private(*one.tile.scope))
      refuse(ErrorKind::kArgument, what + " must not be of scope local",
             {"the tensors of an extern stage are kept whole, at root"});
    if (const int64_t known = one.buffer.element().bytes(); one.tile.alignment > known)
      refuse(ErrorKind::kArgument,
             what + " must have a data_alignment of at most " + std::to_string(known) + ", not " +
                 std::to_string(one.tile.alignment),
             {"the tensor may be an array of the caller's, which is aligned to its elements",
              "what the builder allocates in the statement is aligned to " + std::to_string(kScratchAlignment) +
                  " bytes: copy the elements there, or leave data_alignment out"});
  }
}

// What the variables among the strides of declared buffers are: those of the tensors, which begin at element 0.
ir::Substitution stride_values(const std::string& name, const std::vector<StandIn>& own,
                               const std::vector<Buffer>& real, ir::Substitution values) {
  for (size_t i = 0; i < own.size(); ++i) {
    if (const Var& offset = own[i].tile.elem_offset; offset && !values.emplace(offset.id(), 0).second)
      refuse(ErrorKind::kArgument, "extern " + name + ": elem_offset of " + own[i].buffer.name() +
                                       " must be a variable of its own, and " + offset.name() + " stands for more");
    const std::vector<Expr> actual = strides_of(real[i]);
    for (size_t d = 0; d < own[i].buffer.strides().size(); ++d) {
      const Expr& wanted = own[i].buffer.strides()[d];
      const auto* var = ir::as<ir::VarRef>(wanted);
      const Expr known = var ? values.emplace(var->var.id(), actual[d]).first->second : wanted;
      if (!ir::is_int(ir::simplify(known - actual[d]), 0))
        refuse(ErrorKind::kArgument, "extern " + name + ": the strides of " + own[i].buffer.name() +
                                         " must be those of " + real[i].name() + ": " + ir::to_string(known) +
                                         " elements are declared for dimension " + std::to_string(d) + ", which has " +
                                         ir::to_string(actual[d]));
    }
  }
  return values;
}

py::object external(const std::vector<std::pair<std::string, py::object>>& outputs,
                    const std::vector<te::Tensor>& inputs, const py::function& body, const std::string& name,
                    py::handle in_buffers, py::handle out_buffers) {
  std::vector<te::ExternOutput> made;
  for (const auto& [dtype, shape] : outputs) made.push_back({te::dtype_named(dtype), to_shape(shape)});
  const auto call = [&](const std::vector<Buffer>& in, const std::vector<Buffer>& out) {
    ir::BufferMap back;
    const Defining statements;
    const std::vector<StandIn> first = stand_ins(in, in_buffers, back), second = stand_ins(out, out_buffers, back);
    check_promises(name, first);
    check_promises(name, second);
    Stmt made = over_tensors(statement(body(shown(first), shown(second)), back), first, in);
    made = with_access(over_tensors(made, second, out), out, false);
    const ir::Substitution strides = stride_values(name, first, in, stride_values(name, second, out, {}));
    return made && !strides.empty() ? ir::substitute(made, strides) : made;
  };
  const std::vector<te::Tensor> tensors = te::external(made, inputs, call, name, user_line());
  if (tensors.size() == 1) return py::cast(tensors[0]);
  return py::cast(tensors);
}

// Buffers of the inputs and the output, as they were declared; None: as the tensor has it.
te::TensorIntrinPtr declare(const te::Operation& op, const py::function& body, const std::string& name,
                            const std::vector<py::object>& declared) {
  std::vector<Buffer> real;
  for (const te::Tensor& t : op->inputs) real.push_back(t.buffer());
  real.push_back(op.output().buffer());
  ir::BufferMap back;
  te::IntrinBodies does;
  std::vector<py::object> own;
  for (size_t i = 0; i < real.size(); ++i) {
    own.push_back(declared.at(i).is_none() ? py::cast(real[i]) : declared[i]);
    if (declared[i].is_none()) continue;
    const auto buffer = declared[i].cast<Buffer>();
    back[buffer.id()] = real[i];
    te::TileBuffer tile = tile_of(declared[i]);
    if (!is_compact(buffer)) tile.strides = buffer.strides();
    does.tiles[real[i].id()] = tile;
  }
  std::vector<Buffer> outputs = {real.back()};
  if (const Buffer& memory = does.tile(real.back()).memory) outputs.push_back(memory);
  const std::vector<py::object> in(own.begin(), own.end() - 1), out(own.end() - 1, own.end());
  const Defining statements;
  const py::object made = body(in, out);
  const auto part = [&](py::handle given, bool updated) {
    return with_access(statement(given, back), outputs, updated);
  };
  if (py::isinstance<py::tuple>(made) || py::isinstance<py::list>(made)) {
    const py::sequence parts = made;
    if (parts.size() != 3)
      refuse(ErrorKind::kSchedule, "decl_tensor_intrin: the function must return a statement or (body, reset, update)");
    does.body = part(parts[0], false), does.reset = part(parts[1], false), does.update = part(parts[2], true);
  } else {
    does.body = part(made, false);
  }
  const SourceLine where = user_line();
  const py::gil_scoped_release running;  // the statements, and with them functions that may be Python's
  return te::declare_tensor_intrin(op, does, name, where);
}

std::optional<Stmt> part_of(const Stmt& made) { return made ? std::optional(made) : std::nullopt; }

}  // namespace

void bind_statements(py::module_& m) {
  py::class_<Stmt>(m, "Stmt", "A statement, as a builder makes it.").def("__repr__", [](const Stmt& s) {
    return ir::to_string(s);
  });
  bind_buffers(m);
  m.def("_loop", &loop);
  m.def("_loop_var", [](const std::string& name) { return Var(name); });
  m.def("_if", [](py::handle cond, const Stmt& then, const std::optional<Stmt>& otherwise) {
    return ir::if_then(condition(cond), then, otherwise.value_or(Stmt()));
  });
  m.def("_sequence", [](std::vector<Stmt> all) { return ir::seq(std::move(all)); });
  m.def("_allocate", [](const Buffer& b, const Stmt& body) { return ir::allocate(b, body); });
  m.def("_evaluate", [](py::handle made) { return statement(made, {}); });
  m.def("call_extern", &call_extern);
  m.def("_extern", &external);
  py::class_<te::TensorIntrin, std::shared_ptr<te::TensorIntrin>>(
      m, "TensorIntrin", "What ``te.decl_tensor_intrin`` gives: ``s[C].tensorize(axis, it)``.")
      .def_property_readonly("key", [](const te::TensorIntrin& t) { return t.key; })
      .def_property_readonly("op", [](const te::TensorIntrin& t) { return t.op; })
      .def_property_readonly("inputs", [](const te::TensorIntrin& t) { return t.op->inputs; })
      .def_property_readonly("buffers",
                             [](const te::TensorIntrin& t) {
                               std::vector<Buffer> all;
                               for (const te::Tensor& input : t.op->inputs) all.push_back(input.buffer());
                               all.push_back(t.op.output().buffer());
                               return all;
                             })
      .def_property_readonly("body", [](const te::TensorIntrin& t) { return part_of(t.does.body); })
      .def_property_readonly("reduce_init", [](const te::TensorIntrin& t) { return part_of(t.does.reset); })
      .def_property_readonly("reduce_update", [](const te::TensorIntrin& t) { return part_of(t.does.update); })
      .def("__repr__", [](const te::TensorIntrin& t) { return "TensorIntrin(" + te::readable_intrin(t.key) + ")"; });
  m.def("_declare_intrin", [](const te::Operation& op, const py::function& body, const std::string& name,
                              const std::vector<py::object>& declared) {
    return std::const_pointer_cast<te::TensorIntrin>(declare(op, body, name, declared));
  });
  m.def("_register_extern", [](const std::string& symbol, uintptr_t function) {
    tw::register_extern(symbol, reinterpret_cast<void*>(function));
  });
}

}  // namespace tw::bind
