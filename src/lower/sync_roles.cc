#include "src/lower/sync_roles.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/ir/equal.h"
#include "src/ir/group_products.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/sync_ways.h"

namespace tw::lower {

using namespace ir;

namespace {

bool has(const Stmt& s, AsyncOp op) {
  bool found = false;
  if (s)
    walk(s, [&](const Stmt& inner) {
      const auto call = async_call(inner);
      return !(found = found || (call && call->op == op));
    });
  return found;
}

// What goes on from one iteration to the next.
bool takes_turns(const Stmt& s) {
  bool found = false;
  walk(s, [&](const Stmt& inner) {
    const auto call = group_call(inner);
    const bool batch = call && (call->op == GroupOp::kCommit || call->op == GroupOp::kWait);
    return !(found = found || is_async(inner) || batch);
  });
  return found;
}

// How far a side has come: the turn that it begins or waits for next, and the one that it waits to have been read or
// arrives at next. Between the two it has what came.
struct Turns {
  Expr ahead, behind;
  struct UnderWay {
    int64_t turn;    // so many before `ahead`
    int64_t behind;  // batches that have ended since
    bool operator==(const UnderWay&) const = default;
  };
  std::vector<UnderWay> products;
  int64_t missing = 0;  // bytes of the turn that was begun last
};

class Side {
 public:
  Side(bool copies, const RolesSeen& seen, std::vector<RoleFault>& faults)
      : copies_(copies), seen_(seen), bounds_(seen.bounds), faults_(faults) {}

  uint64_t full = 0, free = 0;  // rings
  int64_t slots = 0;
  Expr turns;                          // of one that reads: all that are begun
  std::unordered_set<uint64_t> boxes;  // memory that they come to

  Turns run(const Stmt& s, const Place& place) {
    now_ = {Expr(0), copies_ ? Expr(-slots) : Expr(0), {}, 0};
    statement(s, place);
    if (now_.missing != 0) fault(s, "the last turn does not bring what is expected of it");
    return now_;
  }

 private:
  void fault(const Stmt& at, std::string why, std::string buffer = {}, bool certain = false) {
    if (faults_.empty()) faults_.push_back({std::move(buffer), std::move(why), at, certain});
  }
  Expr simple(const Expr& e) const { return simplify(e, bounds_); }
  Expr value(const Expr& e, const Place& place) const {
    return simple(place.values.empty() ? e : substitute(e, place.values));
  }
  bool same(const Expr& a, const Expr& b) const { return is_int(simple(a - b), 0) || equal(simple(a), simple(b)); }
  bool same(const Turns& a, const Turns& b) const {
    return same(a.ahead, b.ahead) && same(a.behind, b.behind) && a.products == b.products && a.missing == b.missing;
  }

  void statement(const Stmt& s, const Place& place) {
    match(
        s,
        [&](const Store& st) {
          for (const Expr& at : st.at) reads(at, s, place);
          reads(st.value, s, place);
          if (boxes.contains(st.buffer.id())) fault(s, "a thread stores where boxes come to", st.buffer.name());
        },
        [&](const For& f) { loop(f, s, place); }, [&](const If& i) { branch(i, s, place); },
        [&](const Seq& q) {
          for (const Stmt& one : q.stmts) statement(one, place);
        },
        [&](const Allocate& a) { statement(a.body, place); },
        [&](const LetStmt& l) {
          reads(l.value, s, place);
          statement(l.body, has_load(l.value) ? place.with_own(l.var, {}) : place.with(l.var, value(l.value, place)));
        },
        [&](const Evaluate& e) {
          if (const auto call = async_call(s)) return turn(*call, s, place);
          if (const auto call = group_call(s)) return group(*call, s, place);
          reads(e.value, s, place);
        },
        [&](const Sync&) {});
  }

  // Conditions of threads stand around one thread's copies, and around nothing else that takes turns.
  void branch(const If& i, const Stmt& s, const Place& place) {
    reads(i.cond, s, place);
    if (const auto known = as_int(value(i.cond, place))) {
      if (const Stmt& taken = *known != 0 ? i.then : i.otherwise; !!taken) statement(taken, place);
      return;
    }
    if (takes_turns(s)) {
      const bool first = copies_ && !alone_ && (!i.otherwise || !takes_turns(i.otherwise));
      if (!first) return fault(s, "some threads of a role may not come to what others do, where " + to_string(i.cond));
      alone_ = true;
    }
    statement(i.then, place.under(i.cond));
    if (i.otherwise) statement(i.otherwise, place.under(logical_not(i.cond)));
  }

