// The recursion over loops, from the outside in: cut, then look inside the parts with what is known there.

#include "src/lower/loop_split.h"

#include <algorithm>
#include <utility>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"
#include "src/lower/inner_split.h"
#include "src/lower/join.h"
#include "src/lower/launches.h"
#include "src/lower/loop_extent.h"
#include "src/lower/split_point.h"
#include "src/lower/symbolic_split.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int64_t kFewTerms = 3;  // of a sum, of which each may decide conditions of its own
constexpr int kTrials = 3;        // where branches stay two, they may be cut again with fewer copies

class LoopSplitter {
 public:
  LoopSplitter(SplitAt at, int max_copies, const Bounds& scalars)
      : at_(at), max_copies_(max_copies), scalars_(scalars) {
    ranges_.set(scalars);
  }

  Stmt visit(const Stmt& s, int copies) {
    return match(
        s, [&](const Store&) { return at_ == SplitAt::kSelects ? without_decided_selects(s) : s; },
        [&](const For& f) { return visit(f, copies); }, [&](const If& i) { return visit(i, copies); },
        [&](const Seq& all) {
          std::vector<Stmt> out;
          for (const Stmt& child : all.stmts) out.push_back(visit(child, copies));
          return lifted(seq(std::move(out)));
        },
        [&](const Allocate& a) { return lifted(allocate(a.buffer, visit(a.body, copies))); },
        [&](const LetStmt& l) {
          const Expr value = at_ == SplitAt::kSelects ? without_decided_selects(l.value) : l.value;
          return let_stmt(l.var, value, visit(l.body, copies));
        },
        [&](const Evaluate&) { return s; }, [&](const Sync&) { return s; });
  }

 private:
  // Indices of a device and loops in which threads wait for each other: conditions stay where they stand.
  Stmt whole(const For& f, int copies) {
    ranges_.set(f.var, {0, shifted(interval_of(f.extent, ranges_.vars()), -1).hi});
    if (is_thread(f.kind)) threads_.push_back(f.var);
    ++whole_;
    const Stmt body = visit(f.body, copies);
    --whole_;
    return loop(f.var, f.extent, body, f.kind, f.tail);
  }

  Stmt visit(const For& given, int copies) {
    if (given.kind >= ForKind::kCooperative || meets(given.body)) return whole(given, copies);
    const For f = at_ == SplitAt::kGuards ? tightened(given, ranges_) : given;
    const auto extent = as_int(f.extent);
    if (extent == 0) return seq({});
    if (extent == 1) return visit(substitute(f.body, {{f.var.id(), Expr(0)}}), copies);
    if (!extent) return visit_symbolic(f, copies);
    ranges_.set(f.var, {0, *extent - 1});
    if (f.kind == ForKind::kVectorized) vectors_.push_back(f.var);
    const auto split = split_point(f);
    if (split && !left_to_loops_inside(f, *split) && (!only_sums_ || goes_on(f))) {
      const bool pieces = !runs_concurrently(f.kind) && as<VarRef>(split->atom);
      const int64_t below = split->first - split->all.lo, above = split->all.hi - split->last;
      if (pieces && std::max(below, above) <= kFewTerms && goes_on(f) && decides_terms(f))
        if (const int made = with_parts(copies, 1 + static_cast<int>(below + above)); allowed(made))
          return in_pieces(f, *split, made, true);
      if (const int made = with_parts(copies, pieces ? 1 + (below > 0) + (above > 0) : 2); allowed(made))
        return pieces ? in_pieces(f, *split, made, false) : finished(f, chosen(f, *split, copies, made));
    }
    if (is_padding(f) && !only_sums_ && takes_branch(f)) {
      const auto inner = find_inner_split(guards_, f.var, ranges_, inner_);
      if (const int made = with_parts(copies, 2); inner && allowed(made)) return finished(f, chosen(f, *inner, made));
    }
    if (const auto terms = terms_apart(f, copies)) return *terms;
    return finished(f, visit(f.body, copies));
  }

