// Analysis of updates.

#include "src/lower/reduction_tile.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "src/ir/equal.h"
#include "src/ir/fields.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

// Whether the value never rises (sign 1) or never falls (sign -1) with the variable, as far as it is put together from
// sums, products with numbers, quotients, minima and maxima.
bool falls(const Expr& e, const Var& v, int sign = 1) {
  if (!uses_var(e, v)) return true;
  if (as<VarRef>(e)) return sign < 0;
  const auto* b = as<Binary>(e);
  if (!b) return false;
  const auto times = as_int(b->b);
  switch (b->op) {
    case BinOp::kAdd:
    case BinOp::kMin:
    case BinOp::kMax:
      return falls(b->a, v, sign) && falls(b->b, v, sign);
    case BinOp::kSub:
      return falls(b->a, v, sign) && falls(b->b, v, -sign);
    case BinOp::kMul:
      return times && falls(b->a, v, *times < 0 ? -sign : sign);
    case BinOp::kFloorDiv:
      return times && *times > 0 && falls(b->a, v, sign);
    default:
      return false;
  }
}

// The statements at or below which a buffer is read or written, found in one walk: programs may be deeply nested.
class Touched {
 public:
  explicit Touched(const Buffer& buffer) : buffer_(buffer) {}

  bool operator()(const Stmt& s) {
    const auto known = found_.find(s.get());
    if (known != found_.end()) return known->second;
    const auto* st = as<Store>(s);
    bool touched = st && st->buffer == buffer_;
    for_each_child(*s, [&](const auto& child) { touched = in(child) || touched; });
    return found_[s.get()] = touched;
  }

 private:
  bool in(const Stmt& s) { return (*this)(s); }
  bool in(const Expr& e) const { return reads(e, buffer_); }

  const Buffer& buffer_;
  std::unordered_map<const void*, bool> found_;
};

class AccessCollector {
 public:
  explicit AccessCollector(const Buffer& buffer) : buffer_(buffer), touches_(buffer) {}

  // False when the buffer cannot have an accumulator.
  bool visit(const Stmt& s) {
    if (!touches_(s)) return true;
    return match(
        s, [&](const Store& st) { return visit(st); }, [&](const For& f) { return visit(f); },
        [&](const If& i) {
          if (i.otherwise || reads(i.cond, buffer_) || has_load(i.cond)) return false;
          conditions_.push_back(i.cond);
          const bool ok = visit(i.then);
          conditions_.pop_back();
          return ok;
        },
        [&](const Seq& all) {
          return std::all_of(all.stmts.begin(), all.stmts.end(), [&](const Stmt& child) { return visit(child); });
        },
        [&](const Allocate& a) { return visit(a.body); },
        [&](const LetStmt& l) {
          lets_.push_back({l.var, l.value, loops_.size()});
          const size_t before = found.size();
          const bool ok = visit(l.body) && (found.size() > before || !reads(l.value, buffer_));
          lets_.pop_back();
          return ok;
        },
        [&](const Evaluate&) { return false; }, [&](const Sync&) { return false; });
  }

  std::vector<TileAccess> found;

 private:
  bool visit(const For& f) {
    if (runs_concurrently(f.kind) || reads(f.extent, buffer_)) return false;
    const auto extent = as_int(f.extent);
    loops_.push_back({f.var, extent.value_or(-1), f.kind});
    extents_.push_back(f.extent);
    const bool ok = visit(f.body);
    loops_.pop_back();
    extents_.pop_back();
    return ok;
  }

  bool in_subscripts(const Store& st, const Var& var) const {
    return std::any_of(st.at.begin(), st.at.end(), [&](const Expr& e) { return uses_var(e, var); });
  }

  bool visit(const Store& st) {
    if (!(st.buffer == buffer_)) return false;  // another buffer's store that reads this one
    if (static_cast<bool>(st.pred) || !st.value.type().is_scalar())
      return false;  // an intrinsic's, which chooses its registers itself
    TileAccess access;
    access.at = st.at;
    std::vector<Var> reductions;
    bool serial_data_loop = false;
    for (const TileLoop& l : loops_) {
      if (in_subscripts(st, l.var)) {
        if (l.extent < 0) return false;
        serial_data_loop = serial_data_loop || (l.kind == ForKind::kSerial && l.extent > 1);
        access.loops.push_back(l);
      } else {
        if (serial_data_loop || l.kind == ForKind::kVectorized) return false;  // unrolling it would copy the reduction
        access.repeats = true;
        access.reduces = access.reduces || access.loops.empty();
        reductions.push_back(l.var);
      }
    }
    for (const Binding& let : lets_)
      if (in_subscripts(st, let.var)) return false;
    Ends ends;
    return need_iterations(access, st, ends) && classify_guards(access, reductions, ends) &&
           reads_only_here(st, access);
  }

