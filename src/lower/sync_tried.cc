// A condition that is not of a thread's own variables is left out, so that more is tried than may happen. What both
// threads have alike, as a loop in which they wait for each other, may be any number: it is left out of subscripts
// where both move along with it equally, and tried for one period where they have a rest of it, as slots that take
// turns do.

#include "src/lower/sync_tried.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int64_t kMostTried = 1 << 18, kMostPeriods = 16;
constexpr int64_t kMostOfASubscript = 1 << 12;
constexpr int64_t kTriedInARow = 8;  // for the time that a row of a system takes

// An expression over numbered variables, as operations on a stack.
class Code {
 public:
  using Slots = std::unordered_map<uint64_t, size_t>;

  static std::optional<Code> of(const Expr& e, const Slots& slots) {
    Code code;
    return code.add(e, slots) ? std::optional(std::move(code)) : std::nullopt;
  }

  int64_t run(const std::vector<int64_t>& values, std::vector<int64_t>& stack) const {
    stack.clear();
    for (const One& one : ops_) {
      if (one.what != kBinary) {
        if (one.what == kNot)
          stack.back() = stack.back() == 0 ? 1 : 0;
        else
          stack.push_back(one.what == kValue ? one.value : values[static_cast<size_t>(one.value)]);
        continue;
      }
      const int64_t y = stack.back();
      stack.pop_back();
      stack.back() = result(one.op, stack.back(), y);
    }
    return stack.back();
  }

 private:
  enum What : uint8_t { kValue, kSlot, kNot, kBinary };
  struct One {
    What what;
    int64_t value;
    BinOp op;
  };

  bool add(const Expr& e, const Slots& slots) {
    if (const auto value = as_int(e)) {
      ops_.push_back({kValue, *value, {}});
      return true;
    }
    if (const auto* v = as<VarRef>(e)) {
      const auto slot = slots.find(v->var.id());
      if (slot == slots.end()) return false;
      ops_.push_back({kSlot, static_cast<int64_t>(slot->second), {}});
      return true;
    }
    if (const auto* n = as<Not>(e)) {
      if (!add(n->a, slots)) return false;
      ops_.push_back({kNot, 0, {}});
      return true;
    }
    const auto* b = as<Binary>(e);
    if (!b || !(e.type().is_index() || (e.type().is_bool() && (b->a.type().is_index() || b->a.type().is_bool()))))
      return false;
    if (!knows(b->op) || !add(b->a, slots) || !add(b->b, slots)) return false;
    ops_.push_back({kBinary, 0, b->op});
    return true;
  }

  static bool knows(BinOp op) {
    return op == BinOp::kAdd || op == BinOp::kSub || op == BinOp::kMul || op == BinOp::kFloorDiv ||
           op == BinOp::kFloorMod || op == BinOp::kBitXor || (op >= BinOp::kMin && op <= BinOp::kOr);
  }

  // As everywhere, x / 0 is 0. A sum that wraps is wrong of an index, and no number of them goes so far.
  static int64_t result(BinOp op, int64_t x, int64_t y) {
    const auto wrapped = [](uint64_t bits) { return static_cast<int64_t>(bits); };
    const auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
    switch (op) {
      case BinOp::kAdd:
        return wrapped(ux + uy);
      case BinOp::kSub:
        return wrapped(ux - uy);
      case BinOp::kMul:
        return wrapped(ux * uy);
      case BinOp::kFloorDiv:
        return y == 0 ? 0 : floor_div(x, y);
      case BinOp::kFloorMod:
        return y == 0 ? 0 : floor_mod(x, y);
      case BinOp::kBitXor:
        return x ^ y;
      case BinOp::kMin:
        return std::min(x, y);
      case BinOp::kMax:
        return std::max(x, y);
      case BinOp::kEq:
        return x == y ? 1 : 0;
      case BinOp::kNe:
        return x != y ? 1 : 0;
      case BinOp::kLt:
        return x < y ? 1 : 0;
      case BinOp::kLe:
        return x <= y ? 1 : 0;
      case BinOp::kGt:
        return x > y ? 1 : 0;
      case BinOp::kGe:
        return x >= y ? 1 : 0;
      case BinOp::kAnd:
        return x & y;
      default:
        return x | y;
    }
  }

