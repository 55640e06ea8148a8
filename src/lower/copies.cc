#include "src/lower/copies.h"

#include <algorithm>
#include <utility>

#include "src/ir/group_products.h"
#include "src/ir/interval_arith.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/neighbours.h"
#include "src/lower/pipeline.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int64_t kMostRegisters = 64;  // elements that a thread keeps of one buffer until an iteration's end

bool arrives_later(const Stmt& s) {
  const auto* st = as<Store>(s);
  return st && st->arrival != Arrival::kNow;
}

template <class Which>
bool holds(const Stmt& s, const Which& which) {
  bool found = false;
  walk(s, [&](const Stmt& inner) { return !(found = found || which(inner)); });
  return found;
}

bool is_commit(const Stmt& s) {
  const auto* sync = as<Sync>(s);
  return sync && sync->op == SyncOp::kCommit;
}
bool is_of_copies(const Stmt& s) {
  const auto* sync = as<Sync>(s);
  return sync && !is_barrier(sync->op);
}

// Why a store, over the lanes of the vectorized loop directly around it if there is one, is no copy of the device's;
// empty where it is.
std::string why_no_copy(const Store& st, const For* lanes, const Bounds& ranges) {
  const auto* from = as<Load>(st.value);
  if (!from || !!from->pred || !!st.pred) return "each value must be an element as it is read";
  if (from->buffer.scope() > Scope::kGlobal) return "it must read memory of the device, not " + from->buffer.name();
  if (from->buffer.element() != st.buffer.element() || st.buffer.element().is_packed())
    return "its elements must be of the type of those that it reads";
  const int64_t count = lanes ? as_int(lanes->extent).value_or(0) : 1;
  const int64_t bytes = count * st.buffer.element().bytes();
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return "threads must copy 4, 8 or 16 bytes at once that lie side by side, not " + std::to_string(bytes);
  if (!lanes) return "";
  const bool side_by_side = are_neighbours(st.buffer, st.at, lanes->var, count, ranges) &&
                            are_neighbours(from->buffer, from->at, lanes->var, count, ranges);
  return side_by_side ? ""
                      : "the lanes of " + lanes->var.name() + " must lie side by side, from a multiple of " +
                            std::to_string(bytes) + " bytes on";
}

// Ranges of what stands around.
class Visitor {
 public:
  explicit Visitor(const Program& p) {
    std::vector<Expr> extents;
    for (const Param& param : p.params)
      extents.insert(extents.end(), param.buffer.shape().begin(), param.buffer.shape().end());
    ranges_ = bounds_of_extents(extents);
  }

 protected:
  void enter(const For& f) {
    ranges_[f.var.id()] = {0, std::max<int64_t>(shifted(interval_of(f.extent, ranges_), -1).hi, 0)};
  }
  // What loops over lanes and conditions stand around, as in "for lanes: S[..] = A[..]".
  std::string why_not(const Store& st) const { return why_no_copy(st, lanes_, ranges_); }

  Bounds ranges_;
  const For* lanes_ = nullptr;
};

// Each store that arrives later by the way that it takes: kByCopy, or kByRegisters.
class Ways : public Visitor {
 public:
  using Visitor::Visitor;

  Stmt visit(const Stmt& s) {
    if (const auto* st = as<Store>(s)) return st->arrival == Arrival::kNow ? s : way_of(*st);
    const auto* f = as<For>(s);
    if (!f) return map_children(s, [&](const Stmt& child) { return visit(child); }, [](const Expr& e) { return e; });
    enter(*f);
    const bool over_one = f->kind == ForKind::kVectorized && as<Store>(innermost(f->body)) != nullptr;
    const For* outer = std::exchange(lanes_, over_one ? f : nullptr);
    const Stmt body = visit(f->body);
    lanes_ = outer;
    return loop(f->var, f->extent, body, f->kind, f->tail);
  }

 private:
  static Stmt innermost(const Stmt& s) {
    const auto* i = as<If>(s);
    return i && !i->otherwise ? innermost(i->then) : s;
  }

