// Reductions over reduce axes.
#include "src/ir/simplify.h"
#include "te/promote.h"
#include "tensorwright/te.h"

namespace tw::te {

IterVar reduce_axis(Expr min, Expr end, std::string name, SourceLine) {
  min = as_index(min);
  return {Var(std::move(name)), ir::simplify(min), ir::simplify(as_index(end) - min), true};
}

static Expr reduce_over(ir::ReduceOp op, Expr source, const std::vector<IterVar>& axis) {
  std::vector<ir::ReduceAxis> axes;
  for (const IterVar& a : axis) axes.push_back({a.var, a.min, a.extent});
  return ir::reduce(op, as_data(std::move(source)), std::move(axes));
}

Expr sum(Expr e, std::vector<IterVar> a) { return reduce_over(ir::ReduceOp::kSum, std::move(e), a); }
Expr prod(Expr e, std::vector<IterVar> a) { return reduce_over(ir::ReduceOp::kProd, std::move(e), a); }
Expr max(Expr e, std::vector<IterVar> a) { return reduce_over(ir::ReduceOp::kMax, std::move(e), a); }
Expr min(Expr e, std::vector<IterVar> a) { return reduce_over(ir::ReduceOp::kMin, std::move(e), a); }

}  // namespace tw::te
