#include "schedule/left_out.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/walk.h"
#include "src/lower/guard.h"
#include "src/lower/index_math.h"

namespace tw::schedule {

namespace {

bool runs_along(const ir::Reduce& reduce, const ir::Expr& condition) {
  return std::ranges::any_of(reduce.axes,
                             [&](const ir::ReduceAxis& axis) { return ir::uses_var(condition, axis.var); });
}

// The opposite of a comparison of indices; empty for anything else.
ir::Expr opposite(const ir::Expr& condition) {
  const auto* c = ir::as<ir::Binary>(condition);
  if (!c || !c->a.type().is_index()) return {};
  switch (c->op) {
    case ir::BinOp::kLt:
      return c->a >= c->b;
    case ir::BinOp::kLe:
      return c->a > c->b;
    case ir::BinOp::kGt:
      return c->a <= c->b;
    case ir::BinOp::kGe:
      return c->a < c->b;
    default:
      return {};
  }
}

// A term and where it counts; elsewhere it is the identity.
struct Term {
  ir::Expr value, counts;
};

Term counted(const ir::Select& choice, const ir::Expr& identity) {
  if (ir::equal(choice.no, identity)) return {choice.yes, choice.cond};
  if (ir::equal(choice.yes, identity)) return {choice.no, opposite(choice.cond)};
  return {};
}

}  // namespace

bool can_leave_out(const ir::Reduce& reduce) {
  const bool begins = reduce.op == ir::ReduceOp::kSum && !reduce.init.empty() && reduce.sources[0].type().is_float();
  return !reduce.combiner && !begins;
}

Parted parted(const ir::Reduce& reduce, const ir::Expr& condition, lower::GuardReader& reader) {
  Parted parts;
  for (const ir::Expr& c : lower::conjuncts(condition)) {
    const bool known = reader.read(c) != nullptr && runs_along(reduce, c);
    (known ? parts.of_terms : parts.rest).push_back(c);
  }
  return parts;
}

ir::Expr without_identities(const ir::Expr& body) {
  const auto* reduce = ir::as<ir::Reduce>(body);
  if (!reduce || !can_leave_out(*reduce)) return body;
  const ir::Expr identity = ir::identity_of(reduce->op, reduce->sources[0].type());
  lower::GuardReader reader;
  ir::Reduce out = *reduce;
  while (const auto* choice = ir::as<ir::Select>(out.sources[0])) {
    const Term term = counted(*choice, identity);
    if (!term.counts) break;
    const Parted parts = parted(*reduce, term.counts, reader);
    for (const ir::Expr& c : parts.of_terms) out.where = out.where ? out.where && c : c;
    const ir::Expr asked = lower::conjunction(parts.rest);  // of which the term itself is the answer
    out.sources[0] = asked ? ir::select(asked, term.value, identity) : term.value;
    if (asked) break;
  }
  return out.where.same_as(reduce->where) ? body : ir::reduce(std::move(out));
}

}  // namespace tw::schedule
