// Extents are not negative: each that has one variable bounds it.
#include "src/ir/scalars.h"

#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"

namespace tw::ir {

Bounds bounds_of_extents(const std::vector<Expr>& extents) {
  Bounds out;
  for (const Expr& extent : extents) {
    if (as_int(extent)) continue;
    const Linear form = decompose(simplify(extent));  // 0 <= factor * v + constant <= kLargestExtent
    if (form.overflow || form.terms.size() != 1) continue;
    const auto* v = as<VarRef>(form.terms[0].atom);
    if (!v) continue;
    const int64_t factor = form.terms[0].factor, constant = form.constant;
    const Interval above = factor > 0 ? Interval{ceil_div(-constant, factor), Interval::kPosInf}
                                      : Interval{Interval::kNegInf, floor_div(-constant, factor)};
    const auto [known, fresh] = out.try_emplace(v->var.id(), Interval::everything());
    known->second = intersect(known->second, above);
    if (factor == 1 && constant == 0) known->second = intersect(known->second, {0, kLargestExtent});
  }
  return out;
}

bool can_prove(const Expr& condition, const Bounds& bounds, const std::vector<Expr>& facts) {
  if (facts.empty()) return can_prove(condition, bounds);
  Stmt question = evaluate(condition);  // inside conditions the simplifier uses them
  for (const Expr& fact : facts) question = if_then(fact, question);
  Stmt answer = simplify(question, bounds);
  while (const auto* i = as<If>(answer)) answer = i->then;
  const auto* e = as<Evaluate>(answer);
  return !e || is_int(e->value, 1);
}

Bounds scalar_bounds(const Program& program) {
  std::vector<Expr> extents;
  for (const Param& param : program.params)
    extents.insert(extents.end(), param.outside().shape().begin(), param.outside().shape().end());
  Bounds out = bounds_of_extents(extents);
  for (const Var& scalar : program.scalars)
    if (scalar.type().is_index()) out.try_emplace(scalar.id(), Interval::everything());
  return out;
}

}  // namespace tw::ir
