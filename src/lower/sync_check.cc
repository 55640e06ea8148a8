// A walk in the order of the program that keeps what was touched since the last barrier on some path, and compares each
// access with all of that.

#include "src/lower/sync_check.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "src/ir/interval.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/sync_access.h"
#include "src/lower/sync_forms.h"
#include "src/support/deep_stack.h"

namespace tw::lower {

using namespace ir;

namespace {

using Kind = SyncFinding::Kind;

std::string line_of(const Stmt& s) {
  const std::string text = to_string(s);
  return text.substr(0, std::min(text.find('\n'), size_t{160}));
}

// The value of one lane.
Expr lane_of(const Expr& e, const Expr& lane) {
  if (e.type().is_scalar()) return e;
  if (const auto* r = as<Ramp>(e)) return r->base + r->stride * cast(r->base.type(), lane);
  if (const auto* b = as<Broadcast>(e)) return b->value;
  if (const auto* n = as<Not>(e)) return logical_not(lane_of(n->a, lane));
  if (const auto* b = as<Binary>(e)) return binary(b->op, lane_of(b->a, lane), lane_of(b->b, lane));
  if (const auto* s = as<Select>(e)) return select(lane_of(s->cond, lane), lane_of(s->yes, lane), lane_of(s->no, lane));
  return Var("unknown", e.type().element());
}

// What holds where the walk is.
struct Place {
  std::vector<OwnVariable> own;  // of the thread: its loops, and lets of what it has read
  std::vector<Expr> conditions;
  Substitution values;  // of lets, and of loops whose iteration is known

  Place under(Expr condition) const {
    Place out = *this;
    out.conditions.push_back(std::move(condition));
    return out;
  }
  Place with(const Var& var, Expr value) const {
    Place out = *this;
    out.values.insert_or_assign(var.id(), std::move(value));
    return out;
  }
  Place with_own(const Var& var, Expr extent) const {
    Place out = *this;
    out.own.push_back({var, std::move(extent)});
    return out;
  }
};

struct Touched : Access {
  AccessForm form;
};

class LaunchCheck {
 public:
  LaunchCheck(const std::unordered_map<uint64_t, Buffer>& declared, std::vector<SyncFinding>& findings)
      : declared_(declared), findings_(findings) {}

  void run(const Stmt& launch) {
    Stmt body = launch;
    for (const For* f = as<For>(body); f && is_device_index(f->kind); f = as<For>(body)) {
      (is_block(f->kind) ? indices_.blocks : indices_.threads).push_back({f->var, f->extent});
      if (is_thread(f->kind)) axis_[f->var.id()] = static_cast<int>(f->kind) - static_cast<int>(ForKind::kThreadX);
      if (const auto extent = as_int(f->extent)) bounds_[f->var.id()] = {0, *extent - 1};
      body = f->body;
    }
    ir::walk(body, [&](const Stmt& s) {
      if (const auto* st = as<Store>(s)) changing_.insert(st->buffer.id());
      if (const auto* a = as<Allocate>(s)) declared_.insert_or_assign(a->buffer.id(), a->buffer);
      return true;
    });
    statement(body, {});
    if (indices_.blocks.empty()) return;
    between_blocks_ = true;
    open_.clear();
    statement(body, {});
    for (size_t i = 0; i < open_.size(); ++i)
      for (size_t j = i; j < open_.size(); ++j) compare(open_[i], open_[j], Apart::kBlocks);
  }

 private:
  void statement(const Stmt& s, const Place& place) {
    match(
        s,
        [&](const Store& st) {
          for (const Expr& at : st.at) reads(at, s, place);
          if (st.pred) reads(st.pred, s, place);
          const Place under = static_cast<bool>(st.pred) && st.pred.type().is_scalar() ? place.under(st.pred) : place;
          reads(st.value, s, under);
          touch(st.buffer, st.at, st.pred, true, s, place);
        },
        [&](const For& f) { loop(f, s, place); },
        [&](const If& i) {
          reads(i.cond, s, place);
          if (has_barrier(s)) expect_uniform(i.cond, place);
          branch(i, place);
        },
        [&](const Seq& q) {
          for (const Stmt& one : q.stmts) statement(one, place);
        },
        [&](const Allocate& a) { statement(a.body, place); },
        [&](const LetStmt& l) {
          reads(l.value, s, place);
          statement(l.body, has_load(l.value) ? place.with_own(l.var, {}) : place.with(l.var, value(l.value, place)));
        },
        [&](const Evaluate& e) {
          if (as<CallExtern>(e.value)) report({Kind::kForeignCall, {}, line_of(s), {}, "nobody knows what it touches"});
        },
        [&](const Sync&) {
          if (!between_blocks_) open_.clear();
        });
  }

