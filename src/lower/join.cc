// Two branches in lockstep.

#include "src/lower/join.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/walk.h"
#include "src/lower/private_tiles.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int kFloatsOfVector = 8;  // for weights only
constexpr int64_t kLong = 8;        // stores

std::vector<Stmt> parts_of(const Stmt& s) {
  const auto* all = as<Seq>(s);
  return all ? all->stmts : std::vector<Stmt>{s};
}

bool holds_loop(const Stmt& s) {
  bool found = false;
  walk(s, [&](const Stmt& at) {
    const auto* f = as<For>(at);
    found = found || (f && f->kind == ForKind::kSerial);
    return !found;
  });
  return found;
}

// About how many instructions store: what is unrolled stands there as often.
int64_t weight(const Stmt& s) {
  return match(
      s, [](const Store&) { return int64_t{1}; },
      [](const For& f) {
        const int64_t times = as_int(f.extent).value_or(1), of_body = weight(f.body);
        if (f.kind == ForKind::kUnrolled) return times * of_body;
        return f.kind == ForKind::kVectorized ? ceil_div(times, kFloatsOfVector) * of_body : of_body;
      },
      [](const If& i) { return weight(i.then) + (i.otherwise ? weight(i.otherwise) : 0); },
      [](const Seq& all) {
        int64_t sum = 0;
        for (const Stmt& child : all.stmts) sum += weight(child);
        return sum;
      },
      [](const Allocate& a) { return weight(a.body); }, [](const LetStmt& l) { return weight(l.body); },
      [](const Evaluate&) { return int64_t{1}; }, [](const Sync&) { return int64_t{1}; });
}

// A serial loop around serial loops, or around as much as takes longer than to count.
const For* outer_loop(const Stmt& s) {
  const auto* f = as<For>(s);
  return f && f->kind == ForKind::kSerial && (holds_loop(f->body) || weight(f->body) >= kLong) ? f : nullptr;
}

class Joiner {
 public:
  explicit Joiner(const Choice& choice) : choice_(choice) {
    if (choice.atom) known_.emplace_back(choice.atom, choice.value);
  }

  std::optional<Stmt> branches(const Stmt& a, const Stmt& b) {
    const auto one = sequences(parts_of(a), parts_of(b));
    return one && weight(*one) * 4 <= (weight(a) + weight(b)) * 3 ? one : std::nullopt;
  }

 private:
  struct Part {
    Stmt one;
    size_t taken;  // of the second branch
  };

  std::optional<Stmt> sequences(const std::vector<Stmt>& a, const std::vector<Stmt>& b) {
    std::vector<Stmt> out, only_first;
    size_t next = 0;
    bool apart = false, loops = around_.empty();
    const auto gap = [&](size_t to) {
      const Stmt first = seq(std::exchange(only_first, {}));
      const Stmt second = seq({b.begin() + static_cast<int64_t>(next), b.begin() + static_cast<int64_t>(to)});
      next = to;
      const bool none = parts_of(first).empty(), none_too = parts_of(second).empty();
      if (none && none_too) return;
      apart = true;
      out.push_back(none       ? if_then(choice_.fails, second)
                    : none_too ? if_then(choice_.holds, first)
                               : if_then(choice_.holds, first, second));
    };
    bool any = false;
    for (const Stmt& part : a) {
      std::optional<Part> found;
      size_t at = next;
      for (; at < b.size() && !found; ++at) found = same(part, b, at);
      if (!found) {
        only_first.push_back(part);
        continue;
      }
      any = true;
      gap(at - 1);
      loops = loops || holds_outer_loop(found->one);
      next += found->taken;
      out.push_back(std::move(found->one));
    }
    gap(b.size());
    if (!any || (apart && !loops)) return std::nullopt;
    return seq(std::move(out));
  }