  void loop(const For& f, const Stmt& s, const Place& place) {
    reads(f.extent, s, place);
    const Expr extent = value(f.extent, place);
    if (!takes_turns(f.body)) {
      if (const auto n = as_int(extent)) bounds_[f.var.id()] = {0, *n - 1};
      return statement(f.body, place.with_own(f.var, extent));
    }
    if (f.kind == ForKind::kCooperative || differs(extent, place))
      return fault(s, "threads of a role may have other numbers of iterations");
    const Interval times = interval_of(extent, bounds_);
    if (times.hi <= 0) return;
    const Turns before = now_;
    statement(f.body, place.with(f.var, 0));
    if (times.hi == 1 && times.lo == 1) return;
    const Turns first = now_;
    const Expr step = simple(first.ahead - before.ahead);
    const auto at = [&](const Expr& n) {
      Turns out = first;
      out.ahead = simple(before.ahead + step * n);
      out.behind = simple(first.behind + step * (n - 1));
      return out;
    };
    const Var n(f.var.name());
    bounds_[n.id()] = {1, times.hi == Interval::kPosInf ? times.hi : times.hi - 1};
    now_ = at(n);
    ++for_all_;
    statement(f.body, place.with(f.var, n));
    --for_all_;
    if (!same(now_, at(Expr(n) + 1))) {
      fault(s, "iterations of " + f.var.name() + " do not go on as the first one does");
      too_early_ = false;
    }
    if (for_all_ == 0) known_too_early();
    now_ = at(extent);
    if (times.lo < 1 && !same(at(Expr(0)), before)) fault(s, f.var.name() + " may have no iteration");
  }

  bool differs(const Expr& e, const Place& place) const {
    if (has_load(e)) return true;
    const auto used = used_vars(e);
    const auto is_own = [&](const OwnVariable& v) { return used.contains(v.var.id()); };
    return std::ranges::any_of(seen_.indices.threads, is_own) || std::ranges::any_of(place.own, is_own);
  }

  // ---- turns

  void turn(const AsyncCall& call, const Stmt& s, const Place& place) {
    if (!call.turn) return fault(s, "barriers are made and ended before roles part", call.ring.buffer.name());
    const uint64_t ring = call.ring.buffer.id();
    const bool of_full =
        call.op == AsyncOp::kExpect || call.op == AsyncOp::kLoad || (call.op == AsyncOp::kWait && !copies_);
    if (ring != (of_full ? full : free) || call.slots != slots || !same(value(call.ring.at[0], place), Expr(0)))
      return fault(s, "it is the barrier of another ring", call.ring.buffer.name());
    const Expr number = value(call.turn, place);
    const auto expect = [&](const Expr& next) {
      if (same(number, next)) return true;
      fault(s, "turn " + to_string(number) + " comes where " + to_string(simple(next)) + " is next",
            call.ring.buffer.name());
      return false;
    };
    switch (call.op) {
      case AsyncOp::kWait:
        expect(copies_ ? now_.behind : now_.ahead);
        if (copies_) {
          now_.behind = simple(now_.behind + 1);
        } else {
          now_.ahead = simple(now_.ahead + 1);
          for (Turns::UnderWay& product : now_.products) ++product.turn;
        }
        return;
      case AsyncOp::kArrive:
        return arrive(call, s, expect(now_.behind));
      case AsyncOp::kExpect:
        return begin(call, s, place, expect(now_.ahead));
      case AsyncOp::kLoad:
        if (expect(now_.ahead - 1)) load(call, s, place);
        return;
      case AsyncOp::kInit:
      case AsyncOp::kEnd:
        return;
    }
  }

