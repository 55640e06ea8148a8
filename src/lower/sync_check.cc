// A walk in the order of the program that keeps what was touched since the last barrier on some path, and compares each
// access with all of that.

#include "src/lower/sync_check.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "src/ir/async_copies.h"
#include "src/ir/equal.h"
#include "src/ir/group_products.h"
#include "src/ir/interval.h"
#include "src/ir/requirement.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"
#include "src/lower/sync_access.h"
#include "src/lower/sync_cluster.h"
#include "src/lower/sync_forms.h"
#include "src/lower/sync_group.h"
#include "src/lower/sync_place.h"
#include "src/lower/sync_roles.h"
#include "src/lower/sync_turns.h"
#include "src/lower/sync_warp.h"
#include "src/lower/sync_ways.h"
#include "src/support/deep_stack.h"

namespace tw::lower {

using namespace ir;

namespace {

using Kind = SyncFinding::Kind;

constexpr int64_t kMostPairs = 1'000'000;                             // of accesses that are looked at
constexpr int64_t kPairsOfASubstitution = 30, kPairsOfAnAccess = 25;  // what else takes as long
constexpr int64_t kMostTurns = 8;  // iterations for which what is on its way is followed

std::string line_of(const Stmt& s) {
  const std::string text = to_string(s);
  return text.substr(0, std::min(text.find('\n'), size_t{160}));
}

// Those that a system says exactly.
std::vector<Expr> linear_requirements(const Program& program) {
  const auto is_size = [](const Term& t) { return as<VarRef>(t.atom) != nullptr; };
  std::vector<Expr> out;
  for (const Requirement& required : requirements_of(program)) {
    const auto* b = as<Binary>(required.test);
    if (!b || (b->op != BinOp::kLe && b->op != BinOp::kLt) || !b->a.type().is_index()) continue;
    const Linear form = decompose(simplify(b->a - b->b));
    if (!form.overflow && std::ranges::all_of(form.terms, is_size)) out.push_back(required.test);
  }
  return out;
}

class LaunchCheck {
 public:
  LaunchCheck(const std::unordered_map<uint64_t, Buffer>& declared, const std::vector<Expr>& required,
              int64_t most_rows, std::vector<SyncFinding>& findings)
      : declared_(declared), required_(required), most_rows_(most_rows), findings_(findings) {}

  void run(const Stmt& launch) {
    judge(launch);
    if (too_much())
      report({Kind::kUnjudged,
              {},
              "a launch",
              {},
              known_.rows() > most_rows_ ? "its subscripts and conditions take too long to be told apart"
                                         : "too much of it may be left by loops that need not run"});
  }

 private:
  void judge(const Stmt& launch) {
    Stmt body = launch;
    const For* cluster = nullptr;
    for (const For* f = as<For>(body); f && is_device_index(f->kind); f = as<For>(body)) {
      (is_block(f->kind) ? indices_.blocks : indices_.threads).push_back({f->var, f->extent});
      if (is_cluster(f->kind)) {
        cluster = f;
        indices_.in_cluster = as_int(f->extent).value_or(1);
      }
      if (is_thread(f->kind)) axis_[f->var.id()] = dimension_of(f->kind);
      if (const auto extent = as_int(f->extent)) bounds_[f->var.id()] = {0, *extent - 1};
      body = f->body;
    }
    ir::walk(body, [&](const Stmt& s) {
      if (const auto* st = as<Store>(s)) stored_.insert(st->buffer.id());
      if (const auto call = async_call(s))
        changing_.insert((call->op == AsyncOp::kLoad ? call->to : call->ring).buffer.id());
      if (const auto call = group_call(s); call && call->product)
        for (const GroupOperand* operand : {&call->left, &call->right}) operands_.insert(operand->at.buffer.id());
      if (const auto* a = as<Allocate>(s)) declared_.insert_or_assign(a->buffer.id(), a->buffer);
      return true;
    });
    changing_.insert(stored_.begin(), stored_.end());
    warp_ = warp_indices(indices_, axis_, kLanesOfWarp);
    group_ = warp_indices(indices_, axis_, kLanesOfGroup);
    for (const auto& those : {warp_, group_})
      if (those)
        for (const OwnVariable& v : those->ranges) bounds_[v.var.id()] = {0, *as_int(v.extent) - 1};
    for (const ClusterFault& f : cluster_faults(body, cluster, declared_, bounds_))
      report({Kind::kOnItsWay, f.buffer.empty() ? "cluster" : f.buffer, line_of(f.at), line_of(f.at), f.why});
    statement(body, {});
    if (too_much()) return;  // what is left is that of a walk which ended somewhere
    if (const std::string why = registers_.ended(); !why.empty()) report({Kind::kOnItsWay, {}, "wgmma.wait", {}, why});
    for (const Touched& a : open_)
      if (a.behind && a.writes) compare(a, a, Apart::kNothing);  // whether it is made at all
    if (indices_.blocks.empty()) return;
    between_blocks_ = true;
    open_.clear();
    statement(body, {});
    for (size_t i = 0; i < open_.size(); ++i)
      for (size_t j = i; j < open_.size() && !too_much(); ++j) compare(open_[i], open_[j], Apart::kBlocks);
  }