  // What is padding is no copy, and there at once.
  Stmt way_of(const Store& st) const {
    const auto* choice = as<Select>(st.value);
    const bool varies = lanes_ && choice && uses_var(choice->cond, lanes_->var);
    if (choice && as<Load>(choice->yes) && !has_load(choice->no) && !varies) {
      const Stmt copy = way_of(Store{st.buffer, st.at, choice->yes, st.pred, st.arrival});
      if (as<Store>(copy)->arrival == Arrival::kByCopy)
        return if_then(choice->cond, copy, store(st.buffer, st.at, choice->no, st.pred));
    }
    const bool copied = st.arrival != Arrival::kByRegisters && why_not(st).empty();
    return store(st.buffer, st.at, st.value, st.pred, copied ? Arrival::kByCopy : Arrival::kByRegisters);
  }
};

// A value, of which it may be the rounding by te.tf32, or by that and zero: what is rounded.
std::optional<Expr> before_rounding(const Expr& value) {
  const auto* call = as<Call>(value);
  if (call && call->fn == Fn::kTF32) return call->args[0];
  const auto* choice = as<Select>(value);
  const auto* no = choice ? as<FloatImm>(choice->no) : nullptr;
  call = no && no->value == 0 ? as<Call>(choice->yes) : nullptr;
  if (!call || call->fn != Fn::kTF32) return std::nullopt;
  return select(choice->cond, call->args[0], choice->no);
}

// What goes through registers, in one statement: first read, in the end stored.
class Registers {
 public:
  // Stores into registers of their own; empty where they would be too many.
  std::optional<Stmt> read(const Stmt& s) { return visit(s, true); }
  Stmt stored(const Stmt& s) { return refresh(*visit(s, false)); }
  Stmt around(Stmt body) const {
    for (const Buffer& buffer : kept_) body = allocate(buffer, body);
    return body;
  }

 private:
  std::optional<Stmt> visit(const Stmt& s, bool reads) {
    if (const auto* st = as<Store>(s)) {
      if (st->arrival != Arrival::kByRegisters) return reads ? s : seq({});
      return reads ? kept(*st) : from_kept(*st);
    }
    if (!reads && as<Evaluate>(s)) return seq({});
    const auto* f = as<For>(s);
    if (f) loops_.push_back(*f);
    bool possible = true;
    const Stmt out = map_children(
        s,
        [&](const Stmt& child) {
          const std::optional<Stmt> made = visit(child, reads);
          possible = possible && made;
          return made.value_or(child);
        },
        [](const Expr& e) { return e; });
    if (f) loops_.pop_back();
    return possible ? std::optional(out) : std::nullopt;
  }

  std::optional<Stmt> kept(const Store& st) {
    std::vector<Expr> shape, at;
    int64_t elements = 1;
    for (const For& f : loops_) {
      const auto extent = as_int(f.extent);
      if (!extent) return std::nullopt;
      elements *= *extent;
      shape.push_back(f.extent);
      at.emplace_back(f.var);
    }
    if (elements > kMostRegisters || !!st.pred) return std::nullopt;
    if (shape.empty()) {
      shape.emplace_back(1);
      at.emplace_back(0);
    }
    kept_.emplace_back(st.buffer.name() + ".next", st.buffer.element(), shape, Scope::kLocal);
    return store(kept_.back(), at, before_rounding(st.value).value_or(st.value));
  }

  Stmt from_kept(const Store& st) {
    std::vector<Expr> at;
    for (const For& f : loops_) at.emplace_back(f.var);
    if (at.empty()) at.emplace_back(0);
    const Expr value = load(kept_[next_++], at);
    return store(st.buffer, st.at, before_rounding(st.value) ? call(Fn::kTF32, {value}) : value);
  }

  std::vector<For> loops_;  // around the statement at hand
  std::vector<Buffer> kept_;
  size_t next_ = 0;
};

Stmt at_once(const Stmt& s) {
  return rewrite(
      s,
      [](const Stmt& inner) {
        const auto* st = as<Store>(inner);
        return st && st->arrival == Arrival::kByRegisters ? store(st->buffer, st->at, st->value, st->pred) : inner;
      },
      [](const Expr& e) { return e; });
}