  void arrive(const AsyncCall& call, const Stmt& s, bool next) {
    if (!next) return;
    const auto held = as_int(simple(now_.ahead - now_.behind));
    if (!held || *held < 1) return fault(s, "nobody has waited for the turn", call.ring.buffer.name());
    if (std::ranges::any_of(now_.products, [&](const Turns::UnderWay& p) { return p.turn == *held; })) {
      const bool again = !!turns && interval_of(simple(turns - now_.behind), bounds_).hi > slots;  // its slot is filled
      fault(s, "products that read what came with the turn are under way", call.ring.buffer.name(), again);
    }
    now_.behind = simple(now_.behind + 1);
  }

  void begin(const AsyncCall& call, const Stmt& s, const Place& place, bool next) {
    if (!next) return;
    if (now_.missing != 0) fault(s, "the turn before does not bring what is expected of it", call.ring.buffer.name());
    const Expr ahead = simple(now_.behind - (now_.ahead - Expr(slots) + 1));  // of those that slots are free of
    if (!is_int(ahead, 0)) {
      const std::string why = "nobody has waited until what its slot held was read";
      fault(s, why, call.ring.buffer.name());
      const bool less = as_int(ahead).value_or(0) < 0, held = interval_of(simple(now_.ahead), bounds_).hi >= slots;
      too_early_ = too_early_ || (less && held && faults_[0].at.get() == s.get() && faults_[0].why == why);
      if (for_all_ == 0) known_too_early();
    }
    by_one(call.ring.buffer, {Expr(0)}, s, place);
    now_.missing = call.bytes;
    now_.ahead = simple(now_.ahead + 1);
  }

  void load(const AsyncCall& call, const Stmt& s, const Place& place) {
    now_.missing -= bytes_in_block(call, seen_.indices);
    std::vector<Expr> at = call.to.at;
    Place of_box = place;
    const std::vector<Expr>& shape = seen_.declared.at(call.to.buffer.id()).shape();
    for (size_t d = at.size() == 1 ? 0 : 1; d < at.size(); ++d) {
      const Var each("e" + std::to_string(d));
      of_box = of_box.with_own(each, at.size() == 1 ? Expr(elements_of(call)) : shape[d]);
      at[d] = at[d] + Expr(each);
    }
    if (!is_in_slot(call.to.buffer, at, now_.ahead - 1, s, of_box))
      fault(s, "its box goes to another slot than that of the turn", call.to.buffer.name());
    by_one(call.to.buffer, call.to.at, s, place);
  }

  void known_too_early() {
    if (std::exchange(too_early_, false)) faults_[0].certain = true;
  }

  // Two threads would each do it.
  void by_one(const Buffer& buffer, const std::vector<Expr>& at, const Stmt& s, const Place& place) {
    Access access = access_of(buffer, s, place);
    access.writes = true;
    for (const Expr& subscript : at) access.at.push_back(value(subscript, place));
    if (!meeting(access, access, seen_.indices, Apart::kThreads, seen_.changing).apart())
      fault(s, "more than one thread may begin it", buffer.name());
  }

  Access access_of(const Buffer& buffer, const Stmt& s, const Place& place) const {
    Access out;
    out.buffer = seen_.declared.at(buffer.id());
    out.own = place.own;
    for (const Expr& condition : place.conditions) out.conditions.push_back(value(condition, place));
    out.statement = s;
    return out;
  }

  // ---- slots

  bool is_in_slot(const Buffer& buffer, const std::vector<Expr>& at, const Expr& turn, const Stmt& s,
                  const Place& place) const {
    const Expr slot = simple(floormod(turn, Expr(slots)));
    if (at.size() > 1) return same(value(at[0], place), slot);
    int64_t elements = 1;
    for (const Expr& extent : seen_.declared.at(buffer.id()).shape()) elements *= as_int(extent).value_or(0);
    if (elements == 0 || elements % slots != 0) return false;
    Access access = access_of(buffer, s, place);
    for (const auto& indices : {seen_.indices.threads, seen_.indices.blocks})
      access.own.insert(access.own.end(), indices.begin(), indices.end());
    const Expr size(elements / slots);
    return is_within(access, simple(value(at[0], place) - slot * size), size);
  }

