// Reductions over reduce axes.
#include <unordered_set>

#include "src/ir/simplify.h"
#include "src/ir/typing.h"
#include "te/dtype.h"
#include "te/promote.h"
#include "te/refuse.h"
#include "tensorwright/te.h"

namespace tw::te {
namespace {

Expr known_end(const std::string& name, Expr e, const SourceLine& where) {
  if (e.type().is_float() || e.type().is_bool()) {
    refuse(ErrorKind::kDType,
           "reduce_axis " + name + ": ends must be integers, not " + short_text(e) + " of " + dtype_name(e.type()), {},
           where);
  }
  e = ir::simplify(as_index(std::move(e)));
  if (!ir::as_int(e)) {
    refuse(ErrorKind::kExpr, "reduce_axis " + name + ": ends must be known integers, not " + short_text(e),
           {"extents that are only known when the kernel runs are not supported yet"}, where);
  }
  return e;
}

Expr reduce_over(ir::ReduceOp op, Expr source, const std::vector<IterVar>& axis) {
  const std::string name(op == ir::ReduceOp::kSum    ? "sum"
                         : op == ir::ReduceOp::kProd ? "prod"
                         : op == ir::ReduceOp::kMin  ? "min"
                                                     : "max");
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
  source = as_data(std::move(source));
  if (source.type().is_bool()) {
    refuse(ErrorKind::kDType, name + ": expected numbers, not bool: " + short_text(source),
           {"convert: e.astype(\"int32\"); te.max of that tells whether any is true, te.min whether all are"});
  }
  return ir::reduce(op, std::move(source), std::move(axes));
}

}  // namespace

IterVar reduce_axis(Expr min, Expr end, std::string name, SourceLine where) {
  if (name.empty()) name = "rv";
  min = known_end(name, std::move(min), where);
  end = known_end(name, std::move(end), where);
  const int64_t lo = *ir::as_int(min), hi = *ir::as_int(end);
  int64_t extent = 0;
  if (__builtin_sub_overflow(hi, lo, &extent) || extent < 0) {
    refuse(ErrorKind::kExpr,
           "reduce_axis " + name + ": end must not lie before the start, not " + std::to_string(lo) + ".." +
               std::to_string(hi),
           {}, where);
  }
  return {Var(std::move(name)), std::move(min), Expr(extent), true};
}

Expr sum(Expr e, std::vector<IterVar> axis) { return reduce_over(ir::ReduceOp::kSum, std::move(e), axis); }
Expr prod(Expr e, std::vector<IterVar> axis) { return reduce_over(ir::ReduceOp::kProd, std::move(e), axis); }
Expr max(Expr e, std::vector<IterVar> axis) { return reduce_over(ir::ReduceOp::kMax, std::move(e), axis); }
Expr min(Expr e, std::vector<IterVar> axis) { return reduce_over(ir::ReduceOp::kMin, std::move(e), axis); }

}  // namespace tw::te