  // The iteration that runs if any does: of some variables the first, of others the last.
  struct Ends {
    std::unordered_map<uint64_t, bool> last;

    // False where the other end is wanted already.
    bool want(const Var& v, bool end) { return last.emplace(v.id(), end).first->second == end; }
  };

  static void need(TileAccess& access, const Expr& condition) {
    if (!is_int(condition, 1)) access.needed = both(access.needed, condition);
  }

  // False where whether any iteration runs cannot be asked before the first of them. An extent that never rises with
  // the loops around can: it is the largest at their first iterations.
  bool need_iterations(TileAccess& access, const Store& st, Ends& ends) const {
    for (size_t n = 0; n < loops_.size(); ++n) {
      if (loops_[n].extent >= 0 || in_subscripts(st, loops_[n].var)) continue;
      const auto inside = [&](const auto& bound) { return uses_var(extents_[n], bound.var); };
      if (std::any_of(lets_.begin(), lets_.end(), inside)) return false;
      Substitution first;
      for (const TileLoop& around : loops_) {
        if (!inside(around)) continue;
        if (!falls(extents_[n], around.var) || !ends.want(around.var, false)) return false;
        first[around.var.id()] = 0;
      }
      need(access, simplify(Expr(0) < substitute(extents_[n], first)));
    }
    return true;
  }

  bool classify_guards(TileAccess& access, const std::vector<Var>& reductions, Ends& ends) const {
    const auto uses_one = [](const Expr& e, const auto& vars) {
      return std::any_of(vars.begin(), vars.end(), [&](const Var& v) { return uses_var(e, v); });
    };
    std::vector<Var> tile;
    std::vector<Expr> on_reductions;
    for (const TileLoop& l : access.loops) tile.push_back(l.var);
    for (const Expr& condition : conditions_)
      for (const Expr& c : conjuncts(condition)) {
        if (std::any_of(lets_.begin(), lets_.end(), [&](const Binding& l) { return uses_var(c, l.var); })) return false;
        if (!uses_one(c, reductions)) {
          access.guards.push_back(c);
          continue;
        }
        if (uses_one(c, tile)) return false;
        access.conditional = true;
        on_reductions.push_back(c);
      }
    return need_one_of(access, std::move(on_reductions), reductions, ends);
  }

  // Asks whether the conditions hold together in some iteration: in the one towards which all of them come true. False
  // where there is no such one, as they pull a variable to both ends.
  bool need_one_of(TileAccess& access, std::vector<Expr> conditions, const std::vector<Var>& reductions,
                   Ends& ends) const {
    std::unordered_map<uint64_t, Expr> last;
    for (size_t n = 0; n < loops_.size(); ++n) last[loops_[n].var.id()] = extents_[n] - Expr(1);
    std::erase_if(conditions, [&](const Expr& c) {  // v < 3 makes the loop shorter
      const auto* compare = as<Binary>(c);
      const auto* v = compare && compare->op == BinOp::kLt ? as<VarRef>(compare->a) : nullptr;
      const auto limit = v ? as_int(compare->b) : std::nullopt;
      const auto before = limit ? as_int(simplify(last.at(v->var.id()))) : std::nullopt;
      if (!before || *limit < 1) return false;
      last[v->var.id()] = std::min(*before, *limit - 1);
      return true;
    });
    for (const Expr& c : conditions) {
      const auto* compare = as<Binary>(c);
      if (!compare || (compare->op != BinOp::kLt && compare->op != BinOp::kLe)) return false;
      const Expr room = compare->b - compare->a;
      for (const Var& v : reductions) {
        const auto rise = as_int(simplify(substitute(room, {{v.id(), Expr(v) + Expr(1)}}) - room));
        if (!rise || (*rise != 0 && !ends.want(v, *rise > 0))) return false;
      }
    }
    Substitution at;
    for (const Var& v : reductions) {
      const auto end = ends.last.find(v.id());
      at[v.id()] = end != ends.last.end() && end->second ? last.at(v.id()) : Expr(0);
    }
    for (const Expr& c : conditions) {
      const Expr there = simplify(substitute(c, at));
      if (std::any_of(loops_.begin(), loops_.end(), [&](const TileLoop& l) { return uses_var(there, l.var); }))
        return false;
      need(access, there);
    }
    return true;
  }

  bool reads_only_here(const Store& st, TileAccess& access) {
    bool ok = true;
    const auto reads_tile = [&](const Expr& value) {
      walk(value, [&](const Expr& e) {
        const auto* l = as<Load>(e);
        if (!l || !(l->buffer == buffer_)) return ok;
        access.reads = true;
        ok = ok && !l->pred && std::equal(l->at.begin(), l->at.end(), st.at.begin(), st.at.end(), ExprEqual());
        return ok;
      });
    };
    reads_tile(st.value);
    for (const Binding& let : lets_)  // the old values of a tuple
      if (reads(let.value, buffer_)) {
        ok = ok && let.loops == loops_.size();
        reads_tile(let.value);
      }
    for (const Expr& i : st.at) ok = ok && !reads(i, buffer_);
    if (ok) found.push_back(std::move(access));
    return ok;
  }