  std::vector<One> ops_;
};

// After how many steps of the variable the expression is the same again; nothing where it may never be.
std::optional<int64_t> period_of(const Expr& e, const Var& var) {
  if (!uses_var(e, var)) return 1;
  const auto* b = as<Binary>(e);
  if (!b) return std::nullopt;
  const auto divisor = b->op == BinOp::kFloorMod ? as_int(b->b) : std::nullopt;
  if (divisor.value_or(0) <= 0) {
    const auto x = period_of(b->a, var), y = period_of(b->b, var);
    return x && y ? std::optional(std::lcm(*x, *y)) : std::nullopt;
  }
  const Linear form = decompose(simplify(b->a));
  if (form.overflow || *divisor > kMostPeriods) return std::nullopt;
  int64_t period = *divisor;
  for (const Term& t : form.terms) {
    const auto* v = as<VarRef>(t.atom);
    const auto of_term = v && v->var == var ? std::optional<int64_t>(1) : period_of(t.atom, var);
    if (!of_term) return std::nullopt;
    period = std::lcm(period, *of_term);
  }
  return period;
}

class Trial {
 public:
  Trial(const Access& a, const Access& b, const LaunchIndices& launch, const Bounds& bounds)
      : a_{&a, {}, {}, {}}, b_{&b, {}, {}, {}}, launch_(launch), bounds_(bounds) {}

  // Whether everything that is to be tried is a number.
  bool prepare() {
    if (a_.of->at.empty() || a_.of->at.size() != b_.of->at.size() || a_.of->buffer.element().is_packed()) return false;
    for (Side* side : {&a_, &b_})
      for (const Expr& at : side->of->at) side->at.push_back(simplify(at, bounds_));
    if (!take_common()) return false;
    for (Side* side : {&a_, &b_})
      if (!compile(*side)) return false;
    return tried(a_) <= kMostTried && tried(b_) <= kMostTried && (tried(a_) + tried(b_)) * periods() <= kMostTried;
  }

  int64_t work() const { return (tried(a_) + tried(b_)) * periods() / kTriedInARow; }

  bool apart(bool of_others) {
    std::vector<int64_t> common(common_.size(), 0);
    for (bool more = true; more; more = next(common)) {
      touched_.clear();
      bool meet = false;
      each(a_, common, [&](uint64_t element, int64_t thread) {
        const auto [at, fresh] = touched_.try_emplace(element, thread);
        if (!fresh && at->second != thread) at->second = kSeveral;
        return true;
      });
      each(b_, common, [&](uint64_t element, int64_t thread) {
        const auto at = touched_.find(element);
        meet = at != touched_.end() && (!of_others || at->second != thread);
        return !meet;
      });
      if (meet) return false;
    }
    return true;
  }

 private:
  static constexpr int64_t kSeveral = -1;
  struct Side {
    const Access* of;
    std::vector<Expr> at;
    std::vector<int64_t> ends;  // of its variables: the threads' first, then its own
    std::vector<Code> subscripts, conditions = {};
  };
  struct Common {
    Var var;
    int64_t period;
  };

  bool is_own(const Access& access, const Var& var) const {
    const auto is_it = [&](const OwnVariable& own) { return own.var == var; };
    return std::ranges::any_of(launch_.threads, is_it) || std::ranges::any_of(access.own, is_it);
  }

  bool take_common() {
    std::unordered_set<uint64_t> seen;
    for (const Side* side : {&a_, &b_}) {
      for (const Expr& at : side->at) {
        bool fine = true;
        walk(at, [&](const Expr& e) {
          const auto* v = as<VarRef>(e);
          if (v && !is_own(*side->of, v->var) && seen.insert(v->var.id()).second) fine = fine && take(v->var);
          return fine;
        });
        if (!fine) return false;
      }
    }
    return periods() <= kMostPeriods;
  }

