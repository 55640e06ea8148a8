// Strip-mining of vectorised loops: groups of full vectors, then what is left over.

#include "src/lower/vectorize.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "src/ir/equal.h"
#include "src/ir/register_lanes.h"
#include "src/ir/walk.h"
#include "src/lower/independence.h"
#include "src/lower/index_math.h"
#include "src/lower/vector_body.h"

namespace tw::lower {

using namespace ir;

namespace {

// Vectors of one group are written out (and live in registers together); a longer loop is a serial loop over groups.
constexpr int64_t kVectorsPerGroup = 16;
constexpr int64_t kVectorsPerLongGroup = 4;

bool has_loop(const Stmt& s) {
  bool found = false;
  walk(s, [&](const Stmt& at) {
    found = found || as<For>(at) || as<Allocate>(at);
    return !found;
  });
  return found;
}

// The variables inside `body` whose values differ between iterations of the loop over `var`.
class LaneVariables {
 public:
  LaneVariables(const Var& var, const Stmt& body) {
    ids_.insert(var.id());
    walk(body, [&](const Stmt& s) {
      if (const auto* l = as<LetStmt>(s); l && varies(l->value)) ids_.insert(l->var.id());
      return true;
    });
  }
  bool varies(const Expr& e) const {
    for (uint64_t id : used_vars(e))
      if (ids_.count(id)) return true;
    return false;
  }

  // Whether something in it has no vector form though iterations are independent: a C function, a loop whose extent
  // each lane has another of.
  bool lane_by_lane(const Stmt& s) const {
    bool found = false;
    walk(
        s,
        [&](const Stmt& at) {
          const auto* f = as<For>(at);
          found = found || (f && varies(f->extent));
          return !found;
        },
        [&](const Expr& e) {
          found = found || as<CallExtern>(e);
          return !found;
        });
    return found;
  }

  // Whether some statement has a vector form.
  bool vectors_in(const Stmt& s) const {
    if (!lane_by_lane(s)) return true;
    if (const auto* f = as<For>(s)) return !varies(f->extent) && vectors_in(f->body);
    if (const auto* a = as<Allocate>(s)) return vectors_in(a->body);
    const auto* all = as<Seq>(s);
    return all &&
           std::any_of(all->stmts.begin(), all->stmts.end(), [&](const Stmt& child) { return vectors_in(child); });
  }

 private:
  std::unordered_set<uint64_t> ids_;
};

struct Access {
  std::vector<Expr> at;
  bool is_store;
};

bool same_subscripts(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) { return equal(x, y); });
}

bool has_vector_form(const For& f) {
  const Var& var = f.var;
  const Stmt& body = f.body;
  const LaneVariables lane(var, body);
  const auto varies = [&](const Expr& e) { return lane.varies(e); };
  std::unordered_set<uint64_t> inside;  // buffers allocated in the body: one copy per lane
  std::unordered_map<uint64_t, std::vector<Access>> accesses;
  bool ok = true;
  walk(
      body,
      [&](const Stmt& s) {
        ok = ok && !as<Evaluate>(s);  // a call has effects, in the order of the iterations
        if (const auto* f = as<For>(s)) ok = ok && !runs_concurrently(f->kind);
        if (const auto* a = as<Allocate>(s)) {
          inside.insert(a->buffer.id());
          for (const Expr& extent : a->buffer.shape()) ok = ok && as_int(extent);
        }
        if (const auto* st = as<Store>(s)) {
          ok = ok && (inside.count(st->buffer.id()) || std::any_of(st->at.begin(), st->at.end(), varies));
          accesses[st->buffer.id()].push_back({st->at, true});
        }
        return ok;
      },
      [&](const Expr& e) {
        const auto* call = as<CallExtern>(e);
        ok = ok && !as<Address>(e) && !(call && !call->pure) && e.type().is_scalar();
        if (const auto* l = as<Load>(e)) accesses[l->buffer.id()].push_back({l->at, false});
        return ok;
      });
  const bool same = std::all_of(accesses.begin(), accesses.end(), [&](const auto& of) {
    const auto& list = of.second;
    const bool stored = std::any_of(list.begin(), list.end(), [](const Access& a) { return a.is_store; });
    return !stored || inside.count(of.first) ||
           std::all_of(list.begin(), list.end(), [&](const Access& a) { return same_subscripts(a.at, list[0].at); });
  });
  return ok && (same || independent(var, f.extent, body)) && lane.vectors_in(body);
}