  bool too_much() const { return pairs_ > kMostPairs || known_.rows() > most_rows_; }

  void statement(const Stmt& s, const Place& place) {
    if (too_much()) return;
    match(
        s,
        [&](const Store& st) {
          for (const Expr& at : st.at) reads(at, s, place);
          if (st.pred) reads(st.pred, s, place);
          const Place under = static_cast<bool>(st.pred) && st.pred.type().is_scalar() ? place.under(st.pred) : place;
          later_ = st.arrival != Arrival::kNow;
          reads(st.value, s, under);
          touch(st.buffer, st.at, st.pred, true, s, place);
          later_ = false;
        },
        [&](const For& f) { loop(f, s, place); },
        [&](const If& i) {
          reads(i.cond, s, place);
          if (of_roles_.empty() && parts_roles(s)) return roles(i, s, place);
          if (ways_.has_sync(s) && of_roles_.empty()) expect_uniform(i.cond, place);
          if (ways_.has_product(s)) expect_same_in_warp(i.cond, place);
          if (ways_.has_group(s)) expect_same_in_group(i.cond, place);
          branch(i, place);
        },
        [&](const Seq& q) {
          for (const Stmt& one : q.stmts) statement(one, place);
        },
        [&](const Allocate& a) { statement(a.body, place); },
        [&](const LetStmt& l) {
          reads(l.value, s, place);
          statement(l.body, with_let(l.var, l.value, place));
        },
        [&](const Evaluate& e) {
          if (const auto call = async_call(s)) return of_turn(*call, s, place);
          if (is_of_warp(s)) return of_warp(*as<CallExtern>(e.value), s, place);
          if (const auto call = group_call(s)) return of_group(*call, s, place);
          if (as<CallExtern>(e.value)) report({Kind::kForeignCall, {}, line_of(s), {}, "nobody knows what it touches"});
        },
        [&](const Sync& sync) {
          if (!between_blocks_) pass(sync);
        });
  }

  void pass(const Sync& sync) {
    if (is_barrier(sync.op)) {
      for (const Touched& a : open_)
        if (!a.behind && a.unfenced) unfenced_.insert(a.buffer.id());
      std::erase_if(open_, [](const Touched& a) { return !a.behind; });
    }
    for (Touched& a : open_) {
      if (!a.behind || !!a.turn || a.of_group) continue;
      if (sync.op == SyncOp::kCommit) ++*a.behind;
      if (sync.op == SyncOp::kWait && *a.behind > sync.count) a.behind.reset();
    }
  }

  // Whose threads go on by turns that are theirs to count: sync_roles.h. The rest of it is as elsewhere.
  void roles(const If& i, const Stmt& s, const Place& place) {
    if (!between_blocks_)
      for (const RoleFault& f : role_faults(s, {declared_, arrivals_, indices_, changing_, bounds_, place}))
        report({Kind::kOnItsWay, f.buffer.empty() ? "roles" : f.buffer, line_of(f.at), line_of(f.at), f.why});
    if (ways_.has_group(s)) expect_same_in_group(i.cond, place);
    of_roles_ = buffers_of_roles(s);
    branch(i, place);
    of_roles_.clear();
  }