bool through_registers(const Stmt& s) {
  const auto* st = as<Store>(s);
  return st && st->arrival == Arrival::kByRegisters;
}

bool waits_for_products(const Stmt& s) {
  const std::optional<GroupCall> call = group_call(s);
  return call && call->op == GroupOp::kWait;
}

// A statement of an iteration whose values go through registers, a commit, and what the iteration does besides.
Stmt ahead(const Stmt& body) {
  if (const auto* a = as<Allocate>(body)) return allocate(a->buffer, ahead(a->body));
  const auto* all = as<Seq>(body);
  if (!all) return body;
  const auto begins = [](const Stmt& s) { return holds(s, through_registers); };
  const auto first = std::ranges::find_if(all->stmts, begins);
  const auto commit = std::find_if(first, all->stmts.end(), is_commit);
  const bool alone = std::none_of(std::next(first, first != all->stmts.end()), all->stmts.end(), begins);
  if (commit == all->stmts.end() || std::next(commit) == all->stmts.end() || !alone) return body;
  if (std::any_of(std::next(commit), all->stmts.end(), [](const Stmt& s) { return holds(s, is_of_copies); }))
    return body;
  Registers registers;
  const std::optional<Stmt> read = registers.read(*first);
  if (!read) return body;
  std::vector<Stmt> out(all->stmts.begin(), first);
  out.push_back(*read);
  out.insert(out.end(), std::next(first), all->stmts.end());
  out.insert(waits_for_products(out.back()) ? std::prev(out.end()) : out.end(), registers.stored(*first));
  return registers.around(seq(std::move(out)));
}

Stmt through(const Stmt& s) {
  const Stmt inner = map_children(s, [](const Stmt& child) { return through(child); }, [](const Expr& e) { return e; });
  const auto* f = as<For>(inner);
  if (!f || f->kind != ForKind::kSerial) return inner;
  return loop(f->var, f->extent, ahead(f->body), f->kind, f->tail);
}

Stmt without_waits(const Stmt& s) {
  if (holds(s, arrives_later)) return s;
  return rewrite(
      s, [](const Stmt& inner) { return is_of_copies(inner) ? seq({}) : inner; }, [](const Expr& e) { return e; });
}

class Refusals : public Visitor {
 public:
  using Visitor::Visitor;

  void visit(const Stmt& s) {
    if (found) return;
    if (const auto* st = as<Store>(s)) {
      if (st->arrival == Arrival::kByRegisters) return look(*st);
    }
    const auto* f = as<For>(s);
    if (f) enter(*f);
    const For* outer = std::exchange(lanes_, f && f->kind == ForKind::kVectorized ? f : lanes_);
    map_children(
        s,
        [&](const Stmt& child) {
          visit(child);
          return child;
        },
        [](const Expr& e) { return e; });
    lanes_ = outer;
  }

  std::optional<NoCopy> found;

 private:
  void look(const Store& st) { found = {st.buffer.name(), why_not(st)}; }
};

}  // namespace

Program copies(const Program& p, const Target&) {
  if (!holds(p.body, arrives_later) && !holds(p.body, is_of_copies)) return p;
  Program out = p;
  out.body = without_waits(at_once(through(Ways(p).visit(p.body))));
  return out;
}

std::optional<NoCopy> refused_copy(const Program& p, const Target& target) {
  const auto asked = [](const Stmt& s) {
    const auto* st = as<Store>(s);
    return st && st->arrival == Arrival::kByCopy;
  };
  if (!holds(p.body, asked)) return std::nullopt;
  Program shared = run_pipeline(gpu_passes(), p, target, "cooperative");
  const Stmt only = rewrite(
      shared.body,
      [&](const Stmt& s) {
        const auto* st = as<Store>(s);
        if (!st || st->arrival == Arrival::kNow || asked(s)) return s;
        return store(st->buffer, st->at, st->value, st->pred);
      },
      [](const Expr& e) { return e; });
  Refusals refusals(p);
  refusals.visit(Ways(p).visit(only));
  return refusals.found;
}

}  // namespace tw::lower
