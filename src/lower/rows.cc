// What a loop counts, whether it leaves the rows of memory, and the two loops.

#include "src/lower/rows.h"

#include <algorithm>
#include <optional>

#include "src/ir/equal.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

// for var in 0..count: body
struct Flat {
  Var var;
  Expr count;
  Stmt body;
};

constexpr int64_t kShortest = 16;  // of rows of a known length: shorter ones are no loops worth having

// x // m or x % m of an x that uses `var`, where m may be the length of a row.
const Binary* divides(const Expr& e, const Var& var) {
  const auto* b = as<Binary>(e);
  const bool division = b && (b->op == BinOp::kFloorDiv || b->op == BinOp::kFloorMod);
  return division && e.type().is_index() && as_int(b->b).value_or(kShortest) >= kShortest && uses_var(b->a, var)
             ? b
             : nullptr;
}

bool has_division(const Expr& e, const Var& var) {
  bool found = false;
  if (e)
    walk(e, [&](const Expr& at) {
      found = found || divides(at, var);
      return !found;
    });
  return found;
}

// Whether iterations of a parallel loop may be dealt out anew: those that stand inside it are no loops, whose work
// hides a division, and no two of them store to one byte, which only the loop as it stands may rule out.
bool may_be_pieces(const Stmt& body) {
  bool plain = true;
  walk(body, [&](const Stmt& at) {
    const auto* store = as<Store>(at);
    plain = plain && !as<For>(at) && !(store && store->buffer.element().is_packed());
    return plain;
  });
  return plain;
}

Expr offset(const Buffer& buffer, const std::vector<Expr>& at) {
  Expr sum = 0;
  for (size_t d = 0; d < at.size(); ++d)
    sum = buffer.strides().empty() ? add(multiply(sum, buffer.shape()[d]), at[d])
                                   : add(sum, multiply(at[d], buffer.strides()[d]));
  return sum;
}

// Whether a quotient or a remainder of `var` is left where subscripts are one number each.
class LeavesRows {
 public:
  LeavesRows(const Var& var, const Bounds& sizes) : var_(var), sizes_(sizes) {}

  bool operator()(const Stmt& s) const {
    bool found = false;
    walk(
        s,
        [&](const Stmt& at) {
          const auto* st = as<Store>(at);
          if (st) found = found || (*this)(st->buffer, st->at) || (*this)(st->value) || (*this)(st->pred);
          return !st && !found;
        },
        [&](const Expr& e) {
          found = found || (*this)(e);
          return false;
        });
    return found;
  }

 private:
  bool operator()(const Expr& e) const {
    bool found = false;
    if (!e) return false;
    walk(e, [&](const Expr& at) {
      const auto* l = as<Load>(at);
      found = found || (l ? (*this)(l->buffer, l->at) || (*this)(l->pred) : divides(at, var_) != nullptr);
      return !l && !found;
    });
    return found;
  }

  bool operator()(const Buffer& buffer, const std::vector<Expr>& at) const {
    if (std::any_of(at.begin(), at.end(), [](const Expr& e) { return has_load(e); })) return true;
    const bool divided = std::any_of(at.begin(), at.end(), [&](const Expr& e) { return has_division(e, var_); });
    return divided && has_division(simplify(offset(buffer, at), sizes_), var_);
  }

  const Var& var_;
  const Bounds& sizes_;
};

class RowMaker {
 public:
  explicit RowMaker(const Program& p) : sizes_(scalar_bounds(p)) {}

  Stmt visit(const Stmt& s) {
    const auto* f = as<For>(s);
    if (f && f->kind == ForKind::kSerial && (!as_int(f->extent) || may_be_pieces(f->body)))
      if (const auto rows = in_rows(flat(*f)))
        return visit(loop(rows->i, rows->count, loop(rows->j, rows->length, rows->body)));
    if (f && runs_concurrently(f->kind))
      if (const Flat whole = flat(*f); may_be_pieces(whole.body))
        if (const auto rows = in_rows(whole)) return in_pieces(*rows, f->var);
    const BoundsInside inside(sizes_, f ? f->extent : Expr(1));
    return map_children(s, [&](const Stmt& child) { return visit(child); }, [](const Expr& e) { return e; });
  }