  // A sum whose terms the loops around decide: without those that are left out, and without conditions where none is.
  std::optional<Stmt> terms_apart(const For& f, int copies) {
    if (at_ != SplitAt::kSelects || f.kind != ForKind::kSerial || whole_ > 0 || !goes_on(f)) return std::nullopt;
    const Terms terms = terms_of(f, reader_, ranges_);
    const auto split = find_symbolic_split(terms.guards, f.var, f.extent, ranges_, terms.inner, ranges_.vars());
    if (!split) return std::nullopt;
    const Expr first = known(max(split->first, terms.first)), end = known(min(split->end, terms.end));
    if (in_vectors(first) || in_vectors(end) || in_vectors(terms.first) || in_vectors(terms.end)) return std::nullopt;
    const bool below = !proved(first <= terms.first), above = !proved(terms.end <= end);
    const int made = with_parts(copies, 1 + below + above);
    if (!allowed(made)) return std::nullopt;
    const Expr stop = below ? known(min(first, terms.end)) : first, start = known(max(end, stop));
    std::vector<Stmt> out;
    if (below) out.push_back(with_conditions(f, terms.first, stop, made));
    out.push_back(part(f, first, end, without_guards(f.body, split->guards, reader_, true), made));
    if (above) out.push_back(with_conditions(f, start, terms.end, made));
    return seq(std::move(out));
  }

  // Lanes run a loop equally often.
  bool in_vectors(const Expr& e) const {
    return std::ranges::any_of(vectors_, [&](const Var& var) { return uses_var(e, var); });
  }

  Stmt with_conditions(const For& f, const Expr& first, const Expr& end, int copies) {
    const bool only_sums = std::exchange(only_sums_, true);
    const Stmt out = part(f, first, end, refresh(f.body), copies_left_over(copies));
    only_sums_ = only_sums;
    return out;
  }

  bool decides_terms(const For& f) const { return at_ == SplitAt::kSelects && decides_copies(f.body, guards_, f.var); }

  // Conditions of padding for which a loop may have a branch.
  bool is_padding(const For& f) const { return at_ == SplitAt::kSelects && whole_ == 0 && is_open(f); }

  bool left_to_loops_inside(const For& f, const SplitPoint& split) const {
    return is_padding(f) && runs_concurrently(f.kind) && decided_inside(f.body, guards_, split.atom);
  }

  // In each iteration, by what it and the loops around decide.
  Stmt chosen(const For& f, const InnerSplit& split, int copies) {
    const Stmt main = visit(without_guards(f.body, split.guards, reader_, true), copies);
    return if_then(split.holds, main, visit(refresh(f.body), copies_left_over(copies)));
  }

  // A loop whose extent is no number.
  Stmt visit_symbolic(const For& f, int copies) {
    const Interval times = interval_of(f.extent, ranges_.vars());
    ranges_.set(f.var, {0, shifted(times, -1).hi});
    find_guards(f);
    const auto split =
        is_open(f) ? find_symbolic_split(guards_, f.var, f.extent, ranges_, inner_, scalars_) : std::nullopt;
    if (!split) return finished(f, visit(f.body, copies));
    const bool below = !proved(split->first <= Expr(0)), above = !proved(f.extent <= split->end);
    const Stmt main = without_guards(f.body, split->guards, reader_, at_ == SplitAt::kSelects);
    if (!below && !above) return visit(For{f.var, f.extent, f.kind, f.tail, main}, copies);
    const int parts = with_parts(copies, 1 + below + above);
    if (!allowed(parts)) return finished(f, visit(f.body, copies));
    if (runs_concurrently(f.kind)) return finished(f, chosen(f, *split, below, above, main, parts));
    std::vector<Stmt> out;
    const Expr start = below                           ? max(split->first, split->end)
                       : proved(split->end >= Expr(0)) ? split->end
                                                       : max(split->end, 0);
    if (below) out.push_back(part(f, 0, min(split->first, f.extent), refresh(f.body), copies_left_over(parts)));
    out.push_back(part(f, split->first, split->end, main, parts));
    if (above) out.push_back(part(f, start, f.extent, refresh(f.body), copies_left_over(parts)));
    return seq(std::move(out));
  }

  // The iterations first .. end - 1 of a loop, by themselves; none where end <= first.
  Stmt part(const For& f, const Expr& first, const Expr& end, const Stmt& body, int copies) {
    const Expr times = simplify(subtract(end, first), ranges_.vars());
    const Expr begin = simplify(first, ranges_.vars());
    if (interval_of(times, ranges_.vars()).hi <= 0) return seq({});
    if (interval_of(times, ranges_.vars()).hi == 1)
      return if_then(begin < end, visit(substitute(body, {{f.var.id(), begin}}), copies));
    const Var var(f.var.name());
    return visit(For{var, times, f.kind, f.tail, substitute(body, {{f.var.id(), add(var, begin)}})}, copies);
  }