// Whether all stores to a private buffer write its rows by vectorised loops of one width: then the lanes past the end
// of a row are written before they are read, like the others.
class RowUse {
 public:
  RowUse(const Buffer& buffer, int64_t row, int lanes, const Target& target)
      : buffer_(buffer), row_(row), lanes_(lanes), target_(target) {}

  bool whole_vectors(const Stmt& body) {
    visit(body, false);
    return found_ && ok_;
  }

 private:
  void visit(const Stmt& s, bool guarded) {
    if (const auto* f = as<For>(s)) {
      const bool along = f->kind == ForKind::kVectorized && as_int(f->extent) == row_ &&
                         lanes_for(f->body, target_) == lanes_ && has_vector_form(*f) &&
                         !LaneVariables(f->var, f->body).lane_by_lane(f->body);
      if (along) along_.push_back(f->var);
      visit(f->body, guarded);
      if (along) along_.pop_back();
    } else if (const auto* i = as<If>(s)) {
      const bool on_lanes =
          guarded || std::any_of(along_.begin(), along_.end(), [&](const Var& v) { return uses_var(i->cond, v); });
      visit(i->then, on_lanes);
      if (i->otherwise) visit(i->otherwise, on_lanes);
    } else if (const auto* all = as<Seq>(s)) {
      for (const Stmt& child : all->stmts) visit(child, guarded);
    } else if (const auto* a = as<Allocate>(s)) {
      visit(a->body, guarded);
    } else if (const auto* l = as<LetStmt>(s)) {
      visit(l->body, guarded);
    } else if (const auto* st = as<Store>(s); st && st->buffer == buffer_) {
      const auto* last = as<VarRef>(st->at.back());
      const bool along = last && std::find(along_.begin(), along_.end(), last->var) != along_.end();
      found_ = true;
      ok_ = ok_ && along && !guarded && !st->pred;
    }
  }

  const Buffer& buffer_;
  const int64_t row_;
  const int lanes_;
  const Target& target_;
  std::vector<Var> along_;
  bool found_ = false, ok_ = true;
};

class Vectorizer {
 public:
  Vectorizer(const Program& p, const Target& target) : target_(target) {
    for (const Param& param : p.params) constant_buffers_.insert(param.buffer.id());
    walk(p.body, [&](const Stmt& s) {
      if (const auto* st = as<Store>(s)) constant_buffers_.erase(st->buffer.id());
      return true;
    });
  }

  Stmt visit(const Stmt& s) {
    if (const auto* a = as<Allocate>(s); a && wants_padding(*a)) return padded(*a);
    const auto* f = as<For>(s);
    if (!f) return map_children(s, [&](const Stmt& child) { return visit(child); }, [](const Expr& e) { return e; });
    const auto extent = as_int(f->extent);
    if (f->kind == ForKind::kVectorized && extent && *extent > 0 && has_vector_form(*f)) return vectorized(*f, *extent);
    bound(*f);
    const ForKind kind = f->kind == ForKind::kVectorized ? ForKind::kSerial : f->kind;
    return loop(f->var, f->extent, visit(f->body), kind, f->tail);
  }

 private:
  void bound(const For& f) {
    const Interval extent = interval_of(f.extent, bounds_);
    if (extent.hi != Interval::kPosInf) bounds_[f.var.id()] = {0, extent.hi - 1};
  }

