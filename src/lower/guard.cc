// Conditions as affine forms.

#include "src/lower/guard.h"

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::lower {

using namespace ir;

Interval Ranges::of(const Expr& atom) const {
  Interval range = interval_of(atom, vars_);
  for (const auto& [known, values] : atoms_)
    if (equal(known, atom)) range = intersect(range, values);
  return range;
}

Expr Ranges::named(const Expr& e, Bounds& of_names) const {
  Expr out = e;
  for (const auto& [atom, values] : atoms_) {
    const Var name("atom");
    const auto by_name = [&](const Expr& part) { return equal(part, atom) ? Expr(name) : part; };
    const Expr renamed = rewrite(out, by_name);
    if (renamed.same_as(out)) continue;
    of_names[name.id()] = of(atom);
    out = renamed;
  }
  return out;
}

Interval Ranges::of(const Linear& form) const {
  Interval sum = Interval::point(form.constant);
  for (const Term& t : form.terms) sum = sum + scaled(of(t.atom), t.factor);
  return form.overflow ? Interval::everything() : sum;
}

namespace {

std::optional<Guard> guard_of(const Expr& condition) {
  const auto* c = as<Binary>(condition);
  if (!c || !c->a.type().is_index() || !c->a.type().is_scalar() || has_load(condition)) return std::nullopt;
  const auto less = [](const Expr& a, const Expr& b, int64_t slack) -> std::optional<Guard> {
    Linear form = decompose(simplify(a)) - decompose(simplify(b));
    form.add_constant(-slack);
    form.normalise();
    if (form.overflow) return std::nullopt;
    return Guard{std::move(form)};
  };
  switch (c->op) {
    case BinOp::kLt:
      return less(c->a, c->b, 0);
    case BinOp::kLe:
      return less(c->a, c->b, 1);
    case BinOp::kGt:
      return less(c->b, c->a, 0);
    case BinOp::kGe:
      return less(c->b, c->a, 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

const Guard* GuardReader::read(const Expr& condition) {
  auto [it, fresh] = read_.try_emplace(condition.get());
  if (fresh) it->second = {condition, guard_of(condition)};
  return it->second.guard ? &*it->second.guard : nullptr;
}

std::optional<bool> decide(const Expr& condition, GuardReader& reader, const Ranges& ranges) {
  if (const auto value = as_int(condition)) return *value != 0;
  const Guard* guard = reader.read(condition);
  if (!guard) return std::nullopt;
  const Interval range = ranges.of(guard->form);
  if (range.hi < 0) return true;
  if (range.lo >= 0) return false;
  return std::nullopt;
}

}  // namespace tw::lower