  void branch(const If& i, const Place& place) {
    if (const auto known = as_int(simplify(value(i.cond, place), bounds_))) {
      const Stmt& taken = *known != 0 ? i.then : i.otherwise;
      if (!!taken) statement(taken, place);
      return;
    }
    const std::vector<Touched> before = open_;
    const GroupRegisters registers = registers_;
    statement(i.then, place.under(i.cond));
    const GroupRegisters then = std::exchange(registers_, registers);
    otherwise(i, place, before);
    registers_.join(then);
  }

  void otherwise(const If& i, const Place& place, const std::vector<Touched>& before) {
    if (!(ways_.has_sync(i.then) || (!!i.otherwise && ways_.has_sync(i.otherwise))) || between_blocks_) {
      if (i.otherwise) statement(i.otherwise, place.under(logical_not(i.cond)));
      return;
    }
    std::vector<Touched> after = std::exchange(open_, before);
    if (i.otherwise) statement(i.otherwise, place.under(logical_not(i.cond)));
    join(std::move(after));
  }

  void loop(const For& f, const Stmt& s, const Place& place) {
    const GroupRegisters before = registers_;
    iterations(f, s, place);
    if (interval_of(simplify(value(f.extent, place), bounds_), bounds_).lo < 1) registers_.join(before);
  }