  Stmt vectorized(const For& f, int64_t extent) {
    lanes_ = lanes_for(f.body, target_);
    var_ = f.var;
    const int64_t vectors = extent / lanes_;
    if (vectors <= kVectorsPerGroup) return group_of(f.body, 0, extent);
    const int64_t group = kVectorsPerLongGroup * lanes_, groups = extent / group;
    Var g(f.var.name() + ".o");
    bounds_[g.id()] = {0, groups - 1};
    std::vector<Stmt> parts{loop(g, groups, group_of(f.body, multiply(g, group), group))};
    if (extent % group) parts.push_back(group_of(refresh(f.body), groups * group, extent % group));
    return seq(std::move(parts));
  }

  Stmt group_of(const Stmt& body, const Expr& first, int64_t count) {
    varying_.emplace(var_, body);
    if (!varying_->lane_by_lane(body)) varying_.reset();
    return emit(body, first, count);
  }

  // A row of a private buffer that a vectorised loop runs along gets room for whole vectors, so that what is left over
  // of the loop needs no mask there (masked accesses would keep it out of registers).
  bool wants_padding(const Allocate& a) const {
    if (!is_private(a.buffer.scope()) || a.buffer.rank() == 0 || !has_masks()) return false;
    const auto row = as_int(a.buffer.shape().back());
    if (!row || *row <= 0) return false;
    const uint64_t left = static_cast<uint64_t>(*row % row_lanes(a.buffer));
    if (left == 0 || std::has_single_bit(left) || is_called_with(a)) return false;
    return RowUse(a.buffer, *row, row_lanes(a.buffer), target_).whole_vectors(a.body);
  }

  // A function may have been told how far apart rows are, or where in the memory its part begins.
  static bool is_called_with(const Allocate& a) {
    bool called = false;
    walk(
        a.body, [&](const Stmt&) { return !called; },
        [&](const Expr& e) {
          const auto* call = as<CallExtern>(e);
          for (const Expr& arg : call ? call->args : std::vector<Expr>())
            if (const auto* address = as<Address>(arg)) called = called || address->buffer == a.buffer;
          return !called;
        });
    return called;
  }

  Stmt padded(const Allocate& a) {
    std::vector<Expr> shape = a.buffer.shape();
    shape.back() = rounded_up(*as_int(shape.back()), row_lanes(a.buffer));
    const Buffer roomy(a.buffer.name(), a.buffer.element(), std::move(shape), a.buffer.scope());
    padded_.insert(roomy.id());
    return allocate(roomy, visit(replace_buffers(a.body, {{a.buffer.id(), roomy}})));
  }

  // At least the lanes of any loop that touches the buffer.
  int row_lanes(const Buffer& buffer) const { return register_lanes(target_, buffer.element()); }
  static int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

  // Iterations first .. first + count - 1. Iterations don't see each other, so the vectors of a group may go through
  // the body side by side: inside its serial loops, where their accumulators stay in registers.
  Stmt emit(const Stmt& s, const Expr& first, int64_t count) {
    const bool lane_by_lane = varying_ && varying_->lane_by_lane(s);
    if (!lane_by_lane && !has_loop(s)) return vectors(s, first, count);
    if (const auto* f = as<For>(s); f && !(lane_by_lane && varying_->varies(f->extent))) {
      bound(*f);
      return loop(f->var, f->extent, emit(f->body, first, count),
                  f->kind == ForKind::kVectorized ? ForKind::kSerial : f->kind, f->tail);
    }
    if (const auto* all = as<Seq>(s)) {
      std::vector<Stmt> out;
      for (const Stmt& child : all->stmts) out.push_back(emit(child, first, count));
      return seq(std::move(out));
    }
    if (const auto* a = as<Allocate>(s)) {
      const Buffer buffer = with_lane_dimension(a->buffer, rounded_up(count, lanes_));
      private_[a->buffer.id()] = {buffer, first, !lane_by_lane && !guarded_store(a->body, a->buffer)};
      return allocate(buffer, emit(a->body, first, count));
    }
    if (const auto* i = as<If>(s); i && !uses_var(i->cond, var_))
      return if_then(i->cond, emit(i->then, first, count), i->otherwise ? emit(i->otherwise, first, count) : Stmt());
    return lane_by_lane ? one_by_one(s, first, count) : vectors(s, first, count);
  }