  void branch(const If& i, const Place& place) {
    const std::vector<Touched> before = open_;
    statement(i.then, place.under(i.cond));
    const bool barrier = has_barrier(i.then) || (static_cast<bool>(i.otherwise) && has_barrier(i.otherwise));
    if (!barrier || between_blocks_) {
      if (i.otherwise) statement(i.otherwise, place.under(logical_not(i.cond)));
      return;
    }
    std::vector<Touched> after = std::exchange(open_, before);
    if (i.otherwise) statement(i.otherwise, place.under(logical_not(i.cond)));
    join(std::move(after));
  }

  void loop(const For& f, const Stmt& s, const Place& place) {
    reads(f.extent, s, place);
    const Expr extent = value(f.extent, place);
    if (!has_barrier(s) || between_blocks_) {
      if (const auto n = as_int(simplify(extent, bounds_))) bounds_[f.var.id()] = {0, *n - 1};
      if (f.kind == ForKind::kCooperative) return cooperative(f, extent, place);
      return statement(f.body, place.with_own(f.var, extent));
    }
    expect_uniform(f.extent, place);
    if (f.kind == ForKind::kCooperative)
      report({Kind::kDivergentBarrier, {}, line_of(s), {}, "the threads share its iterations"});
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
    const bool clears = passes_barrier(f.body);
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

  template <class F>
  std::vector<Touched> what_is_left(const F& f) {
    std::vector<Touched> outside = std::exchange(open_, {});
    ++quiet_;
    f();
    --quiet_;
    return std::exchange(open_, std::move(outside));
  }

  void join(std::vector<Touched> others) {
    for (Touched& a : others) open_.push_back(std::move(a));
  }

  // ---- accesses

  void reads(const Expr& e, const Stmt& s, const Place& place) {
    ir::walk(e, [&](const Expr& x) {
      if (const auto* l = as<Load>(x)) touch(l->buffer, l->at, l->pred, false, s, place);
      if (const auto* c = as<CallExtern>(x); c && !c->pure)
        report({Kind::kForeignCall, {}, line_of(s), {}, "nobody knows what it touches"});
      if (const auto* sel = as<Select>(x); sel && sel->cond.type().is_scalar()) {
        reads(sel->cond, s, place);
        reads(sel->yes, s, place.under(sel->cond));
        reads(sel->no, s, place.under(logical_not(sel->cond)));
        return false;
      }
      return true;
    });
  }

  Expr value(const Expr& e, const Place& place) const { return place.values.empty() ? e : substitute(e, place.values); }

  Access with_conditions(const Place& place) const {
    Access out;
    out.own = place.own;
    for (const Expr& condition : place.conditions) out.conditions.push_back(value(condition, place));
    return out;
  }

  void touch(const Buffer& buffer, const std::vector<Expr>& at, const Expr& pred, bool writes, const Stmt& s,
             const Place& place) {
    if (!changing_.contains(buffer.id())) return;
    Touched access{with_conditions(place), {}};
    access.buffer = declared_.at(buffer.id());
    access.writes = writes;
    access.statement = s;
    const Scope scope = access.buffer.scope();
    if (scope == Scope::kLocal || (between_blocks_ && scope == Scope::kShared)) return;
    int lanes = 1;
    for (const Expr& subscript : at) {
      lanes = std::max<int>(lanes, subscript.type().lanes);
      access.at.push_back(value(lane_of(subscript, lane_), place));
    }
    if (lanes > 1) access.own.push_back({lane_, Expr(lanes)});
    if (pred) access.conditions.push_back(value(lane_of(pred, lane_), place));
    access.form = forms_.of(access, bounds_);
    if (std::ranges::any_of(open_, [&](const Touched& a) { return a.form == access.form && a.writes == writes; }))
      return;
    if (!between_blocks_ && quiet_ == 0) {
      if (writes) compare(access, access, Apart::kThreads);
      for (const Touched& earlier : open_) compare(earlier, access, Apart::kThreads);
    }
    open_.push_back(std::move(access));
  }

  void compare(const Touched& a, const Touched& b, Apart apart) {
    if (a.buffer != b.buffer || !(a.writes || b.writes)) return;
    const Verdict& verdict = what_is_known(a, b, apart);
    if (verdict.apart()) return;
    const Kind kind = a.writes && b.writes ? Kind::kWriteAfterWrite
                      : a.writes           ? Kind::kReadAfterWrite
                                           : Kind::kWriteAfterRead;
    report({kind, a.buffer.name(), line_of(a.statement), line_of(b.statement), verdict.why, verdict.certain});
  }

  // What two accesses do follows from the difference of their constants, unless these say which elements share a byte,
  // or one has an offset for its subscripts.
  const Verdict& what_is_known(const Touched& a, const Touched& b, Apart apart) {
    const std::vector<int64_t>&from = a.form.constants, &to = b.form.constants;
    std::vector<int64_t> key{static_cast<int64_t>(apart), static_cast<int64_t>(a.form.number),
                             static_cast<int64_t>(b.form.number)};
    if (a.buffer.element().is_packed() || from.size() != to.size()) {
      key.insert(key.end(), from.begin(), from.end());
      key.insert(key.end(), to.begin(), to.end());
    } else {
      std::ranges::transform(to, from, std::back_inserter(key), std::minus());
    }
    auto [known, fresh] = known_.try_emplace(std::move(key));
    if (fresh) known->second = meeting(a, b, indices_, apart, changing_);
    return known->second;
  }

  // ---- barriers

  void expect_uniform(const Expr& e, const Place& place) {
    if (between_blocks_) return;
    const Expr seen = simplify(value(e, place), bounds_);
    std::unordered_set<uint64_t> used = used_vars(seen);
    const auto differs = [&](const std::vector<OwnVariable>& variables) {
      return std::ranges::any_of(variables, [&](const OwnVariable& v) { return used.contains(v.var.id()); });
    };
    std::string why;
    if (differs(indices_.threads)) why = "threads of a block differ in it";
    if (differs(place.own)) why = "each thread has a value of its own";
    ir::walk(seen, [&](const Expr& x) {
      const auto* l = as<Load>(x);
      if (l && changing_.contains(l->buffer.id())) why = "it reads " + l->buffer.name() + ", which the launch writes";
      return why.empty();
    });
    if (why.empty() || (e.type().is_bool() && same_for_all(seen, with_conditions(place), indices_, changing_))) return;
    report({Kind::kDivergentBarrier, {}, to_string(e), {}, why});
  }

  bool has_barrier(const Stmt& s) {
    const auto [known, fresh] = has_barrier_.emplace(s.get(), false);
    if (!fresh) return known->second;
    bool found = false;
    ir::walk(s, [&](const Stmt& inner) {
      found = found || as<Sync>(inner);
      return !found;
    });
    return has_barrier_[s.get()] = found;
  }

  // Whether every way through passes a barrier.
  bool passes_barrier(const Stmt& s) {
    return match(
        s, [&](const Store&) { return false; },
        [&](const For& f) {
          return passes_barrier(f.body) && interval_of(simplify(f.extent, bounds_), bounds_).lo >= 1;
        },
        [&](const If& i) {
          return static_cast<bool>(i.otherwise) && passes_barrier(i.then) && passes_barrier(i.otherwise);
        },
        [&](const Seq& q) {
          return std::ranges::any_of(q.stmts, [&](const Stmt& one) { return passes_barrier(one); });
        },
        [&](const Allocate& a) { return passes_barrier(a.body); },
        [&](const LetStmt& l) { return passes_barrier(l.body); }, [&](const Evaluate&) { return false; },
        [&](const Sync&) { return true; });
  }

  void report(SyncFinding finding) {
    const auto same = [&](const SyncFinding& f) {
      return f.kind == finding.kind && f.buffer == finding.buffer && f.first == finding.first &&
             f.second == finding.second;
    };
    if (std::ranges::none_of(findings_, same)) findings_.push_back(std::move(finding));
  }

  std::unordered_map<uint64_t, Buffer> declared_;
  std::vector<SyncFinding>& findings_;
  LaunchIndices indices_;
  std::unordered_map<uint64_t, int> axis_;  // of a thread's index: 0 for x
  Bounds bounds_;
  std::unordered_set<uint64_t> changing_;  // written by the launch
  const Var lane_{"lane"};
  AccessForms forms_;
  std::map<std::vector<int64_t>, Verdict>
      known_;                    // of pairs of forms, by how their constants differ: whether they meet
  std::vector<Touched> open_;    // since the last barrier, on some path
  bool between_blocks_ = false;  // then all accesses of the launch, whatever barriers there are
  int quiet_ = 0;
  std::unordered_map<const StmtNode*, bool> has_barrier_;
};

}  // namespace

std::string to_string(const SyncFinding& f) {
  static constexpr std::string_view kKinds[] = {"read after write", "write after read", "write after write",
                                                "divergent barrier", "foreign call"};
  std::string out(kKinds[static_cast<size_t>(f.kind)]);
  out += ": " + (f.buffer.empty() ? f.first : f.buffer) + ", " + f.why;
  if (f.buffer.empty()) return out;
  return out + "\n    " + f.first + (f.second == f.first ? "" : "\n    " + f.second);
}

std::vector<SyncFinding> sync_check(const Program& program) {
  return support::with_deep_stack([&] {
    std::vector<SyncFinding> findings;
    std::unordered_map<uint64_t, Buffer> declared;
    for (const Param& p : program.params) declared.insert_or_assign(p.buffer.id(), p.buffer);
    walk(program.body, [&](const Stmt& s) {
      if (const auto* a = as<Allocate>(s)) declared.insert_or_assign(a->buffer.id(), a->buffer);
      const auto* f = as<For>(s);
      if (!f || !is_device_index(f->kind)) return true;
      LaunchCheck(declared, findings).run(s);
      return false;
    });
    return findings;
  });
}

}  // namespace tw::lower