  // What is read there came with a turn that was waited for, and whose slot is not given back yet: how many before the
  // next one it is.
  std::optional<int64_t> held(const Buffer& buffer, const std::vector<Expr>& at, const Stmt& s, const Place& place) {
    const auto count = as_int(simple(now_.ahead - now_.behind));
    for (int64_t n = 1; !copies_ && count && n <= *count; ++n)
      if (is_in_slot(buffer, at, now_.ahead - Expr(n), s, place)) return n;
    fault(s, "it may be read before it has come, or after its slot is given back", buffer.name());
    return std::nullopt;
  }

  void reads(const Expr& e, const Stmt& s, const Place& place) {
    walk(e, [&](const Expr& x) {
      if (const auto* l = as<Load>(x); l && boxes.contains(l->buffer.id())) held(l->buffer, lanes_of(*l), s, place);
      if (const auto* a = as<Address>(x); a && boxes.contains(a->buffer.id()))
        fault(s, "nobody knows what is read from there on", a->buffer.name());
      return true;
    });
  }
  // Of several lanes the first, in whose slot the others are, as rows are.
  static std::vector<Expr> lanes_of(const Load& l) {
    std::vector<Expr> at;
    for (const Expr& subscript : l.at) at.push_back(lane_of(subscript, Expr(0)));
    return at;
  }

  // ---- products of four warps

  void group(const GroupCall& call, const Stmt& s, const Place& place) {
    if (call.op == GroupOp::kCommit)
      for (Turns::UnderWay& product : now_.products) ++product.behind;
    if (call.op == GroupOp::kWait)
      std::erase_if(now_.products, [&](const Turns::UnderWay& p) { return p.behind > call.count; });
    if (call.op != GroupOp::kProduct) return;
    operand(call, call.left, Fragment::kLeft, s, place);
    operand(call, call.right, Fragment::kRight, s, place);
  }

  void operand(const GroupCall& call, const GroupOperand& of, Fragment which, const Stmt& s, const Place& place) {
    if (!boxes.contains(of.at.buffer.id())) return;
    std::vector<Expr> at = of.at.at;
    Place lines = place;
    if (at.size() == 1) {
      const Var line("line"), each("each"), panel("panel");
      const GroupLines known = lines_of(*call.product, of, which);
      const int64_t elements = of.line / call.product->operand.bytes();
      lines =
          lines.with_own(line, Expr(known.count)).with_own(each, Expr(elements)).with_own(panel, Expr(known.panels));
      const Expr first = floordiv(at[0], Expr(elements)) + Expr(line) + Expr(panel) * Expr(of.apart);
      at[0] = first * Expr(elements) + Expr(each);
    }
    const auto turn = held(of.at.buffer, at, s, lines);
    if (turn && std::ranges::find(now_.products, Turns::UnderWay{*turn, 0}) == now_.products.end())
      now_.products.push_back({*turn, 0});
  }