  // Inside one loop, whose iterations run at the same time.
  Stmt chosen(const For& f, const SymbolicSplit& split, bool below, bool above, const Stmt& main, int copies) {
    std::vector<Expr> holds;
    if (below) holds.push_back(split.first <= Expr(f.var));
    if (above) holds.push_back(Expr(f.var) < split.end);
    const Stmt with = visit(main, copies);
    return if_then(conjunction(holds), with, visit(refresh(f.body), copies_left_over(copies)));
  }

  Expr known(const Expr& e) const { return simplify(e, ranges_.vars()); }
  bool proved(const Expr& condition) const {
    if (can_prove(condition, ranges_.vars())) return true;
    Bounds named;
    const Expr with_names = ranges_.named(condition, named);
    if (named.empty()) return false;
    named.insert(ranges_.vars().begin(), ranges_.vars().end());
    return can_prove(with_names, named);
  }

  bool is_open(const For& f) const {
    return f.kind != ForKind::kVectorized && !(at_ == SplitAt::kGuards && f.tail == Tail::kGuard);
  }

  // The guards below a loop at which it may be cut.
  void find_guards(const For& f) {
    guards_.clear();
    inner_.clear();
    lanes_.clear();
    gather(f.body);
    if (at_ == SplitAt::kGuards && f.tail == Tail::kMask)
      std::erase_if(guards_, [&](const Guard* guard) { return on_lanes(*guard); });
  }

  Stmt lifted(const Stmt& s) const { return at_ == SplitAt::kGuards ? with_common_guard(s) : s; }

  Stmt finished(const For& f, const Stmt& body) {
    if (at_ == SplitAt::kSelects) return loop(f.var, f.extent, body, f.kind, f.tail);
    const Stmt out = with_exact_extent(f, body, ranges_, threads_);
    return f.kind == ForKind::kVectorized && whole_ > 0 ? whole_vectors(out) : out;
  }

  // What a thread writes in vectors, the last of which may reach past the end:  if all lanes count: vectors, else:
  // lanes.
  Stmt whole_vectors(const Stmt& vectors) {
    const auto* f = as<For>(vectors);
    const auto* guarded = f ? as<If>(f->body) : nullptr;
    const auto* st = guarded && !guarded->otherwise ? as<Store>(guarded->then) : nullptr;
    const auto extent = f ? as_int(f->extent) : std::nullopt;
    if (!st || !extent || st->buffer.scope() != Scope::kArgument) return vectors;
    std::vector<Expr> all, left;
    for (const Expr& c : conjuncts(guarded->cond)) {
      const Guard* guard = reader_.read(c);
      int64_t step = 0;  // of the condition along the lanes
      bool alone = guard != nullptr;
      for (size_t n = 0; alone && n < guard->form.terms.size(); ++n) {
        const Term& t = guard->form.terms[n];
        const auto* v = as<VarRef>(t.atom);
        if (v && v->var == f->var)
          step = t.factor;
        else
          alone = !uses_var(t.atom, f->var);
      }
      if (alone && step != 0)
        all.push_back(substitute(c, {{f->var.id(), step > 0 ? Expr(*extent - 1) : Expr(0)}}));
      else
        left.push_back(c);
    }
    if (all.empty()) return vectors;
    const Stmt body = left.empty() ? guarded->then : if_then(conjunction(left), guarded->then);
    return if_then(conjunction(all), loop(f->var, f->extent, body, f->kind, f->tail), refresh(vectors));
  }

  // One loop after the other: below, inside and above the range where the guards hold; outside of it each iteration by
  // itself, where they are to be `apart`.
  Stmt in_pieces(const For& f, const SplitPoint& split, int copies, bool apart) {
    std::vector<Stmt> out;
    bool copied = false;
    const bool only_sums = only_sums_;
    const auto piece = [&](int64_t lo, int64_t hi, bool guarded) {
      if (lo > hi) return;
      const Stmt body = copied ? refresh(f.body) : f.body;
      copied = true;
      only_sums_ = only_sums || (guarded && at_ == SplitAt::kSelects);
      if (lo == hi) {
        out.push_back(visit(substitute(body, {{f.var.id(), Expr(lo)}}), copies));
        return;
      }
      const Var var = lo == 0 ? f.var : Var(f.var.name());
      const Stmt moved = lo == 0 ? body : substitute(body, {{f.var.id(), add(var, lo)}});
      out.push_back(visit(For{var, hi - lo + 1, f.kind, f.tail, moved}, copies));
    };
    const auto outside = [&](int64_t lo, int64_t hi) {
      if (!apart) return piece(lo, hi, true);
      for (int64_t at = lo; at <= hi; ++at) piece(at, at, true);
    };
    outside(split.all.lo, split.first - 1);
    piece(split.first, split.last, false);
    outside(split.last + 1, split.all.hi);
    only_sums_ = only_sums;
    return seq(std::move(out));
  }