  // One that both have alike: it moves both equally, but for rests.
  bool take(const Var& var) {
    if (is_own(*a_.of, var) || is_own(*b_.of, var)) return false;
    int64_t period = 1;
    for (size_t d = 0; d < a_.at.size(); ++d) {
      int64_t moved[2] = {0, 0};
      for (const int side : {0, 1}) {
        const Linear form = decompose(side == 0 ? a_.at[d] : b_.at[d]);
        if (form.overflow) return false;
        for (const Term& t : form.terms) {
          const auto* v = as<VarRef>(t.atom);
          if (v && v->var == var) {
            moved[side] += t.factor;
          } else if (const auto rest = period_of(t.atom, var)) {
            period = std::lcm(period, *rest);
          } else {
            return false;
          }
        }
      }
      if (moved[0] != moved[1]) return false;
    }
    common_.push_back({var, period});
    return true;
  }

  bool compile(Side& side) const {
    Code::Slots slots;
    std::vector<Expr> conditions = side.of->conditions;
    for (const auto* variables : {&launch_.threads, &side.of->own}) {
      for (const OwnVariable& own : *variables) {
        if (slots.contains(own.var.id())) continue;
        const int64_t end = own.extent ? interval_of(own.extent, bounds_).hi : Interval::kPosInf;
        const bool known = end >= 0 && end <= kMostTried;
        if (!known && variables == &launch_.threads) return false;
        if (!known) continue;
        slots.emplace(own.var.id(), side.ends.size());
        side.ends.push_back(end);
        if (!as_int(own.extent)) conditions.push_back(Expr(own.var) < own.extent);
      }
    }
    for (const Expr& condition : conditions)
      for (const Expr& one : conjuncts(condition))
        if (auto code = Code::of(one, slots)) side.conditions.push_back(*std::move(code));
    for (const Common& common : common_) slots.emplace(common.var.id(), side.ends.size() + (&common - common_.data()));
    for (const Expr& at : side.at) {
      auto code = Code::of(at, slots);
      if (!code) return false;
      side.subscripts.push_back(*std::move(code));
    }
    return true;
  }

  static int64_t tried(const Side& side) {
    int64_t count = 1;
    for (const int64_t end : side.ends) count = end > kMostTried || count > kMostTried ? kMostTried + 1 : count * end;
    return count;
  }
  int64_t periods() const {
    int64_t count = 1;
    for (const Common& common : common_) count = std::min(count, kMostPeriods + 1) * common.period;
    return count;
  }

  bool next(std::vector<int64_t>& common) const {
    for (size_t i = 0; i < common.size(); ++i) {
      if (++common[i] < common_[i].period) return true;
      common[i] = 0;
    }
    return false;
  }

  // What each thread touches, until `one` has enough.
  template <class One>
  void each(const Side& side, const std::vector<int64_t>& common, const One& one) {
    if (std::ranges::any_of(side.ends, [](int64_t end) { return end == 0; })) return;
    std::vector<int64_t> values(side.ends.size(), 0);
    values.insert(values.end(), common.begin(), common.end());
    for (bool more = true; more;) {
      if (std::ranges::all_of(side.conditions, [&](const Code& code) { return code.run(values, stack_) != 0; })) {
        uint64_t element = 0;  // two that are mixed up are a meeting too many
        for (const Code& code : side.subscripts)
          element = element * 0x9e3779b97f4a7c15U + static_cast<uint64_t>(code.run(values, stack_));
        int64_t thread = 0;
        for (size_t i = 0; i < launch_.threads.size(); ++i) thread = thread * side.ends[i] + values[i];
        if (!one(element, thread)) return;
      }
      more = false;
      for (size_t i = 0; i < side.ends.size() && !more; ++i) {
        more = ++values[i] < side.ends[i];
        if (!more) values[i] = 0;
      }
    }
  }

  Side a_, b_;
  const LaunchIndices& launch_;
  const Bounds& bounds_;
  std::vector<Common> common_;
  std::unordered_map<uint64_t, int64_t> touched_;  // by which thread
  std::vector<int64_t> stack_;
};

// Terms that have variables in common, directly or by way of others.
std::vector<Linear> connected(const std::vector<Term>& terms) {
  struct Part {
    Linear sum;
    std::unordered_set<uint64_t> vars;
  };
  std::vector<Part> parts;
  for (const Term& term : terms) {
    Part all{{}, used_vars(term.atom)};
    all.sum.terms.push_back(term);
    std::erase_if(parts, [&](const Part& part) {
      const auto in_all = [&](uint64_t id) { return all.vars.contains(id); };
      if (std::ranges::none_of(part.vars, in_all)) return false;
      all.sum.terms.insert(all.sum.terms.end(), part.sum.terms.begin(), part.sum.terms.end());
      all.vars.insert(part.vars.begin(), part.vars.end());
      return true;
    });
    parts.push_back(std::move(all));
  }
  std::vector<Linear> sums;
  for (Part& part : parts) sums.push_back(std::move(part.sum));
  return sums;
}

