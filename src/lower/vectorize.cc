// Strip-mining of vectorised loops: groups of full vectors, then what is left over.

#include "src/lower/vectorize.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "src/ir/register_lanes.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"
#include "src/lower/intrinsics.h"
#include "src/lower/vector_body.h"
#include "src/lower/vector_form.h"

namespace tw::lower {

using namespace ir;

namespace {

// Vectors of one group are written out; a longer loop is a serial loop over groups. Many of them only where they share
// registers: their sums, or the constants of a polynomial.
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

bool has_polynomial(const Stmt& s) {
  bool found = false;
  walk(
      s, [&](const Stmt&) { return !found; },
      [&](const Expr& e) {
        const auto* call = as<Call>(e);
        found = found || (call && becomes_polynomial(call->fn));
        return !found;
      });
  return found;
}

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
    if (const auto* a = as<Allocate>(s))
      if (const auto row = row_of_vectors(*a)) return with_room(*a, *row);
    if (const auto* i = as<If>(s)) return branches(*i);
    const auto* f = as<For>(s);
    if (!f) return map_children(s, [&](const Stmt& child) { return visit(child); }, [](const Expr& e) { return e; });
    const auto extent = as_int(f->extent);
    if (f->kind == ForKind::kVectorized && extent && *extent > 0 && has_vector_form(*f)) return vectorized(*f, *extent);
    const ForKind kind = f->kind == ForKind::kVectorized ? ForKind::kSerial : f->kind;
    return loop(f->var, f->extent, inside(*f, [&] { return visit(f->body); }), kind, f->tail);
  }

 private:
  // What a condition says of the variables is known in its branches.
  Stmt branches(const If& i) {
    const auto where = [&](const Expr& holds, const Stmt& branch) {
      Bounds around = std::exchange(bounds_, bounds_where(holds, bounds_));
      Stmt made = visit(branch);
      bounds_ = std::move(around);
      return made;
    };
    return if_then(i.cond, where(i.cond, i.then), i.otherwise ? where(logical_not(i.cond), i.otherwise) : Stmt());
  }

  // Only what stands around a vector is known there: a long program has many loops.
  template <class F>
  Stmt inside(const Var& var, int64_t extent, F make) {
    bounds_[var.id()] = {0, extent - 1};
    Stmt made = make();
    bounds_.erase(var.id());
    return made;
  }
  template <class F>
  Stmt inside(const For& f, F make) {
    const Interval extent = interval_of(f.extent, bounds_);
    return extent.hi == Interval::kPosInf ? make() : inside(f.var, extent.hi, make);
  }

  Stmt vectorized(const For& f, int64_t extent) {
    lanes_ = lanes_for(f.body, target_);
    var_ = f.var;
    const int64_t vectors = extent / lanes_;
    const bool shared = has_loop(f.body) || has_polynomial(f.body) || uses_registers(f.body);
    if (vectors < (shared ? kVectorsPerGroup + 1 : 2 * kVectorsPerLongGroup)) return group_of(f.body, 0, extent);
    const int64_t group = kVectorsPerLongGroup * lanes_, groups = extent / group;
    Var g(f.var.name() + ".o");
    const Stmt whole = inside(g, groups, [&] { return group_of(f.body, multiply(g, group), group); });
    std::vector<Stmt> parts{loop(g, groups, whole)};
    if (extent % group) parts.push_back(group_of(refresh(f.body), groups * group, extent % group));
    return seq(std::move(parts));
  }

  // Whether the lanes run along an array that may be registers, whose subscripts are numbers then.
  bool uses_registers(const Stmt& body) const {
    bool found = false;
    const auto see = [&](const Buffer& buffer, const std::vector<Expr>& at) {
      const bool along = std::any_of(at.begin(), at.end(), [&](const Expr& i) { return uses_var(i, var_); });
      if (!along || !is_private(buffer.scope())) return;
      int64_t elements = 1;
      for (const Expr& extent : buffer.shape()) elements *= as_int(extent).value_or(0);
      const int64_t most = int64_t{target_.abilities.vector_registers} * lanes_;
      found = found || elements <= most || target_.abilities.device;  // a thread's array is registers or slow
    };
    walk(
        body,
        [&](const Stmt& s) {
          if (const auto* st = as<Store>(s)) see(st->buffer, st->at);
          return !found;
        },
        [&](const Expr& e) {
          if (const auto* l = as<Load>(e)) see(l->buffer, l->at);
          return !found;
        });
    return found;
  }

  Stmt group_of(const Stmt& body, const Expr& first, int64_t count) {
    varying_.emplace(var_, body);
    if (!varying_->lane_by_lane(body)) varying_.reset();
    return emit(body, first, count);
  }

  // A row of a private buffer that vectorised loops run along has room for whole vectors, so that what is left over of
  // the loops needs no mask there (masked accesses would keep it out of registers). As long as that row is, where it
  // needs room, or has it and the loops end before.
  std::optional<int64_t> row_of_vectors(const Allocate& a) const {
    if (!is_private(a.buffer.scope()) || a.buffer.rank() == 0 || !has_masks()) return {};
    const auto row = as_int(a.buffer.shape().back());
    if (!row || *row <= 0) return {};
    const auto extent = written_by_vectors(a.body, a.buffer, row_lanes(a.buffer), target_);
    const uint64_t left = static_cast<uint64_t>(extent.value_or(0) % row_lanes(a.buffer));
    if (left == 0 || std::has_single_bit(left) || is_called_with(a)) return {};
    return std::max(*row, rounded_up(*extent, row_lanes(a.buffer)));
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

  Stmt with_room(const Allocate& a, int64_t row) {
    std::vector<Expr> shape = a.buffer.shape();
    shape.back() = row;
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
      return loop(f->var, f->extent, inside(*f, [&] { return emit(f->body, first, count); }),
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
      const Stmt body = emit(a->body, first, count);
      private_.erase(a->buffer.id());
      return allocate(buffer, body);
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
      const Stmt whole = inside(c, full, [&] { return vector(s, add(first, multiply(c, lanes_)), lanes_, lanes_); });
      parts.push_back(loop(c, full, whole, ForKind::kUnrolled));
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
      return completed(copy.buffer, copy.at) ? store(copy.buffer, copy.at, copy.value, copy.pred, copy.arrival) : at;
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

Program vectorize(const Program& p, const Target& target) {
  Program out = p;
  out.body = Vectorizer(p, target).visit(p.body);
  return out;
}

}  // namespace tw::lower