  Stmt one_by_one(const Stmt& s, const Expr& first, int64_t count) {
    const Var lane(var_.name() + ".l");
    return loop(lane, count, scalar(s, add(first, lane)));
  }

  // Whether a store to `buffer` stands under a condition on lanes.
  bool guarded_store(const Stmt& s, const Buffer& buffer, bool guarded = false) const {
    if (const auto* st = as<Store>(s)) return guarded && st->buffer == buffer;
    if (const auto* i = as<If>(s)) guarded = guarded || uses_var(i->cond, var_);
    bool found = false;
    map_children(
        s,
        [&](const Stmt& child) {
          found = found || guarded_store(child, buffer, guarded);
          return child;
        },
        [](const Expr& e) { return e; });
    return found;
  }

  Stmt vectors(const Stmt& s, const Expr& first, int64_t count) {
    const int64_t full = count / lanes_;
    std::vector<Stmt> parts;
    if (full == 1) parts.push_back(vector(s, first, lanes_, lanes_));
    if (full > 1) {
      Var c(var_.name() + ".v");
      bounds_[c.id()] = {0, full - 1};
      parts.push_back(loop(c, full, vector(s, add(first, multiply(c, lanes_)), lanes_, lanes_), ForKind::kUnrolled));
    }
    for (int64_t done = full * lanes_; done < count;) {
      const int left = static_cast<int>(count - done);
      const int lanes = static_cast<int>(has_masks() ? std::bit_ceil<unsigned>(left) : std::bit_floor<unsigned>(left));
      parts.push_back(vector(done ? refresh(s) : s, add(first, done), lanes, std::min(lanes, left)));
      done += lanes;
    }
    return seq(std::move(parts));
  }

  Stmt vector(const Stmt& s, const Expr& base, int lanes, int count) {
    if (lanes > 1) return vector_body(s, {var_, bounds_, &constant_buffers_, &padded_}, private_, base, lanes, count);
    return scalar(s, base);
  }

  // A single lane: the body itself, with subscripts of the private buffers completed.
  Stmt scalar(const Stmt& s, const Expr& lane) {
    const auto completed = [&](Buffer& buffer, std::vector<Expr>& at) {
      const auto it = private_.find(buffer.id());
      if (it == private_.end()) return false;
      buffer = it->second.buffer;
      at.push_back(subtract(lane, it->second.first_lane));
      return true;
    };
    const auto on_expr = [&](const Expr& e) {
      const auto* l = as<Load>(e);
      if (!l) return e;
      Load copy = *l;
      return completed(copy.buffer, copy.at) ? load(copy.buffer, copy.at, copy.pred) : e;
    };
    const auto on_stmt = [&](const Stmt& at) {
      const auto* st = as<Store>(at);
      if (!st) return at;
      Store copy = *st;
      return completed(copy.buffer, copy.at) ? store(copy.buffer, copy.at, copy.value, copy.pred) : at;
    };
    return rewrite(substitute(s, {{var_.id(), lane}}), on_stmt, on_expr);
  }

  bool has_masks() const { return target_.abilities.masks; }

  const Target& target_;
  std::unordered_set<uint64_t> constant_buffers_, padded_;
  Bounds bounds_;
  PrivateBuffers private_;
  Var var_;
  std::optional<LaneVariables> varying_;  // where a statement of the loop has no vector form
  int lanes_ = 1;
};

}  // namespace

int lanes_for(const Stmt& body, const Target& target) {
  int lanes = register_lanes(target, Type::u(8));
  const auto see = [&](Type t) {
    if (!t.is_index()) lanes = std::min(lanes, register_lanes(target, t));
  };
  walk(
      body,
      [&](const Stmt& s) {
        if (const auto* st = as<Store>(s)) see(st->buffer.element());
        return true;
      },
      [&](const Expr& e) {
        see(e.type());
        return true;
      });
  return lanes;
}

Program vectorize(const Program& p, const Target& target) {
  Program out = p;
  out.body = Vectorizer(p, target).visit(p.body);
  return out;
}

}  // namespace tw::lower
