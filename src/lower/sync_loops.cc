// Loops in the walk of sync_check: which iterations stand for all, and what of the others is left.

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/lower/sync_launch.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int64_t kPairsOfASubstitution = 30;  // what it takes
constexpr int64_t kMostTurns = 8;              // iterations for which what is on its way is followed

}  // namespace

void LaunchCheck::loop(const For& f, const Stmt& s, const Place& place) {
  const GroupRegisters before = registers_;
  iterations(f, s, place);
  if (interval_of(simplify(value(f.extent, place), bounds_), bounds_).lo < 1) registers_.join(before);
}

void LaunchCheck::iterations(const For& f, const Stmt& s, const Place& place) {
  reads(f.extent, s, place);
  const Expr extent = value(f.extent, place);
  if (ways_.has_group(s)) {
    expect_same_in_group(f.extent, place);
    if (f.kind == ForKind::kCooperative)
      report({Kind::kDivergentProduct, {}, line_of(s), {}, "the threads share its iterations"});
    of_warp_.insert(f.var.id());
  }
  if (ways_.has_product(s)) {
    expect_same_in_warp(f.extent, place);
    if (f.kind == ForKind::kCooperative)
      report({Kind::kDivergentProduct, {}, line_of(s), {}, "the threads share its iterations"});
    of_warp_.insert(f.var.id());
  }
  const bool turns = ways_.has_turns(s) && f.kind != ForKind::kCooperative;
  if ((!ways_.has_sync(s) && !turns) || between_blocks_ || !of_roles_.empty()) {
    if (const auto n = as_int(simplify(extent, bounds_))) bounds_[f.var.id()] = {0, *n - 1};
    if (f.kind == ForKind::kCooperative) return cooperative(f, extent, place);
    if (ways_.has_group(f.body)) statement(f.body, place.with_own(f.var, extent));  // registers of the one before
    return statement(f.body, place.with_own(f.var, extent));
  }
  expect_uniform(f.extent, place);
  if (f.kind == ForKind::kCooperative)
    report({Kind::kDivergentBarrier, {}, line_of(s), {}, "the threads share its iterations"});
  if (ways_.has_copies(f.body)) return in_turn(f, extent, place);
  together(f, extent, place);
}

void LaunchCheck::cooperative(const For& f, const Expr& extent, const Place& place) {
  Expr thread = 0, threads = 1;
  std::vector<const OwnVariable*> by_axis(indices_.threads.size());
  for (size_t i = 0; i < by_axis.size(); ++i) by_axis[i] = &indices_.threads[i];
  std::ranges::sort(by_axis, {}, [&](const OwnVariable* v) { return axis_.at(v->var.id()); });
  for (const OwnVariable* v : by_axis) {
    thread = thread + Expr(v->var) * threads;
    threads = threads * v->extent;
  }
  const Var turn(f.var.name());
  const Expr n = simplify(Expr(turn) * threads + thread, bounds_);
  const Var mine(f.var.name());  // whose digits are seen to be its own, which those of the sum may not be
  if (const auto range = bounds_.find(f.var.id()); range != bounds_.end()) bounds_[mine.id()] = range->second;
  statement(f.body, place.with_own(turn, extent).with_own(mine, extent).with(f.var, mine).under(eq(mine, n)));
}

template <class F>
std::vector<Touched> LaunchCheck::what_is_left(const F& f) {
  std::vector<Touched> outside = std::exchange(open_, {});
  turns_.forget();
  ++quiet_;
  f();
  --quiet_;
  return std::exchange(open_, std::move(outside));
}

void LaunchCheck::together(const For& f, const Expr& extent, const Place& place) {
  const Interval times = interval_of(simplify(extent, bounds_), bounds_);
  if (times.hi <= 0) return;
  const std::vector<Touched> before = open_;
  const bool clears = ways_.passes_barrier(f.body, bounds_);
  const int64_t begin = met_;
  const auto iteration = [&](const Expr& n, const Place& at) { statement(f.body, at.with(f.var, n)); };
  iteration(0, place.under(Expr(0) < extent));
  std::vector<Touched> still;  // of what was before it, behind all barriers
  std::ranges::copy_if(open_, std::back_inserter(still),
                       [&](const Touched& a) { return clears && a.over && a.number <= begin; });
  if (times.hi > 1) {
    const Var now(f.var.name()), earlier(f.var.name());
    for (const Var& v : {now, earlier}) bounds_[v.id()] = {0, times.hi == Interval::kPosInf ? times.hi : times.hi - 1};
    const Place later = place.under(Expr(0) < Expr(now)).under(Expr(now) < extent);
    const Expr previous = clears ? Expr(now) - 1 : Expr(earlier);
    const Place ago = clears ? later : later.under(Expr(0) <= Expr(earlier)).under(Expr(earlier) < Expr(now));
    const std::vector<Touched> left = what_is_left([&] { iteration(previous, ago); });
    open_ = left;
    join(clears ? still : before);
    iteration(now, later);
    open_ = what_is_left([&] { iteration(extent - 1, place.under(Expr(1) < extent)); });
    join(clears ? still : left);
    if (times.lo < 2) join(what_is_left([&] { iteration(0, place.under(eq(extent, 1))); }));
  }
  if (!clears || times.lo < 1) join(before);
}