  // Inside one loop: if the guards hold, the body without them, else the body as narrow as it is there; in one body, of
  // which there are as many copies as before, where that is as fast.
  Stmt chosen(const For& f, const SplitPoint& split, int copies, int made) {
    std::vector<Expr> holds, fails;
    if (split.first > split.all.lo) {
      holds.push_back(Expr(split.first) <= split.atom);
      fails.push_back(split.atom < Expr(split.first));
    }
    if (split.last < split.all.hi) {
      holds.push_back(split.atom <= Expr(split.last));
      fails.push_back(Expr(split.last) < split.atom);
    }
    const bool one_sided = holds.size() == 1;
    Choice choice{conjunction(holds), one_sided ? fails[0] : logical_not(conjunction(holds)), {}};
    const Interval others = !one_sided                   ? split.all
                            : split.first > split.all.lo ? Interval{split.all.lo, split.first - 1}
                                                         : Interval{split.last + 1, split.all.hi};
    if (others.is_point()) choice.atom = split.atom, choice.value = others.lo;
    const auto main = [&](int left) { return inside(f, f.body, split.atom, {split.first, split.last}, left); };
    const auto rest = [&](int left) {
      const Stmt body = refresh(f.body);
      return inside(f, choice.atom ? replaced(body, choice.atom, choice.value) : body, split.atom, others, left);
    };
    if (one_sided && at_ == SplitAt::kGuards && whole_ == 0 && trials_ < kTrials && holds_outer_loop(f.body)) {
      const int before = std::exchange(most_, copies);
      ++trials_;
      const Stmt first = main(copies), second = rest(copies);
      --trials_;
      const auto one = joined(choice, first, second);
      const int as_two = most_ / copies * made;
      most_ = std::max(before, one ? most_ : as_two);
      if (one) return *one;
      if (as_two <= max_copies_) return if_then(choice.holds, first, second);
    }
    const bool ends = !one_sided && split.first == split.all.lo + 1 && split.last + 1 == split.all.hi &&
                      decides_terms(f) && allowed(with_parts(made, 2));
    const Stmt first = main(made);
    if (at_ == SplitAt::kGuards) return if_then(choice.holds, first, rest(made));
    const bool only_sums = std::exchange(only_sums_, true);
    const Stmt second =
        ends ? if_then(split.atom < Expr(split.first), at(f, split.atom, split.all.lo, with_parts(made, 2)),
                       at(f, split.atom, split.all.hi, with_parts(made, 2)))
             : rest(made);
    only_sums_ = only_sums;
    return if_then(choice.holds, first, second);
  }

  // The body at an end, where an atom has one value.
  Stmt at(const For& f, const Expr& atom, int64_t value, int copies) {
    return inside(f, replaced(refresh(f.body), atom, value), atom, Interval::point(value), copies);
  }

  // The body where an atom's values are known; other atoms of the same loop may split it further.
  Stmt inside(const For& f, const Stmt& body, const Expr& atom, Interval values, int copies) {
    ranges_.set_atom(atom, values);
    const For here{f.var, f.extent, f.kind, f.tail, body};
    const auto split = split_point(here);
    const int made = with_parts(copies, 2);
    const bool cut = split && (!only_sums_ || goes_on(here)) && allowed(made);
    const Stmt out = cut ? chosen(here, *split, copies, made) : visit(body, copies);
    ranges_.forget_last_atom();
    return out;
  }

  Stmt replaced(const Stmt& s, const Expr& atom, int64_t value) {
    return rewrite(
        s, [](const Stmt& at) { return at; }, [&](const Expr& e) { return equal(e, atom) ? Expr(value) : e; });
  }