  const Buffer& buffer_;
  Touched touches_;
  std::vector<TileLoop> loops_;
  std::vector<Expr> extents_;  // of the loops
  std::vector<Expr> conditions_;
  struct Binding {
    Var var;
    Expr value;
    size_t loops;  // how many are around it
  };
  std::vector<Binding> lets_;
};

// The loops that a subscript tells apart: each steps over all that those of smaller steps reach together.
std::unordered_set<uint64_t> told_apart(const Linear& form, const std::vector<TileLoop>& loops) {
  std::vector<std::pair<int64_t, const TileLoop*>> steps;
  for (const Term& t : form.terms) {
    const auto* var = as<VarRef>(t.atom);
    const auto loop = std::find_if(loops.begin(), loops.end(), [&](const TileLoop& l) {
      return var ? l.var == var->var : uses_var(t.atom, l.var);
    });
    if (loop == loops.end() || loop->extent <= 1) continue;
    if (!var) return {};
    steps.emplace_back(std::abs(t.factor), &*loop);
  }
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::unordered_set<uint64_t> apart;
  int64_t reached = 0;
  for (const auto& [step, loop] : steps) {
    if (step <= reached) return {};
    reached += step * (loop->extent - 1);
    apart.insert(loop->var.id());
  }
  return apart;
}

}  // namespace

std::optional<Expr> at_first(const Expr& guard, const std::vector<Var>& variables) {
  const auto* compare = as<Binary>(guard);
  if (!compare || (compare->op != BinOp::kLt && compare->op != BinOp::kLe)) return std::nullopt;
  Substitution zero;
  for (const Var& v : variables) {
    if (!uses_var(guard, v)) continue;
    const auto rise = as_int(simplify(substitute(compare->a, {{v.id(), Expr(v) + Expr(1)}}) - compare->a));
    if (uses_var(compare->b, v) || !rise || *rise <= 0) return std::nullopt;
    zero[v.id()] = 0;
  }
  return simplify(substitute(guard, zero));
}

std::optional<std::vector<TileAccess>> tile_accesses(const Stmt& s, const Buffer& buffer) {
  AccessCollector collector(buffer);
  if (!collector.visit(s)) return std::nullopt;
  return std::move(collector.found);
}

bool same_tile(const TileAccess& a, const TileAccess& b) {
  if (a.loops.size() != b.loops.size() || a.guards.size() != b.guards.size() || a.at.size() != b.at.size())
    return false;
  Substitution rename;
  for (size_t n = 0; n < a.loops.size(); ++n) {
    const bool vector_a = a.loops[n].kind == ForKind::kVectorized, vector_b = b.loops[n].kind == ForKind::kVectorized;
    if (a.loops[n].extent != b.loops[n].extent || vector_a != vector_b) return false;
    rename[b.loops[n].var.id()] = a.loops[n].var;
  }
  const auto same = [&](const Expr& x, const Expr& y) { return equal(x, substitute(y, rename)); };
  return std::equal(a.at.begin(), a.at.end(), b.at.begin(), same) &&
         std::equal(a.guards.begin(), a.guards.end(), b.guards.begin(), same);
}

std::optional<TileShape> tile_shape(const TileAccess& access) {
  Bounds tile;
  for (const TileLoop& l : access.loops) tile[l.var.id()] = {0, l.extent - 1};
  TileShape out;
  std::unordered_set<uint64_t> apart;
  for (const Expr& subscript : access.at) {
    Linear base, offset;
    Interval range = Interval::point(0);
    const Linear form = decompose(simplify(subscript));
    apart.merge(told_apart(form, access.loops));
    base.constant = form.constant;
    for (const Term& t : form.terms) {
      const auto used = used_vars(t.atom);
      const bool inside = std::any_of(used.begin(), used.end(), [&](uint64_t id) { return tile.count(id) > 0; });
      if (inside && !std::all_of(used.begin(), used.end(), [&](uint64_t id) { return tile.count(id) > 0; }))
        return std::nullopt;
      (inside ? offset : base).add(t.atom, t.factor);
      if (inside) range = range + scaled(interval_of(t.atom, tile), t.factor);
    }
    if (!range.bounded()) return std::nullopt;
    base.add_constant(range.lo);
    offset.add_constant(-range.lo);
    out.base.push_back(build(base, 1));
    out.offset.push_back(build(offset, 1));
    out.shape.push_back(range.hi - range.lo + 1);
  }
  out.once = std::all_of(access.loops.begin(), access.loops.end(),
                         [&](const TileLoop& l) { return l.extent <= 1 || apart.count(l.var.id()); });
  return out;
}

}  // namespace tw::lower