template <class F>
int64_t LaunchCheck::how_long(const F& iteration) {
  int64_t lasts = 0;
  const BarrierTurns begun = turns_;
  const std::vector<Touched> left = what_is_left([&] {
    iteration(0);
    const int64_t first = met_;
    const auto of_first = [&](const Touched& a) { return a.number <= first; };
    while (++lasts < kMostTurns && std::ranges::any_of(open_, of_first)) iteration(lasts);
    --lasts;
    std::erase_if(open_, [&](const Touched& a) { return !of_first(a); });
  });
  turns_ = begun;  // those of what stands before the loop
  if (too_much()) return 1;
  for (const Touched& a : left) {
    const std::string line = line_of(a.statement);
    if (a.behind && quiet_ == 0) report({Kind::kOnItsWay, a.buffer.name(), line, line, "no wait is seen to cover it"});
  }
  return std::max<int64_t>(lasts, 1);
}

void LaunchCheck::in_turn(const For& f, const Expr& extent, const Place& place) {
  const Interval times = interval_of(simplify(extent, bounds_), bounds_);
  const auto iteration = [&](const Expr& n, const Place& at) { statement(f.body, at.with(f.var, n)); };
  if (times.hi <= kMostTurns && times.lo == times.hi) {
    for (int64_t n = 0; n < times.hi; ++n) iteration(n, place);
    return;
  }
  const Var now(f.var.name());
  bounds_[now.id()] = {0, times.hi == Interval::kPosInf ? times.hi : times.hi - 1};
  // Of a few each is looked at: their turns may be numbers, where the iteration is known by its conditions.
  int64_t lasts = times.hi <= kMostTurns ? times.hi : how_long([&](int64_t n) { iteration(Expr(now) + n, place); });
  const auto last_ones = [&](const Expr& end, const Place& at) {
    for (int64_t n = lasts; n > 0; --n) iteration(end - n, at);
  };
  std::vector<Touched> ends;
  const auto may_end = [&](int64_t n) {
    if (times.lo > n || times.hi < n) return;
    for (const Touched& a : open_)
      if (auto then = where_equal(a, extent, n)) ends.push_back(*std::move(then));
  };
  const int64_t begin = met_;
  const auto has_one_before = [&] {  // that is still on its way
    return std::ranges::any_of(open_, [&](const Touched& a) { return a.behind && a.number <= begin; });
  };
  may_end(0);
  for (int64_t n = 0; n < times.hi && (n < lasts || (n < kMostTurns && has_one_before())); ++n) {
    iteration(n, place.under(Expr(n) < extent));
    may_end(n + 1);
    lasts = std::max(lasts, n + 1);
  }
  std::vector<Touched> before;
  std::ranges::copy_if(open_, std::back_inserter(before), [&](const Touched& a) { return a.number <= begin; });
  if (times.hi > lasts) {
    const Place later = place.under(Expr(lasts) <= Expr(now)).under(Expr(now) < extent);
    open_ = what_is_left([&] { last_ones(now, later); });
    join(before);
    iteration(now, later);
    open_ = what_is_left([&] { last_ones(extent, place.under(Expr(lasts) < extent)); });
    join(before);
  }
  std::erase_if(ends, [&](const Touched& a) {
    return std::ranges::any_of(open_, [&](const Touched& b) { return says_no_less(b, a); });
  });
  join(std::move(ends));
  turns_.forget();
}

std::optional<Touched> LaunchCheck::where_equal(Touched access, const Expr& extent, int64_t n) {
  const Expr condition = eq(extent, n);
  Substitution there;
  pairs_ += kPairsOfASubstitution * static_cast<int64_t>(access.conditions.size());
  if (const auto* size = as<VarRef>(extent)) there.emplace(size->var.id(), int_imm(extent.type(), n));
  for (const Expr& known : access.conditions) {
    if (equal(known, condition)) return access;
    if (const auto holds = as_int(simplify(substitute(known, there), bounds_)); holds && *holds == 0)
      return std::nullopt;
  }
  access.conditions.push_back(condition);
  access.form = forms_.of(access, bounds_);
  return access;
}

void LaunchCheck::join(std::vector<Touched> others) {
  for (Touched& a : others)
    if (std::ranges::none_of(open_, [&](const Touched& b) { return a.form == b.form && alike(a, b); }))
      open_.push_back(std::move(a));
}

bool LaunchCheck::alike(const Touched& a, const Touched& b) const {
  return a.writes == b.writes && a.behind == b.behind && a.waits == b.waits && a.of_group == b.of_group &&
         a.unfenced == b.unfenced && a.over == b.over && is_of(a, {b.turn, b.ring});
}

bool LaunchCheck::says_no_less(const Touched& b, const Touched& a) const {
  return b.number == a.number && alike(a, b) && b.conditions.size() <= a.conditions.size() &&
         std::equal(b.conditions.begin(), b.conditions.end(), a.conditions.begin(),
                    [](const Expr& x, const Expr& y) { return equal(x, y); });
}

}  // namespace tw::lower