 private:
  // The parts of a loop that was split, as one loop again.
  Flat flat(const For& f) const {
    const Flat as_it_is{f.var, f.extent, f.body};
    if (as_int(f.extent)) return as_it_is;
    const auto* part = as<For>(f.body);
    const auto length = part && !runs_concurrently(part->kind) ? as_int(part->extent) : std::nullopt;
    const auto* i = length ? as<If>(part->body) : nullptr;
    const auto* inside = i && !i->otherwise ? as<Binary>(i->cond) : nullptr;
    if (!inside || inside->op != BinOp::kLt || !inside->a.type().is_index()) return as_it_is;
    const Expr at = Expr(f.var) * *length + Expr(part->var), count = inside->b;
    const Expr parts = floordiv(count + Expr(*length - 1), *length);
    if (!equal(simplify(inside->a), simplify(at)) || !equal(simplify(parts, sizes_), simplify(f.extent, sizes_)))
      return as_it_is;
    const Var whole(f.var.name());
    const Stmt body = simplify(substitute(i->then, {{part->var.id(), Expr(whole) - Expr(f.var) * *length}}), sizes_);
    const auto free = free_vars(body);
    if (std::find(free.begin(), free.end(), f.var) != free.end()) return as_it_is;
    return {whole, count, body};
  }

  // for i in 0..count: for j in 0..length: body
  struct Rows {
    Var i, j;
    Expr count, length;
    Stmt body;
  };

  // Pieces of rows, for who runs them at the same time needs enough of them where rows are few and long.
  static Stmt in_pieces(const Rows& rows, const Var& fused) {
    constexpr int64_t kPiece = 1024;
    const Expr pieces = floordiv(rows.length + Expr(kPiece - 1), kPiece);
    const Var piece(fused.name() + ".p"), at(fused.name());
    const Expr begin = floormod(Expr(piece), pieces) * kPiece;
    const Stmt body =
        substitute(rows.body, {{rows.i.id(), floordiv(Expr(piece), pieces)}, {rows.j.id(), begin + Expr(at)}});
    return loop(piece, rows.count * pieces, loop(at, min(Expr(kPiece), rows.length - begin), body), ForKind::kParallel);
  }

  std::optional<Rows> in_rows(const Flat& f) const {
    const Expr row = length_of_row(f);
    if (!row) return std::nullopt;
    const Expr rows = quotient(f.count, row);
    if (!rows || !LeavesRows(f.var, bounds_where(Expr(0) < f.count, sizes_))(f.body)) return std::nullopt;
    const Var i(f.var.name() + ".r"), j(f.var.name());
    bool others = false;
    const Stmt body = rewrite(
        f.body, [](const Stmt& at) { return at; },
        [&](const Expr& e) {
          const Binary* b = divides(e, f.var);
          if (!b) return e;
          const auto* v = as<VarRef>(b->a);
          if (v && equal(b->b, row)) return Expr(b->op == BinOp::kFloorDiv ? i : j);
          others = true;
          return e;
        });
    if (others) return std::nullopt;
    return Rows{i, j, rows, row, substitute(body, {{f.var.id(), multiply(i, row) + Expr(j)}})};
  }

  // What the loop's variable itself is divided by; empty where that is nothing, or varies.
  Expr length_of_row(const Flat& f) const {
    Expr row;
    bool one = true;
    const auto note = [&](const Expr& e) {
      const Binary* b = divides(e, f.var);
      if (!b || !as<VarRef>(b->a)) return true;
      const auto used = used_vars(b->b);
      one = one && (!row || equal(row, b->b)) &&
            std::all_of(used.begin(), used.end(), [&](uint64_t id) { return sizes_.contains(id); });
      row = b->b;
      return true;
    };
    walk(f.body, [](const Stmt&) { return true; }, note);
    return one ? row : Expr();
  }

  // product / factor, where it is one of the factors.
  static Expr quotient(const Expr& product, const Expr& factor) {
    if (const auto n = as_int(product), m = as_int(factor); n && m) return *n % *m == 0 ? Expr(*n / *m) : Expr();
    const auto* b = as<Binary>(product);
    if (!b || b->op != BinOp::kMul) return {};
    if (equal(b->b, factor)) return b->a;
    if (equal(b->a, factor)) return b->b;
    if (const Expr left = quotient(b->a, factor)) return left * b->b;
    if (const Expr left = quotient(b->b, factor)) return b->a * left;
    return {};
  }

  Bounds sizes_;  // of the variables of extents, where the loops around run
};

}  // namespace

Program rows(const Program& p, const Target&) {
  Program out = p;
  out.body = RowMaker(p).visit(p.body);
  return out;
}

}  // namespace tw::lower
