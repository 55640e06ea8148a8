// Scalars: variables that are no axis. A kernel gets their values from its caller, or reads them off the shapes of its
// arguments.
//
//   n = var("n")   A: float32[n], B: float32[n + 1]     n is the extent of A; B is checked to have one more
#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "src/ir/walk.h"
#include "te/dtype.h"
#include "te/operation.h"
#include "te/refuse.h"
#include "tensorwright/te.h"

namespace tw::te {
namespace {

// A Var does not say what it stands for; axes are far more numerous than scalars.
class Made {
 public:
  void add(const Var& v) {
    const std::lock_guard lock(mutex_);
    ids_.insert(v.id());
  }
  bool has(const Var& v) {
    const std::lock_guard lock(mutex_);
    return ids_.contains(v.id());
  }

 private:
  std::mutex mutex_;
  std::unordered_set<uint64_t> ids_;
};

Made& made() {
  static Made scalars;
  return scalars;
}

bool is_arithmetic(const Expr& e) {
  if (ir::as<ir::IntImm>(e)) return true;
  if (const auto* v = ir::as<ir::VarRef>(e)) return is_scalar(v->var);
  const auto* b = ir::as<ir::Binary>(e);
  const bool known = b && (b->op <= ir::BinOp::kMax && b->op != ir::BinOp::kDiv);
  return known && is_arithmetic(b->a) && is_arithmetic(b->b);
}

std::vector<Var> variables_of(const OpNode& op) {
  std::vector<Var> vars;
  const auto add = [&](const Expr& e) {
    ir::walk(e, [&](const Expr& x) {
      if (const auto* v = ir::as<ir::VarRef>(x); v && is_scalar(v->var)) vars.push_back(v->var);
      return true;
    });
  };
  for (const Output& output : op.outputs)
    for (const Expr& extent : output.shape) add(extent);
  if (const Compute* c = op.compute())
    for (const Expr& body : c->bodies) add(body);
  if (const Extern* e = op.external())
    for (const Var& v : ir::free_vars(e->body)) add(v);
  if (const auto* p = std::get_if<Placeholder>(&op.kind))
    for (const Expr& stride : p->strides) add(stride);
  return vars;
}

}  // namespace

Var var(std::string name, std::string_view dtype) {
  const Type type = dtype_named(dtype);
  if (type.is_storage())
    refuse(ErrorKind::kDType, "var: dtype must be one to calculate with, not " + dtype_name(type),
           {"storage is of tensors; the caller can convert one number"});
  Var v(std::move(name), type.is_int() && type.bits >= 32 ? Type::index() : type);
  made().add(v);
  return v;
}

bool is_scalar(const Var& v) { return made().has(v); }

bool is_extent(const Expr& e) { return e.type().is_index() && is_arithmetic(e); }

std::vector<std::string> notes_on_axes(const Expr& extent) {
  std::vector<std::string> notes;
  ir::walk(extent, [&](const Expr& e) {
    if (const auto* v = ir::as<ir::VarRef>(e); v && !is_scalar(v->var))
      notes.push_back(v->var.name() + " is an axis: the index of a compute's function, or what a reduction runs over");
    return true;
  });
  return notes;
}

std::vector<Var> scalars_of(const std::vector<Tensor>& roots) {
  std::vector<Var> all;
  for (const Operation& op : topological_order(roots))
    for (const Var& v : variables_of(*op))
      if (std::ranges::find(all, v) == all.end()) all.push_back(v);
  return all;
}

void bind_scalars(ir::Program& program, const std::vector<Tensor>& roots, const std::vector<ScalarArgument>& given) {
  std::unordered_set<uint64_t> bound;
  for (const ScalarArgument& s : given) {
    if (!is_scalar(s.var))
      refuse(ErrorKind::kArgument, "args: a scalar must be made by te.var, not the axis " + s.var.name());
    if (!bound.insert(s.var.id()).second)
      refuse(ErrorKind::kArgument, "args: each scalar must be named once, not " + s.var.name() + " twice");
    program.scalars.push_back(s.var);
    program.places.push_back(s.place);
  }
  for (const ir::Param& param : program.params)
    for (const Expr& extent : param.buffer.shape())
      if (const auto* v = ir::as<ir::VarRef>(extent); v && bound.insert(v->var.id()).second)
        program.scalars.push_back(v->var);
  for (const Operation& op : topological_order(roots))
    for (const Var& v : variables_of(*op)) {
      if (bound.contains(v.id())) continue;
      refuse(
          ErrorKind::kArgument, "args: the variable " + v.name() + ", which " + op->name + " uses, has no value",
          {v.type().is_index() ? "no argument has " + v.name() + " itself as an extent" : "no argument gives it",
           "name it among the arguments: [..., " + v.name() + ", ...], and pass a number when the function is called"},
          op->where);
    }
}

}  // namespace tw::te