// The sum by multiples of its variables, if it was seen to be so for all of their values.
std::optional<Expr> by_multiples(const Linear& sum, const Bounds& bounds) {
  std::vector<Var> vars;
  std::vector<int64_t> least, ends, values;
  Code::Slots slots;
  int64_t all = 1;
  bool known = true;
  Expr whole(0);
  for (const Term& term : sum.terms) {
    whole = whole + term.atom * Expr(term.factor);
    walk(term.atom, [&](const Expr& e) {
      const auto* v = as<VarRef>(e);
      if (!v || slots.contains(v->var.id())) return known;
      const auto range = bounds.find(v->var.id());
      known = known && range != bounds.end() && range->second.lo > -kMostTried && range->second.hi < kMostTried;
      if (!known) return false;
      slots.emplace(v->var.id(), vars.size());
      vars.push_back(v->var);
      least.push_back(range->second.lo);
      ends.push_back(range->second.hi + 1);
      all *= std::max<int64_t>(0, ends.back() - least.back());
      known = all > 0 && all <= kMostOfASubscript;
      return known;
    });
    if (!known) return std::nullopt;
  }
  const auto code = Code::of(whole, slots);
  if (!code) return std::nullopt;
  std::vector<int64_t> stack, steps;
  const int64_t first = code->run(least, stack);
  Expr multiples(first);
  for (size_t i = 0; i < vars.size(); ++i) {
    values = least;
    steps.push_back(least[i] + 1 < ends[i] ? (++values[i], code->run(values, stack) - first) : 0);
    multiples = multiples + (Expr(vars[i]) - Expr(least[i])) * Expr(steps[i]);
  }
  values = least;
  for (bool more = true; more;) {
    int64_t expected = first;
    for (size_t i = 0; i < vars.size(); ++i) expected += steps[i] * (values[i] - least[i]);
    if (code->run(values, stack) != expected) return std::nullopt;
    more = false;
    for (size_t i = 0; i < vars.size() && !more; ++i) {
      more = ++values[i] < ends[i];
      if (!more) values[i] = least[i];
    }
  }
  return multiples;
}

}  // namespace

Expr straightened(const Expr& at, const std::vector<OwnVariable>& own, const Bounds& of_launch) {
  int digits = 0;
  walk(at, [&](const Expr& e) {
    const auto* b = as<Binary>(e);
    digits += b && (b->op == BinOp::kFloorDiv || b->op == BinOp::kFloorMod) ? 1 : 0;
    return digits < 2;
  });
  if (digits < 2) return at;
  Bounds bounds = of_launch;
  for (const OwnVariable& v : own)
    if (const auto extent = v.extent ? as_int(v.extent) : std::nullopt) bounds[v.var.id()] = {0, *extent - 1};
  const Linear form = decompose(simplify(at, bounds));
  if (form.overflow) return at;
  Linear plain;
  plain.constant = form.constant;
  std::vector<Term> bent;
  for (const Term& term : form.terms) (as<VarRef>(term.atom) ? plain.terms : bent).push_back(term);
  Expr out = build(plain, 1);
  bool changed = false;
  for (const Linear& part : connected(bent)) {
    const auto straight = part.terms.size() > 1 ? by_multiples(part, bounds) : std::nullopt;
    changed = changed || straight;
    for (const Term& term : part.terms)
      if (!straight) out = out + term.atom * Expr(term.factor);
    if (straight) out = out + *straight;
  }
  return changed ? simplify(out, bounds) : at;
}

bool seen_apart(const Access& a, const Access& b, const LaunchIndices& launch, Apart apart, const Bounds& bounds,
                int64_t& work) {
  if (apart == Apart::kBlocks) return false;
  Trial trial(a, b, launch, bounds);
  if (!trial.prepare()) return false;
  work += trial.work();
  return trial.apart(apart == Apart::kThreads);
}

}  // namespace tw::lower
