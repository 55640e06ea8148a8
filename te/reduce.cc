// Reductions over reduce axes.
#include "te/reduce.h"

#include <unordered_set>

#include "src/ir/simplify.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"
#include "te/dtype.h"
#include "te/operation.h"
#include "te/promote.h"
#include "te/refuse.h"
#include "tensorwright/te.h"

namespace tw::te {
namespace {

// Axes of the compute, which dependent_axes.h judges, as if they were numbers.
Expr over_axes(const Expr& e) {
  ir::Substitution axes;
  ir::walk(e, [&](const Expr& part) {
    const auto* v = ir::as<ir::VarRef>(part);
    if (v && v->var.type().is_index() && !is_scalar(v->var)) axes[v->var.id()] = Expr(1);
    return true;
  });
  return ir::substitute(e, axes);
}

Expr known_end(const std::string& name, Expr e, const SourceLine& where) {
  if (e.type().is_float() || e.type().is_bool()) {
    refuse(ErrorKind::kDType,
           "reduce_axis " + name + ": ends must be integers, not " + short_text(e) + " of " + dtype_name(e.type()), {},
           where);
  }
  e = ir::simplify(as_index(std::move(e)));
  if (!is_extent(over_axes(e))) {
    refuse(ErrorKind::kExpr,
           "reduce_axis " + name + ": ends must be integers or expressions of te.var and axes, not " + short_text(e),
           {"n = te.var(\"n\"); + - * // % te.min and te.max of such variables, of axes and of integers are ends"},
           where);
  }
  return e;
}

std::string name_of(ir::ReduceOp op) {
  return op == ir::ReduceOp::kSum    ? "sum"
         : op == ir::ReduceOp::kProd ? "prod"
         : op == ir::ReduceOp::kMin  ? "min"
                                     : "max";
}

Expr reduce_over(ir::ReduceOp op, Expr source, const std::vector<IterVar>& axis, Expr where, Expr init) {
  const std::string name = name_of(op);
  ir::Reduce r{op, {}, reduced_axes(name, axis), reduced_where(name, std::move(where)), {}, 0, nullptr};
  source = as_data(std::move(source));
  if (source.type().is_bool()) {
    refuse(ErrorKind::kDType, name + ": expected numbers, not bool: " + short_text(source),
           {"convert: e.astype(\"int32\"); te.max of that tells whether any is true, te.min whether all are"});
  }
  if (source.type().is_storage()) {
    refuse(ErrorKind::kDType,
           name + ": expected numbers to calculate with, not " + dtype_name(source.type()) + ": " + short_text(source),
           {way_out_of_storage(source.type())});
  }
  r.sources = {std::move(source)};
  if (init) r.init = reduced_init(name, r.sources, {std::move(init)});
  return ir::reduce(std::move(r));
}

}  // namespace

std::vector<ir::ReduceAxis> reduced_axes(const std::string& name, const std::vector<IterVar>& axis) {
  if (axis.empty())
    refuse(ErrorKind::kExpr, name + ": axis must name at least one reduce axis",
           {"k = te.reduce_axis((0, n)); te." + name + "(..., axis=k)"});
  std::unordered_set<uint64_t> seen;
  std::vector<ir::ReduceAxis> axes;
  for (const IterVar& a : axis) {
    if (!a.reduction) {
      refuse(ErrorKind::kExpr, name + ": axis must be a reduce axis, not the data axis " + a.var.name(),
             {"k = te.reduce_axis((0, n)) makes one"});
    }
    if (!seen.insert(a.var.id()).second)
      refuse(ErrorKind::kExpr, name + ": axis must name each reduce axis once, not " + a.var.name() + " twice");
    axes.push_back({a.var, a.min, a.extent});
  }
  return axes;
}

Expr reduced_where(const std::string& name, Expr where) {
  if (static_cast<bool>(where) && !where.type().is_bool())
    refuse(ErrorKind::kDType,
           name + ": where must be a condition, not " + short_text(where) + " of " + dtype_name(where.type()),
           {"a comparison gives one: x != 0"});
  return where;
}

std::vector<Expr> reduced_init(const std::string& name, const std::vector<Expr>& sources, std::vector<Expr> init) {
  if (init.size() != sources.size())
    refuse(ErrorKind::kExpr, name + ": init must have one value for each of the " + std::to_string(sources.size()) +
                                 " components, not " + std::to_string(init.size()));
  for (size_t i = 0; i < init.size(); ++i)
    init[i] = of_component(name, "init", i, std::move(init[i]), sources[i].type());
  return init;
}

Expr of_component(const std::string& name, const std::string& what, size_t i, Expr value, Type type) {
  const std::string component = name + ": " + what + (i ? " " + std::to_string(i) : "");
  if (!value) refuse(ErrorKind::kExpr, component + " is missing");
  const bool number = ir::as<ir::IntImm>(value) || ir::as<ir::FloatImm>(value);
  const bool loses = ir::as<ir::FloatImm>(value) && !type.is_float();
  if (number && !loses) return convert(type, std::move(value));
  value = as_data(std::move(value));
  if (value.type() != type)
    refuse(ErrorKind::kDType,
           component + " must be " + dtype_name(type) + " as what is reduced, not " + dtype_name(value.type()) + ": " +
               short_text(value),
           {"e.astype(\"" + dtype_name(type) + "\") converts"});
  return value;
}

IterVar reduce_axis(Expr min, Expr end, std::string name, SourceLine where) {
  if (name.empty()) name = "rv";
  min = known_end(name, std::move(min), where);
  end = known_end(name, std::move(end), where);
  const auto lo = ir::as_int(min), hi = ir::as_int(end);
  int64_t known = 0;
  if (lo && hi && (__builtin_sub_overflow(*hi, *lo, &known) || known < 0)) {
    refuse(ErrorKind::kExpr,
           "reduce_axis " + name + ": end must not lie before the start, not " + ir::to_string(min) + ".." +
               ir::to_string(end),
           {}, where);
  }
  Expr extent = ir::simplify(end - min);
  return {Var(std::move(name)), std::move(min), std::move(extent), true};
}

Expr sum(Expr e, std::vector<IterVar> axis, Expr where, Expr init) {
  return reduce_over(ir::ReduceOp::kSum, std::move(e), axis, std::move(where), std::move(init));
}
Expr prod(Expr e, std::vector<IterVar> axis, Expr where, Expr init) {
  return reduce_over(ir::ReduceOp::kProd, std::move(e), axis, std::move(where), std::move(init));
}
Expr max(Expr e, std::vector<IterVar> axis, Expr where, Expr init) {
  return reduce_over(ir::ReduceOp::kMax, std::move(e), axis, std::move(where), std::move(init));
}
Expr min(Expr e, std::vector<IterVar> axis, Expr where, Expr init) {
  return reduce_over(ir::ReduceOp::kMin, std::move(e), axis, std::move(where), std::move(init));
}

}  // namespace tw::te