  // How many copies there are of a body once it is cut: of padding, only the main part is cut further.
  int with_parts(int copies, int parts) const { return at_ == SplitAt::kGuards ? copies * parts : copies + parts - 1; }
  int copies_left_over(int copies) const { return at_ == SplitAt::kGuards ? copies : max_copies_; }

  bool allowed(int made) {
    if (made > max_copies_) return false;
    most_ = std::max(most_, made);
    return true;
  }

  std::optional<SplitPoint> split_point(const For& f) {
    if (!is_open(f)) return std::nullopt;
    find_guards(f);
    return find_split(guards_, f.var, ranges_, inner_);
  }

  // Of a guard that lanes decide, a mask can be made.
  bool on_lanes(const Guard& guard) const {
    return std::any_of(guard.form.terms.begin(), guard.form.terms.end(), [&](const Term& t) {
      return std::any_of(lanes_.begin(), lanes_.end(), [&](const Var& lane) { return uses_var(t.atom, lane); });
    });
  }

  // Conditions below a loop, with the ranges of the variables bound there.
  void gather(const Stmt& body) {
    const auto note = [&](const Expr& condition) {
      for (const Expr& c : conjuncts(condition))
        if (const Guard* guard = reader_.read(c)) guards_.push_back(guard);
    };
    const auto note_selects = [&](const Expr& e) {
      if (const auto* s = as<Select>(e)) note(s->cond);
      return true;
    };
    walk(body, [&](const Stmt& s) {
      if (const auto* f = as<For>(s)) {
        const auto n = as_int(f->extent);
        inner_[f->var.id()] = n ? Interval{0, *n - 1} : Interval::everything();
        if (f->kind == ForKind::kVectorized) lanes_.push_back(f->var);
      }
      if (const auto* l = as<LetStmt>(s)) {
        inner_[l->var.id()] = Interval::everything();
        if (at_ == SplitAt::kSelects) walk(l->value, note_selects);
      }
      if (const auto* i = as<If>(s); i && at_ == SplitAt::kGuards) note(i->cond);
      if (const auto* st = as<Store>(s); st && at_ == SplitAt::kSelects) {
        for (const Expr& e : st->at) walk(e, note_selects);
        walk(st->value, note_selects);
        if (st->pred) walk(st->pred, note_selects);
      }
      return true;
    });
  }

  Stmt visit(const If& i, int copies) {
    std::vector<Expr> open;
    bool fails = false;
    for (const Expr& c : conjuncts(i.cond)) {
      const auto known = decide(c, reader_, ranges_);
      if (!known) open.push_back(c);
      fails = fails || known == false;
    }
    if (fails) return i.otherwise ? visit(i.otherwise, copies) : seq({});
    if (open.empty()) return visit(i.then, copies);
    return lifted(if_then(conjunction(open), visit(i.then, copies), i.otherwise ? visit(i.otherwise, copies) : Stmt()));
  }

  Stmt without_decided_selects(const Stmt& s) {
    return rewrite(s, [](const Stmt& at) { return at; }, [&](const Expr& e) { return without_decided(e); });
  }
  Expr without_decided_selects(const Expr& e) {
    return rewrite(e, [&](const Expr& at) { return without_decided(at); });
  }
  Expr without_decided(const Expr& e) {
    const auto* choice = as<Select>(e);
    if (!choice) return e;
    std::vector<Expr> open;
    for (const Expr& c : conjuncts(choice->cond)) {
      const auto known = decide(c, reader_, ranges_);
      if (known == false) return choice->no;
      if (!known) open.push_back(c);
    }
    return open.empty() ? choice->yes : select(conjunction(open), choice->yes, choice->no);
  }

  const SplitAt at_;
  const int max_copies_;
  const Bounds& scalars_;
  Ranges ranges_;
  GuardReader reader_;
  std::vector<const Guard*> guards_;
  Bounds inner_;
  std::vector<Var> lanes_;    // variables of vectorised loops below
  std::vector<Var> threads_;  // of all launches so far
  std::vector<Var> vectors_;  // of all vectorised loops so far
  bool only_sums_ = false;    // inside what is left over at an edge: of it only the terms of sums are cut further
  int whole_ = 0;             // loops around that stay whole
  int trials_ = 0;            // branches around that may be joined
  int most_ = 1;              // copies that were allowed
};

}  // namespace

Stmt split_loops(const Stmt& s, SplitAt at, int max_copies, const Bounds& scalars) {
  return LoopSplitter(at, max_copies, scalars).visit(s, 1);
}

}  // namespace tw::lower