  void iterations(const For& f, const Stmt& s, const Place& place) {
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

  // Iteration n is thread n's modulo their number.
  void cooperative(const For& f, const Expr& extent, const Place& place) {
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
    statement(f.body, place.with_own(turn, extent).with(f.var, n).under(n < extent));
  }

  // The threads are in one iteration at a time.
  void together(const For& f, const Expr& extent, const Place& place) {
    const Interval times = interval_of(simplify(extent, bounds_), bounds_);
    if (times.hi <= 0) return;
    const std::vector<Touched> before = open_;
    const bool clears = ways_.passes_barrier(f.body, bounds_);
    const auto iteration = [&](const Expr& n, const Place& at) { statement(f.body, at.with(f.var, n)); };
    iteration(0, place.under(Expr(0) < extent));
    if (times.hi > 1) {
      const Var now(f.var.name()), earlier(f.var.name());
      for (const Var& v : {now, earlier})
        bounds_[v.id()] = {0, times.hi == Interval::kPosInf ? times.hi : times.hi - 1};
      const Place later = place.under(Expr(0) < Expr(now)).under(Expr(now) < extent);
      const Expr previous = clears ? Expr(now) - 1 : Expr(earlier);
      const Place ago = clears ? later : later.under(Expr(0) <= Expr(earlier)).under(Expr(earlier) < Expr(now));
      const std::vector<Touched> left = what_is_left([&] { iteration(previous, ago); });
      open_ = left;
      if (!clears) join(before);
      iteration(now, later);
      open_ = what_is_left([&] { iteration(extent - 1, place.under(Expr(1) < extent)); });
      if (!clears) join(left);
      if (times.lo < 2) join(what_is_left([&] { iteration(0, place.under(eq(extent, 1))); }));
    }
    if (!clears || times.lo < 1) join(before);
  }

  // The same where what an iteration begins arrives in a later one: after `lasts` more nothing of it is left, nor of
  // what was begun before the loop, so that the first ones are known, and every other one by as many before it.
  void in_turn(const For& f, const Expr& extent, const Place& place) {
    const Interval times = interval_of(simplify(extent, bounds_), bounds_);
    const auto iteration = [&](const Expr& n, const Place& at) { statement(f.body, at.with(f.var, n)); };
    if (times.hi <= kMostTurns && times.lo == times.hi) {
      for (int64_t n = 0; n < times.hi; ++n) iteration(n, place);
      return;
    }
    const Var now(f.var.name());
    bounds_[now.id()] = {0, times.hi == Interval::kPosInf ? times.hi : times.hi - 1};
    int64_t lasts = how_long([&](int64_t n) { iteration(Expr(now) + n, place); });
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

  // How many iterations after one everything of it is done with.
  template <class F>
  int64_t how_long(const F& iteration) {
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
      if (a.behind && quiet_ == 0)
        report({Kind::kOnItsWay, a.buffer.name(), line, line, "no wait is seen to cover it"});
    }
    return std::max<int64_t>(lasts, 1);
  }

  // The access where the extent is that; nothing where it is known to be another there.
  std::optional<Touched> where_equal(Touched access, const Expr& extent, int64_t n) {
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

  template <class F>
  std::vector<Touched> what_is_left(const F& f) {
    std::vector<Touched> outside = std::exchange(open_, {});
    turns_.forget();
    ++quiet_;
    f();
    --quiet_;
    return std::exchange(open_, std::move(outside));
  }

  // What was there already is not there twice, or nested loops would double it each time.
  void join(std::vector<Touched> others) {
    for (Touched& a : others)
      if (std::ranges::none_of(open_, [&](const Touched& b) { return a.form == b.form && alike(a, b); }))
        open_.push_back(std::move(a));
  }

  // But for where and when they are.
  bool alike(const Touched& a, const Touched& b) const {
    return a.writes == b.writes && a.behind == b.behind && a.waits == b.waits && a.of_group == b.of_group &&
           a.unfenced == b.unfenced && is_of(a, {b.turn, b.ring});
  }

  // The same access, under the first of the other's conditions or all of them.
  bool says_no_less(const Touched& b, const Touched& a) const {
    return b.number == a.number && alike(a, b) && b.conditions.size() <= a.conditions.size() &&
           std::equal(b.conditions.begin(), b.conditions.end(), a.conditions.begin(),
                      [](const Expr& x, const Expr& y) { return equal(x, y); });
  }

  // ---- accesses

  void reads(const Expr& e, const Stmt& s, const Place& place) {
    ir::walk(e, [&](const Expr& x) {
      if (const auto* l = as<Load>(x)) touch(l->buffer, l->at, l->pred, false, s, place);
      if (const auto* c = as<CallExtern>(x); c && !c->pure)
        report({Kind::kForeignCall, {}, line_of(s), {}, "nobody knows what it touches"});
      if (const auto* sel = as<Select>(x)) {
        reads(sel->cond, s, place);
        reads(sel->yes, s, where(sel->cond, place));
        reads(sel->no, s, where(logical_not(sel->cond), place));
        return false;
      }
      if (const auto* let = as<Let>(x)) {
        reads(let->value, s, place);
        reads(let->body, s, with_let(let->var, let->value, place));
        return false;
      }
      return true;
    });
  }

  Place with_let(const Var& var, const Expr& e, const Place& place) const {
    return has_load(e) ? place.with_own(var, {}) : place.with(var, value(e, place));
  }

  // Where the condition holds, of one with lanes in one of them.
  Place where(const Expr& condition, const Place& place) const {
    if (condition.type().is_scalar()) return place.under(condition);
    return place.with_own(lane_, Expr(condition.type().lanes)).under(lane_of(value(condition, place), lane_));
  }

  Expr value(const Expr& e, const Place& place) const { return place.values.empty() ? e : substitute(e, place.values); }

  Access with_conditions(const Place& place) const {
    Access out;
    out.own = place.own;
    out.conditions = required_;
    for (const Expr& condition : place.conditions) out.conditions.push_back(value(condition, place));
    return out;
  }

  void touch(const Buffer& buffer, const std::vector<Expr>& at, const Expr& pred, bool writes, const Stmt& s,
             const Place& place) {
    if (buffer.scope() == Scope::kLocal) touch_registers(buffer, s);
    if (!changing_.contains(buffer.id()) || of_roles_.contains(buffer.id())) return;
    Touched access{with_conditions(place), {}, {}, 0};
    if (later_) access.behind = 0;
    access.of_group = of_group_;
    access.unfenced = writes && !turn_.number && operands_.contains(buffer.id());
    access.turn = turn_.number;
    access.ring = turn_.ring;
    access.waits = turn_.waits;
    access.buffer = declared_.at(buffer.id());
    access.writes = writes;
    access.statement = s;
    const Scope scope = access.buffer.scope();
    if (scope == Scope::kLocal || (between_blocks_ && scope == Scope::kShared)) return;
    int lanes = 1;
    for (const Expr& subscript : at) {
      lanes = std::max<int>(lanes, subscript.type().lanes);
      access.at.push_back(lane_of(value(subscript, place), lane_));
    }
    const auto is_lane = [&](const OwnVariable& v) { return v.var == lane_; };
    if (lanes > 1 && std::ranges::none_of(access.own, is_lane)) access.own.push_back({lane_, Expr(lanes)});
    if (pred) access.conditions.push_back(lane_of(value(pred, place), lane_));
    AccessForms::reduce(access);
    access.form = forms_.of(access, bounds_);
    access.number = ++met_;
    pairs_ += static_cast<int64_t>(open_.size()) + kPairsOfAnAccess;
    const bool known =
        std::ranges::any_of(open_, [&](const Touched& a) { return a.form == access.form && alike(a, access); });
    if (!between_blocks_ && quiet_ == 0) {
      if (writes && !known) compare(access, access, Apart::kThreads);
      for (const Touched& earlier : open_)
        if (!known || earlier.behind) compare(earlier, access, earlier.behind ? Apart::kNothing : Apart::kThreads);
    }
    if (!known) open_.push_back(std::move(access));
  }

  void compare(const Touched& a, const Touched& b, Apart apart) {
    if (a.buffer != b.buffer || !(a.writes || b.writes)) return;
    if (b.waits && !!a.turn) return;  // what it waits for
    const Kind kind = apart == Apart::kNothing ? Kind::kOnItsWay
                      : a.writes && b.writes   ? Kind::kWriteAfterWrite
                      : a.writes               ? Kind::kReadAfterWrite
                                               : Kind::kWriteAfterRead;
    const std::tuple both(kind, a.statement.get(), b.statement.get(), a.buffer.id());
    if (reported_.contains(both)) return;
    const Verdict& verdict = known_.of(a, b, indices_, apart, changing_);
    if (verdict.apart()) return;
    reported_.insert(both);
    report({kind, a.buffer.name(), line_of(a.statement), line_of(b.statement), verdict.why, verdict.certain});
  }

  // ---- turns of barriers that copies have

  // A wait for a turn is a read of its barrier, by all, and what begins the next one there a write: a barrier of the
  // block stands between.
  void of_turn(const AsyncCall& call, const Stmt& s, const Place& place) {
    if (between_blocks_) return;
    if (!call.turn) {
      turns_.makes_or_ends(call);
      arrivals_[call.ring.buffer.id()] = call.arrivals;
      const Var each("barrier");
      return touch(call.ring.buffer, {call.ring.at[0] + Expr(each)}, {}, true, s,
                   place.with_own(each, Expr(call.slots)));
    }
    if (!of_roles_.empty()) {
      if (call.op == AsyncOp::kLoad) expect_only_boxes(call, s);
      return touch(call.ring.buffer, {call.ring.at[0] + floormod(call.turn, Expr(call.slots))}, {}, false, s, place);
    }
    if (call.op == AsyncOp::kArrive)
      return on_its_way(call, s, "nobody waits for those who arrive in a role of his own");
    turn_ = {simplify(value(call.turn, place), bounds_), call.ring.buffer.id(), call.op == AsyncOp::kWait};
    on_its_way(call, s, turns_.not_made(turn_));
    if (call.op == AsyncOp::kExpect) {
      on_its_way(call, s, turns_.brings_all(turn_));
      on_its_way(call, s, turns_.begins(turn_, call.bytes, bounds_));
    }
    if (call.op == AsyncOp::kLoad) {
      box(call, s, place);
    } else {
      touch(call.ring.buffer, {call.ring.at[0] + floormod(turn_.number, Expr(call.slots))}, {}, !turn_.waits, s, place);
    }
    if (turn_.waits) is_over(call, s);
    turn_ = {};
  }

  void on_its_way(const AsyncCall& call, const Stmt& s, const std::string& why) {
    if (!why.empty()) report({Kind::kOnItsWay, call.ring.buffer.name(), line_of(s), line_of(s), why});
  }

  bool is_of(const Touched& a, const TurnOf& turn) const {
    return !a.turn ? !turn.number : !!turn.number && a.ring == turn.ring && equal(a.turn, turn.number);
  }

  // All wait, and see what came with the turn.
  void is_over(const AsyncCall& call, const Stmt& s) {
    on_its_way(call, s, turns_.brings_all(turn_));
    const size_t came = std::erase_if(open_, [&](const Touched& a) { return a.behind && is_of(a, turn_); });
    if (came == 0 && quiet_ == 0) on_its_way(call, s, "nothing is seen to come with turn " + to_string(turn_.number));
  }

  void expect_only_boxes(const AsyncCall& call, const Stmt& s) {
    if (changing_.contains(call.from.buffer.id()))
      report(
          {Kind::kOnItsWay, call.from.buffer.name(), line_of(s), line_of(s), "the launch writes what the box reads"});
    if (stored_.contains(call.to.buffer.id()))
      report({Kind::kOnItsWay, call.to.buffer.name(), line_of(s), line_of(s),
              "threads store there too, without a fence between the two ways to memory"});
  }

  void box(const AsyncCall& call, const Stmt& s, const Place& place) {
    expect_only_boxes(call, s);
    on_its_way(call, s, turns_.brings(turn_, bytes_in_block(call, indices_)));
    std::vector<Expr> at = call.to.at;
    Place of_box = place;
    const std::vector<Expr>& shape = declared_.at(call.to.buffer.id()).shape();
    int64_t elements = elements_of(call);  // of the dimensions that are left
    for (size_t d = at.size(); d-- > 0 && elements > 1;) {
      const int64_t extent = at.size() == 1 ? elements : as_int(shape[d]).value_or(elements);
      const Var each("e" + std::to_string(d));
      of_box = of_box.with_own(each, Expr(extent));
      at[d] = at[d] + Expr(each);
      elements /= extent;
    }
    later_ = true;
    touch(call.to.buffer, at, {}, true, s, of_box);
    later_ = false;
  }

  void expect_uniform(const Expr& e, const Place& place) {
    if (between_blocks_) return;
    expect_same(e, place, {}, indices_, Kind::kDivergentBarrier, "threads of a block differ in it");
  }

  // `threads`: their indices in terms of those of the launch that is asked of.
  void expect_same(const Expr& e, const Place& place, const Substitution& threads, const LaunchIndices& indices,
                   Kind kind, const std::string& differ) {
    const auto in_terms = [&](const Expr& of) { return threads.empty() ? of : substitute(of, threads); };
    const Expr seen = simplify(in_terms(value(e, place)), bounds_);
    std::unordered_set<uint64_t> used = used_vars(seen);
    const auto differs = [&](const std::vector<OwnVariable>& variables) {
      return std::ranges::any_of(variables, [&](const OwnVariable& v) { return used.contains(v.var.id()); });
    };
    std::string why;
    if (differs(indices.threads)) why = differ;
    if (differs(place.own)) why = "each thread has a value of its own";
    ir::walk(seen, [&](const Expr& x) {
      const auto* l = as<Load>(x);
      if (l && changing_.contains(l->buffer.id())) why = "it reads " + l->buffer.name() + ", which the launch writes";
      return why.empty();
    });
    if (why.empty()) return;
    Access here = with_conditions(place);
    for (Expr& condition : here.conditions) condition = in_terms(condition);
    if (e.type().is_bool() && same_for_all(seen, here, indices, changing_)) return;
    report({kind, {}, to_string(e), {}, why});
  }

  // ---- products of a warp

  // Where registers are: the same place for all lanes. What they hold is each thread's own. Of a load each lane reads a
  // row of shared memory.
  void of_warp(const CallExtern& call, const Stmt& s, const Place& place) {
    for (const Expr& arg : call.args) {
      const auto* a = as<Address>(arg);
      if (!a) {
        lane_of_warp(arg, s, place);
      } else if (a->buffer.scope() == Scope::kShared) {
        std::vector<Expr> at = a->at;
        at.back() = ramp(at.back(), Expr(1), kMatrixRowBytes / a->buffer.element().bytes());
        touch(a->buffer, at, {}, false, s, place);
      } else {
        touch_registers(a->buffer, s);
      }
    }
    if (between_blocks_) return;
    if (!warp_) report({Kind::kDivergentProduct, {}, line_of(s), {}, "the threads of a block are no whole warps"});
    for (const Expr& arg : call.args)
      if (const auto* a = as<Address>(arg))
        for (const Expr& at : a->at) {
          reads(at, s, place);
          if (a->buffer.scope() == Scope::kLocal) expect_same_in_warp(at, place);
        }
  }

  // Whose element a lane gets.
  void lane_of_warp(const Expr& lane, const Stmt& s, const Place& place) {
    reads(lane, s, place);
    if (between_blocks_) return;
    Access here = with_conditions(place);
    here.own.insert(here.own.end(), indices_.threads.begin(), indices_.threads.end());
    const Expr seen = simplify(value(lane, place), bounds_);
    const Interval range = interval_of(seen, bounds_);
    if ((range.lo >= 0 && range.hi < kLanesOfWarp) || is_within(here, seen, Expr(kLanesOfWarp))) return;
    report({Kind::kDivergentProduct, {}, line_of(s), {}, to_string(seen) + " is not seen to be a lane, 0 to 31"});
  }

  void expect_same_in_warp(const Expr& e, const Place& place) {
    expect_same_among(warp_, e, place, "lanes of a warp differ in it");
  }
  void expect_same_in_group(const Expr& e, const Place& place) {
    expect_same_among(group_, e, place, "threads of four warps differ in it");
  }

  // A loop around a product has the same iterations for all lanes of a warp, who are in one at a time: its variable is
  // none of their own.
  void expect_same_among(const std::optional<WarpIndices>& those, const Expr& e, const Place& place,
                         const std::string& differ) {
    if (between_blocks_) return;
    Place here = place;
    std::erase_if(here.own, [&](const OwnVariable& v) { return of_warp_.contains(v.var.id()); });
    if (!those) return expect_same(e, here, {}, indices_, Kind::kDivergentProduct, "threads of a block differ in it");
    expect_same(e, here, those->threads, those->indices, Kind::kDivergentProduct, differ);
  }

  // ---- products of four warps

  void touch_registers(const Buffer& buffer, const Stmt& s) {
    if (between_blocks_) return;
    const std::string why = registers_.touched(buffer);
    if (!why.empty()) report({Kind::kOnItsWay, buffer.name(), line_of(s), line_of(s), why});
  }

  void of_group(const GroupCall& call, const Stmt& s, const Place& place) {
    if (between_blocks_) return;
    switch (call.op) {
      case GroupOp::kFence:
        return registers_.fence();
      case GroupOp::kAsyncFence:
        for (Touched& a : open_) a.unfenced = a.unfenced && a.behind;
        return;
      case GroupOp::kCommit:
        registers_.commit();
        for (Touched& a : open_)
          if (a.of_group && a.behind) ++*a.behind;
        return;
      case GroupOp::kWait:
        registers_.wait(call.count);
        for (Touched& a : open_)
          if (a.of_group && a.behind && *a.behind > call.count) a.behind.reset();
        return;
      case GroupOp::kGiveRegisters:
      case GroupOp::kTakeRegisters:
        if (!group_)
          report({Kind::kDivergentProduct,
                  {},
                  line_of(s),
                  {},
                  "the threads of a block are no whole groups of four warps"});
        return;
      case GroupOp::kProduct:
        break;
    }
    if (!group_)
      report({Kind::kDivergentProduct, {}, line_of(s), {}, "the threads of a block are no whole groups of four warps"});
    if (const std::string why = registers_.multiplied(call.sums.buffer); !why.empty())
      report({Kind::kOnItsWay, call.sums.buffer.name(), line_of(s), line_of(s), why});
    for (const Address* address : {&call.sums, &call.left.at, &call.right.at})
      for (const Expr& at : address->at) {
        reads(at, s, place);
        expect_same_in_group(at, place);
      }
    operand(call, call.left, Fragment::kLeft, s, place);
    operand(call, call.right, Fragment::kRight, s, place);
  }

  // Whole lines, within which elements are exchanged.
  void operand(const GroupCall& call, const GroupOperand& of, Fragment which, const Stmt& s, const Place& place) {
    const Buffer& buffer = of.at.buffer;
    if (unfenced_.contains(buffer.id()))
      report({Kind::kOnItsWay, buffer.name(), line_of(s), line_of(s),
              "threads store there, and no fence.async stands between that and the barrier"});
    const int64_t elements = of.line / call.product->operand.bytes();
    const GroupLines known = lines_of(*call.product, of, which);
    const Var line("line"), each("e"), panel("panel");
    Place lines = place.with_own(line, Expr(known.count)).with_own(each, Expr(elements));
    if (known.panels > 1) lines = lines.with_own(panel, Expr(known.panels));
    std::vector<Expr> at = of.at.at;
    if (at.size() == 1) {
      Expr first = floordiv(at[0], Expr(elements)) + Expr(line);
      if (known.panels > 1) first = first + Expr(panel) * Expr(of.apart);
      at[0] = first * Expr(elements) + Expr(each);
    } else {
      at.back() = Expr(each);
      at[at.size() - 2] = at[at.size() - 2] + Expr(line);
      if (known.panels > 1) {
        Expr& beside = at[dimension_of_panels(buffer.shape(), of.apart)];
        beside = beside + Expr(panel);
      }
    }
    later_ = of_group_ = true;
    touch(buffer, at, {}, false, s, lines);
    later_ = of_group_ = false;
  }

  void report(SyncFinding finding) {
    const auto same = [&](const SyncFinding& f) {
      return f.kind == finding.kind && f.buffer == finding.buffer && f.first == finding.first &&
             f.second == finding.second;
    };
    if (std::ranges::none_of(findings_, same)) findings_.push_back(std::move(finding));
  }

  std::unordered_map<uint64_t, Buffer> declared_;
  const std::vector<Expr>& required_;  // of sizes, or the kernel does not run
  const int64_t most_rows_;
  std::vector<SyncFinding>& findings_;
  LaunchIndices indices_;
  std::unordered_map<uint64_t, int> axis_;  // of a thread's index: 0 for x
  std::optional<WarpIndices> warp_, group_;
  std::unordered_set<uint64_t> of_warp_;  // variables of loops around products
  Bounds bounds_;
  std::unordered_set<uint64_t> changing_;  // written by the launch
  std::unordered_set<uint64_t> stored_;    // by its threads
  const Var lane_{"lane"};
  AccessForms forms_;
  Verdicts known_;
  std::vector<Touched> open_;  // since the last barrier, on some path
  bool later_ = false;         // what is touched is on its way
  bool of_group_ = false;      // by a product
  GroupRegisters registers_;
  std::unordered_set<uint64_t> operands_;  // of products
  std::unordered_set<uint64_t> unfenced_;  // operands to which threads have stored before a barrier without a fence
  TurnOf turn_;                            // that what is touched belongs to
  BarrierTurns turns_;
  std::unordered_map<uint64_t, int64_t> arrivals_;  // that a ring's barriers count
  std::unordered_set<uint64_t> of_roles_;           // what boxes of roles come to, where these are parted
  std::set<std::tuple<Kind, const StmtNode*, const StmtNode*, uint64_t>> reported_;  // pairs that have a finding
  int64_t met_ = 0, pairs_ = 0;
  bool between_blocks_ = false;  // then all accesses of the launch, whatever barriers there are
  int quiet_ = 0;
  SyncWays ways_;
};

}  // namespace

std::string to_string(const SyncFinding& f) {
  static constexpr std::string_view kKinds[] = {"read after write",  "write after read", "write after write",
                                                "divergent barrier", "foreign call",     "divergent product",
                                                "on its way",        "not judged"};
  std::string out(kKinds[static_cast<size_t>(f.kind)]);
  out += ": " + (f.buffer.empty() ? f.first : f.buffer) + ", " + f.why;
  if (f.buffer.empty()) return out;
  return out + "\n    " + f.first + (f.second == f.first ? "" : "\n    " + f.second);
}

std::vector<SyncFinding> sync_check(const Program& program, int64_t most_rows) {
  return support::with_deep_stack([&] {
    std::vector<SyncFinding> findings;
    std::unordered_map<uint64_t, Buffer> declared;
    for (const Param& p : program.params) declared.insert_or_assign(p.buffer.id(), p.buffer);
    const std::vector<Expr> required = linear_requirements(program);
    walk(program.body, [&](const Stmt& s) {
      if (const auto* a = as<Allocate>(s)) declared.insert_or_assign(a->buffer.id(), a->buffer);
      const auto* f = as<For>(s);
      if (!f || !is_device_index(f->kind)) return true;
      LaunchCheck(declared, required, most_rows, findings).run(s);
      return false;
    });
    return findings;
  });
}

}  // namespace tw::lower
