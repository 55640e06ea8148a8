// Solving guards for one atom.

#include "src/lower/split_point.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

// factor * atom + worst < 0, where `worst` is the largest value of everything else in the guard.
struct OneAtom {
  Expr atom;
  int64_t factor;
  int64_t worst;
};

std::optional<OneAtom> isolate(const Guard& guard, const Var& var, const Ranges& around, const Bounds& inner) {
  std::optional<OneAtom> found;
  Interval rest = Interval::point(guard.form.constant);
  for (const Term& t : guard.form.terms) {
    if (uses_any(t.atom, inner)) {
      rest = rest + scaled(interval_of(t.atom, inner), t.factor);
    } else if (!uses_var(t.atom, var)) {
      const Interval values = around.of(t.atom);
      if (!values.is_point()) return std::nullopt;  // decided by a loop further out as well
      rest = rest + scaled(values, t.factor);
    } else {
      if (found) return std::nullopt;
      found = OneAtom{t.atom, t.factor, 0};
    }
  }
  if (!found || rest.hi == Interval::kPosInf) return std::nullopt;
  found->worst = rest.hi;
  return found;
}

}  // namespace

std::optional<SplitPoint> find_split(const std::vector<const Guard*>& guards, const Var& var, const Ranges& around,
                                     const Bounds& inner) {
  std::optional<SplitPoint> split;
  for (const Guard* guard : guards) {
    const auto solved = isolate(*guard, var, around, inner);
    if (!solved) continue;
    if (split && !equal(split->atom, solved->atom)) continue;
    const Interval all = around.of(solved->atom);
    if (!all.bounded()) continue;
    int64_t first = all.lo, last = all.hi;
    if (solved->factor > 0)
      last = std::min(last, floor_div(-solved->worst - 1, solved->factor));
    else
      first = std::max(first, ceil_div(solved->worst + 1, -solved->factor));
    if (split) first = std::max(first, split->first), last = std::min(last, split->last);
    if (first > last || (first == all.lo && last == all.hi)) continue;
    split = SplitPoint{solved->atom, first, last, all};
  }
  return split;
}

}  // namespace tw::lower