  // The first branch's statement and what begins at `at` in the second one.
  std::optional<Part> same(const Stmt& a, const std::vector<Stmt>& b, size_t at) {
    if (equal(seen(a), b[at])) return Part{a, 1};
    if (const For* f = outer_loop(a))
      if (const For* other = outer_loop(b[at]); !other || f->var.name() != other->var.name()) return once(*f, b, at);
    if (auto one = same(a, b[at])) return Part{std::move(*one), 1};
    return std::nullopt;
  }

  std::optional<Stmt> same(const Stmt& a, const Stmt& b) {
    if (a->kind.index() != b->kind.index()) return std::nullopt;
    return match(
        a, [](const Store&) { return std::optional<Stmt>(); },
        [&](const For& f) { return outer_loop(a) && outer_loop(b) ? loops(f, *as<For>(b)) : std::nullopt; },
        [&](const If& i) { return conditions(i, *as<If>(b)); }, [](const Seq&) { return std::optional<Stmt>(); },
        [&](const Allocate& x) { return buffers(x, *as<Allocate>(b)); },
        [&](const LetStmt& l) { return lets(l, *as<LetStmt>(b)); },
        [](const Evaluate&) { return std::optional<Stmt>(); }, [](const Sync&) { return std::optional<Stmt>(); });
  }

  std::optional<Stmt> loops(const For& a, const For& b) {
    if (a.tail != b.tail || a.var.type() != b.var.type()) return std::nullopt;
    const bool as_often = equal(seen(a.extent), b.extent);
    if (!as_often && !may_differ(a)) return std::nullopt;
    around_.push_back(a.var);
    const auto body = sequences(parts_of(a.body), parts_of(substitute(b.body, {{b.var.id(), Expr(a.var)}})));
    around_.pop_back();
    if (!body) return std::nullopt;
    return loop(a.var, as_often ? a.extent : select(choice_.holds, a.extent, b.extent), *body, a.kind, a.tail);
  }

  // A loop of the first branch that the second one runs once, without a loop.
  std::optional<Part> once(const For& f, const std::vector<Stmt>& b, size_t at) {
    const std::vector<Stmt> parts = parts_of(f.body);
    if (at + parts.size() > b.size() || !may_differ(f)) return std::nullopt;
    std::vector<Stmt> out;
    known_.emplace_back(f.var, 0);
    around_.push_back(f.var);
    for (size_t n = 0; n < parts.size(); ++n) {
      auto one = equal(seen(parts[n]), b[at + n]) ? parts[n] : same(parts[n], b[at + n]);
      if (!one) break;
      out.push_back(std::move(*one));
    }
    around_.pop_back();
    known_.pop_back();
    if (out.size() < parts.size()) return std::nullopt;
    return Part{loop(f.var, select(choice_.holds, f.extent, 1), seq(std::move(out)), f.kind, f.tail), parts.size()};
  }

  std::optional<Stmt> conditions(const If& a, const If& b) {
    if (!equal(seen(a.cond), b.cond) || !a.otherwise != !b.otherwise) return std::nullopt;
    const auto then = sequences(parts_of(a.then), parts_of(b.then));
    if (!then || !a.otherwise) return then ? std::optional(if_then(a.cond, *then)) : std::nullopt;
    const auto otherwise = sequences(parts_of(a.otherwise), parts_of(b.otherwise));
    return otherwise ? std::optional(if_then(a.cond, *then, *otherwise)) : std::nullopt;
  }

  std::optional<Stmt> buffers(const Allocate& a, const Allocate& b) {
    const auto all_equal = [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
      return std::ranges::equal(x, y, [](const Expr& e, const Expr& f) { return equal(e, f); });
    };
    const Buffer &x = a.buffer, &y = b.buffer;
    if (x.element() != y.element() || x.scope() != y.scope() || !all_equal(x.shape(), y.shape()) ||
        !all_equal(x.strides(), y.strides()))
      return std::nullopt;
    const auto body = sequences(parts_of(a.body), parts_of(replace_buffers(b.body, {{y.id(), x}})));
    return body ? std::optional(allocate(x, *body)) : std::nullopt;
  }