  const bool copies_;
  const RolesSeen& seen_;
  Bounds bounds_;
  std::vector<RoleFault>& faults_;
  Turns now_;
  bool alone_ = false;      // what follows is of some threads
  int for_all_ = 0;         // loops of which the iteration stands for every other, as is seen when it ends
  bool too_early_ = false;  // the fault is that of a turn which begins while there may be something in its slot
};

// Of the block's threads, those for whom the condition holds; none where it is not theirs alone to decide.
std::optional<int64_t> threads_where(const Expr& condition, const LaunchIndices& indices) {
  std::vector<Substitution> all = {{}};
  int64_t others = 1;
  const auto used = used_vars(condition);
  for (const OwnVariable& index : indices.threads) {
    const auto extent = as_int(index.extent);
    if (!extent || *extent < 1 || *extent > 1024) return std::nullopt;
    if (!used.contains(index.var.id())) {
      others *= *extent;
      continue;
    }
    std::vector<Substitution> more;
    for (const Substitution& some : all)
      for (int64_t n = 0; n < *extent; ++n) {
        more.push_back(some);
        more.back()[index.var.id()] = Expr(n);
      }
    all = std::move(more);
  }
  int64_t count = 0;
  for (const Substitution& some : all) {
    const auto holds = as_int(simplify(substitute(condition, some)));
    if (!holds) return std::nullopt;
    count += *holds != 0 ? 1 : 0;
  }
  return count * others;
}

}  // namespace

int64_t bytes_in_block(const AsyncCall& load, const LaunchIndices& indices) {
  return elements_of(load) * load.to.buffer.element().bytes() * (load.in_cluster ? indices.in_cluster : 1);
}

bool parts_roles(const Stmt& s) {
  const auto* i = as<If>(s);
  if (!i || !i->otherwise) return false;
  bool meets = false;
  walk(s, [&](const Stmt& inner) {
    const auto* sync = as<Sync>(inner);
    return !(meets = meets || (sync && is_barrier(sync->op)));
  });
  const bool then_copies = has(i->then, AsyncOp::kLoad), else_copies = has(i->otherwise, AsyncOp::kLoad);
  return !meets && then_copies != else_copies && has(then_copies ? i->otherwise : i->then, AsyncOp::kWait);
}

std::unordered_set<uint64_t> buffers_of_roles(const Stmt& s) {
  std::unordered_set<uint64_t> out;
  walk(s, [&](const Stmt& inner) {
    const auto call = async_call(inner);
    if (call && call->op == AsyncOp::kLoad) out.insert(call->to.buffer.id());
    return true;
  });
  return out;
}

std::vector<RoleFault> role_faults(const Stmt& s, const RolesSeen& seen) {
  const auto& i = *as<If>(s);
  const bool then_copies = has(i.then, AsyncOp::kLoad);
  const Stmt &copying = then_copies ? i.then : i.otherwise, &reading = then_copies ? i.otherwise : i.then;
  const Expr not_holding = logical_not(i.cond);
  const Expr &copier = then_copies ? i.cond : not_holding, &reader = then_copies ? not_holding : i.cond;
  std::vector<RoleFault> faults;
  Side copies(true, seen, faults), reads(false, seen, faults);
  walk(copying, [&](const Stmt& inner) {
    const auto call = async_call(inner);
    if (call && call->op == AsyncOp::kExpect) copies.full = call->ring.buffer.id();
    if (call && call->op == AsyncOp::kExpect) copies.slots = call->slots;
    if (call && call->op == AsyncOp::kWait) copies.free = call->ring.buffer.id();
    return true;
  });
  copies.boxes = buffers_of_roles(s);
  reads.full = copies.full;
  reads.free = copies.free;
  reads.slots = copies.slots;
  reads.boxes = copies.boxes;
  const auto full = seen.arrivals.find(copies.full), free = seen.arrivals.find(copies.free);
  if (full == seen.arrivals.end() || full->second != 0)
    return {{{}, "nobody has made the ring whose barriers count what is copied", s}};
  if (free == seen.arrivals.end() || free->second == 0)
    return {{{}, "no ring counts the threads that have read a slot, so that it is filled again too early", s}};
  const std::string ring = seen.declared.at(copies.free).name();
  bool to_all = false, own_only = false;  // copies, and arrivals
  walk(s, [&](const Stmt& inner) {
    const auto call = async_call(inner);
    to_all = to_all || (call && call->op == AsyncOp::kLoad && call->in_cluster);
    own_only = own_only || (call && call->op == AsyncOp::kArrive && !call->in_cluster);
    return true;
  });
  if (to_all && own_only)
    return {{ring, "other blocks of the cluster do not hear of it that a slot is read to which they copy", s}};
  auto threads = threads_where(reader, seen.indices);
  if (threads && !own_only) *threads *= seen.indices.in_cluster;
  if (!threads || *threads != free->second)
    return {{ring,
             (threads ? std::to_string(*threads) : "an unknown number of") + " threads arrive where " +
                 std::to_string(free->second) + " are counted",
             s}};
  const Turns copied = copies.run(copying, seen.place.under(copier));
  reads.turns = copied.ahead;
  const Turns read = reads.run(reading, seen.place.under(reader));
  const auto same = [&](const Expr& a, const Expr& b) { return is_int(simplify(a - b, seen.bounds), 0); };
  if (faults.empty() && !(same(copied.ahead, read.ahead) && same(read.ahead, read.behind)))
    faults.push_back({ring,
                      "turns up to " + to_string(copied.ahead) + " are copied, up to " + to_string(read.ahead) +
                          " waited for, and up to " + to_string(read.behind) + " given back",
                      s});
  return faults;
}

}  // namespace tw::lower