  std::optional<Stmt> lets(const LetStmt& a, const LetStmt& b) {
    if (!equal(seen(a.value), b.value) || a.var.type() != b.var.type()) return std::nullopt;
    const auto body = sequences(parts_of(a.body), parts_of(substitute(b.body, {{b.var.id(), Expr(a.var)}})));
    return body ? std::optional(let_stmt(a.var, a.value, *body)) : std::nullopt;
  }

  // What the first branch's statement is where the condition fails.
  template <class T>
  T seen(const T& of) const {
    if (known_.empty()) return of;
    const auto on_expr = [&](const Expr& e) {
      for (const auto& [atom, value] : known_)
        if (equal(e, atom)) return Expr(value);
      return e;
    };
    if constexpr (std::is_same_v<T, Expr>)
      return rewrite(of, on_expr);
    else
      return rewrite(of, [](const Stmt& s) { return s; }, on_expr);
  }

  // A loop whose extent may be no number: it is not cut for padding, and no tile of a reduction around it is its.
  bool may_differ(const For& f) const {
    bool padding = false;
    walk(
        f.body, [](const Stmt&) { return true; },
        [&](const Expr& e) {
          const auto* choice = as<Select>(e);
          padding = padding || (choice && uses_var(choice->cond, f.var));
          return !padding;
        });
    Inside inside;
    return !padding && comes_first(f.body, inside);
  }

  struct Inside {
    std::vector<Var> loops;
    std::vector<Buffer> buffers;  // nothing comes back to what begins and ends there
  };

  // Whether reductions that come back to what `f` stores have more of their loops inside, and no reason for a tile of
  // its own.
  bool comes_first(const Stmt& s, Inside& inside) const {
    const auto subscripted = [](const Store& st, const Var& v) {
      return std::ranges::any_of(st.at, [&](const Expr& e) { return uses_var(e, v); });
    };
    const auto reduces = [&](const Store& st, const std::vector<Var>& loops) {
      return std::ranges::any_of(loops, [&](const Var& v) { return !subscripted(st, v); });
    };
    return match(
        s,
        [&](const Store& st) {
          if (std::ranges::find(inside.buffers, st.buffer) != inside.buffers.end() || !reduces(st, around_))
            return true;
          return reduces(st, inside.loops) && !rows_share_sets(st.buffer);
        },
        [&](const For& f) {
          inside.loops.push_back(f.var);
          const bool ok = comes_first(f.body, inside);
          inside.loops.pop_back();
          return ok;
        },
        [&](const If& i) { return comes_first(i.then, inside) && (!i.otherwise || comes_first(i.otherwise, inside)); },
        [&](const Seq& all) {
          return std::ranges::all_of(all.stmts, [&](const Stmt& child) { return comes_first(child, inside); });
        },
        [&](const Allocate& a) {
          inside.buffers.push_back(a.buffer);
          const bool ok = comes_first(a.body, inside);
          inside.buffers.pop_back();
          return ok;
        },
        [&](const LetStmt& l) { return comes_first(l.body, inside); }, [](const Evaluate&) { return true; },
        [](const Sync&) { return true; });
  }

  const Choice& choice_;
  std::vector<std::pair<Expr, int64_t>> known_;  // where the condition fails
  std::vector<Var> around_;                      // of joined loops
};

}  // namespace

bool holds_outer_loop(const Stmt& s) {
  bool found = false;
  walk(s, [&](const Stmt& at) {
    found = found || outer_loop(at);
    return !found;
  });
  return found;
}

std::optional<Stmt> joined(const Choice& choice, const Stmt& then, const Stmt& otherwise) {
  return Joiner(choice).branches(then, otherwise);
}

}  // namespace tw::lower
