// Runs of statements that update one tile get an accumulator around them.

#include "src/lower/accumulators.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "src/ir/equal.h"
#include "src/ir/register_lanes.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"
#include "src/lower/lane_guards.h"
#include "src/lower/reduction_tile.h"

namespace tw::lower {

using namespace ir;

namespace {

// How accesses to the buffer are written with the accumulator.
struct Accumulator {
  Buffer original, buffer;
  TileAccess access;               // of the first store: names the loops and guards of copies
  std::vector<size_t> dimensions;  // of the original that the accumulator has
  std::vector<Expr> offset;        // over access.loops

  std::vector<Expr> at(const Substitution& rename) const {
    std::vector<Expr> out;
    for (size_t d : dimensions) out.push_back(substitute(offset[d], rename));
    if (out.empty()) out.push_back(0);
    return out;
  }
};

std::vector<Buffer> stored_buffers(const Stmt& s) {
  std::vector<Buffer> out;
  std::unordered_set<uint64_t> seen;
  walk(s, [&](const Stmt& at) {
    if (const auto* a = as<Allocate>(at)) seen.insert(a->buffer.id());
    const auto* st = as<Store>(at);
    if (st && seen.insert(st->buffer.id()).second) out.push_back(st->buffer);
    return true;
  });
  return out;
}

// Which buffers some store updates: no others can need an accumulator. And where, in the order of a walk, statements
// stand and buffers are stored to last: what follows may be all the rest of a long program.
struct Overview {
  std::unordered_set<uint64_t> updated;
  std::unordered_map<const StmtNode*, int> position;
  std::unordered_map<uint64_t, int> last_store;

  explicit Overview(const Stmt& s) {
    walk(s, [&](const Stmt& at) {
      const int here = static_cast<int>(position.size());
      position.emplace(at.get(), here);
      if (const auto* st = as<Store>(at)) note(*st, here);
      if (const auto* let = as<LetStmt>(at)) note_loads(let->value);
      return true;
    });
  }
  bool stored_from(const Buffer& buffer, const Stmt& s) const {
    const auto at = position.find(s.get());
    const auto last = last_store.find(buffer.id());
    return at == position.end() || last == last_store.end() || last->second >= at->second;
  }

 private:
  // The old values of a tuple are bound before its stores.
  void note_loads(const Expr& bound) {
    walk(bound, [&](const Expr& e) {
      if (const auto* l = as<Load>(e)) updated.insert(l->buffer.id());
      return true;
    });
  }

  void note(const Store& st, int here) {
    last_store[st.buffer.id()] = here;
    if (updated.count(st.buffer.id())) return;
    walk(st.value, [&](const Expr& e) {
      const auto* l = as<Load>(e);
      if (l && l->buffer == st.buffer) updated.insert(st.buffer.id());
      return true;
    });
  }
};

class Promoter {
 public:
  Promoter(const Stmt& body, const Target& target) : target_(target), overview_(body) {}

  Stmt visit(const Stmt& s) {
    if (const auto* all = as<Seq>(s)) return in_sequence(all->stmts);
    if (as<For>(s)) return in_sequence({s});
    if (const auto* a = as<Allocate>(s); a && stays_in_registers(*a)) done_.insert(a->buffer.id());
    return inside(s);
  }

 private:
  Stmt inside(const Stmt& s) {
    return map_children(s, [&](const Stmt& child) { return visit(child); }, [](const Expr& e) { return e; });
  }

  Stmt in_sequence(std::vector<Stmt> members) {
    for (size_t n = 0; n < members.size(); ++n) {
      if (n + 1 == members.size() && as<Allocate>(members[n])) break;  // no tile of its own, and nothing follows
      for (const Buffer& buffer : stored_buffers(members[n])) {
        if (done_.count(buffer.id()) || !overview_.updated.count(buffer.id())) continue;
        const auto run = find_run(members, n, buffer);
        if (!run) continue;
        std::vector<Stmt> part(members.begin() + run->first, members.begin() + run->last + 1);
        members[run->first] = promoted(part, *run);
        members.erase(members.begin() + run->first + 1, members.begin() + run->last + 1);
        return in_sequence(std::move(members));
      }
    }
    std::vector<Stmt> out;
    for (const Stmt& m : members) out.push_back(inside(m));
    return seq(std::move(out));
  }

  struct Run {
    size_t first, last;
    bool initialised;  // the first member writes the whole tile and reads nothing of it
    Accumulator accumulator;
    Expr needed;  // whether any of them touches the tile, which may be unwritten, or not there; null: one does
  };

  // The members around n that touch `buffer` by one tile only, if a reduction is among them.
  std::optional<Run> find_run(const std::vector<Stmt>& members, size_t n, const Buffer& buffer) {
    const auto accesses = tile_accesses(members[n], buffer);
    if (!accesses || accesses->empty()) return std::nullopt;
    const TileAccess& tile = accesses->front();
    // A repeated store that does not read begins anew: the loop around it is no reduction.
    const auto fits = [&](const std::vector<TileAccess>& list) {
      return std::all_of(list.begin(), list.end(),
                         [&](const TileAccess& a) { return same_tile(tile, a) && (a.reads || !a.repeats); });
    };
    const auto reduces = [](const std::vector<TileAccess>& list) {
      return std::any_of(list.begin(), list.end(), [](const TileAccess& a) { return a.reduces; });
    };
    if (!fits(*accesses)) return std::nullopt;
    Run run{n, n, false, {}, tile.needed};
    const auto touch = [&](const std::vector<TileAccess>& list) {
      for (const TileAccess& a : list) {
        const bool asks = !!run.needed && !!a.needed;
        if (asks && equal(run.needed, a.needed)) continue;
        run.needed = asks ? run.needed || a.needed : Expr();
      }
    };
    touch(*accesses);
    const bool writes_all = accesses->size() == 1 && !tile.reads && !tile.repeats && !tile.conditional;
    if (!writes_all && !as<For>(members[n]) && !as<Store>(members[n])) return std::nullopt;  // first what is inside
    run.initialised = writes_all;
    bool reduction = reduces(*accesses);
    for (size_t next = n + 1; next < members.size(); ++next) {
      if (!overview_.stored_from(buffer, members[next])) break;
      const auto more = tile_accesses(members[next], buffer);
      if (!more || !fits(*more)) break;
      if (more->empty()) continue;
      run.last = next;
      touch(*more);
      reduction = reduction || reduces(*more);
    }
    if (!reduction) return std::nullopt;
    auto accumulator = accumulator_for(buffer, tile);
    if (!accumulator) return std::nullopt;
    run.accumulator = std::move(*accumulator);
    return run;
  }

  std::optional<Accumulator> accumulator_for(const Buffer& buffer, const TileAccess& tile) {
    const auto shape = tile_shape(tile);
    if (!shape || vectors(buffer, tile) > target_.abilities.vector_registers) return std::nullopt;
    // In registers all lanes are written: one that is left out must not be another one's element.
    if (!lane_guards(tile.guards, tile.loops).empty() && !shape->once) return std::nullopt;
    Accumulator out{buffer, {}, tile, {}, shape->offset};
    std::vector<Expr> extents;
    for (size_t d = 0; d < shape->shape.size(); ++d) {
      if (shape->shape[d] == 1) continue;
      out.dimensions.push_back(d);
      extents.push_back(shape->shape[d]);
    }
    if (extents.empty()) extents.push_back(1);
    out.buffer = Buffer(buffer.name() + ".acc", buffer.element(), std::move(extents), Scope::kLocal);
    return out;
  }

  // Registers that the tile takes.
  int64_t vectors(const Buffer& buffer, const TileAccess& tile) const {
    const int lanes = register_lanes(target_, buffer.element());
    int64_t count = 1;
    for (const TileLoop& l : tile.loops)
      count *= l.kind == ForKind::kVectorized ? (l.extent + lanes - 1) / lanes : std::max<int64_t>(l.extent, 1);
    return count;
  }

  Stmt promoted(const std::vector<Stmt>& part, const Run& run) {
    const Accumulator& acc = run.accumulator;
    done_.insert(acc.buffer.id());
    std::vector<Stmt> out;
    if (!run.initialised) out.push_back(copy(acc, true, run.needed));
    for (const Stmt& s : part) {
      LaneGuarded member(s, acc.original);
      const Stmt with_tile = rewritten(s, acc, member, {}, {});
      out.push_back(member.asked().empty() ? with_tile : if_then(conjunction(member.asked()), with_tile));
    }
    out.push_back(copy(acc, false, run.needed));
    return allocate(acc.buffer, seq(std::move(out)));
  }

  // The tile's loops around `acc[..] = C[..]` or `C[..] = acc[..]`.
  Stmt copy(const Accumulator& acc, bool in, const Expr& needed) {
    const Expr lanes = conjunction(lane_guards(acc.access.guards, acc.access.loops));
    Stmt s = in ? store(acc.buffer, acc.at({}), load(acc.original, acc.access.at, lanes))
                : store(acc.original, acc.access.at, load(acc.buffer, acc.at({})));
    std::vector<Expr> around = acc.access.guards;
    if (in) std::erase_if(around, [&](const Expr& g) { return on_lanes(g, acc.access.loops); });
    if (!around.empty()) s = if_then(conjunction(around), s);
    for (size_t n = acc.access.loops.size(); n-- > 0;) {
      const TileLoop& l = acc.access.loops[n];
      s = loop(l.var, l.extent, s, l.kind == ForKind::kVectorized ? l.kind : ForKind::kUnrolled);
    }
    return refresh(needed ? if_then(needed, s) : s);
  }

  static bool on_lanes(const Expr& guard, const std::vector<TileLoop>& loops) {
    return std::any_of(loops.begin(), loops.end(),
                       [&](const TileLoop& l) { return l.kind == ForKind::kVectorized && uses_var(guard, l.var); });
  }

  static std::vector<Expr> lane_guards(std::vector<Expr> guards, const std::vector<TileLoop>& loops) {
    std::erase_if(guards, [&](const Expr& g) { return !on_lanes(g, loops); });
    return guards;
  }

  // A member of the run with its accesses to the tile rewritten; `loops` are those of the tile around.
  Stmt rewritten(const Stmt& s, const Accumulator& acc, LaneGuarded& member, std::vector<TileLoop> loops,
                 const LaneGuards& guards) {
    if (const auto* f = as<For>(s)) {
      const size_t position = loops.size();
      const bool of_tile = position < acc.access.loops.size() && tile_loop(*f, acc);
      if (of_tile) loops.push_back({f->var, acc.access.loops[position].extent, f->kind});
      const ForKind kind = of_tile && f->kind == ForKind::kSerial ? ForKind::kUnrolled : f->kind;
      return loop(f->var, f->extent, rewritten(f->body, acc, member, loops, guards), kind, f->tail);
    }
    if (const auto* i = as<If>(s); i && !i->otherwise && only_stores(i->then, acc.original)) {
      std::vector<Expr> stay;
      LaneGuards moved = guards;
      for (const Expr& c : conjuncts(i->cond)) {
        if (!on_lanes(c, loops)) {
          stay.push_back(c);
          continue;
        }
        moved = member.under(c, moved, loops);
      }
      const Stmt body = rewritten(i->then, acc, member, loops, moved);
      return stay.empty() ? body : if_then(conjunction(stay), body);
    }
    if (const auto* st = as<Store>(s)) {
      if (!(st->buffer == acc.original)) return s;
      return store(acc.buffer, place(acc, loops), redirected(st->value, acc, member, loops, guards));
    }
    if (const auto* l = as<LetStmt>(s))
      return let_stmt(l->var, redirected(l->value, acc, member, loops, guards),
                      rewritten(l->body, acc, member, loops, guards));
    return map_children(
        s, [&](const Stmt& child) { return rewritten(child, acc, member, loops, guards); },
        [](const Expr& e) { return e; });
  }

  static std::vector<Expr> place(const Accumulator& acc, const std::vector<TileLoop>& loops) {
    Substitution rename;
    for (size_t n = 0; n < loops.size(); ++n) rename[acc.access.loops[n].var.id()] = loops[n].var;
    return acc.at(rename);
  }

  // A value with its loads of the tile from the accumulator.
  static Expr redirected(const Expr& value, const Accumulator& acc, LaneGuarded& member,
                         const std::vector<TileLoop>& loops, const LaneGuards& guards) {
    const std::vector<Expr> at = place(acc, loops);
    const LaneGuarded::Loads chosen = member.chosen_by_lanes(value, loops);
    return rewrite(value, [&](const Expr& e) {
      const auto* l = as<Load>(e);
      if (!l) return e;
      if (l->buffer == acc.original) return load(acc.buffer, at);
      const bool varies = member.varies(*l, loops) || chosen.contains(e.get());
      if (!varies) member.ask(guards.first);
      const Expr& guard = varies ? guards.varying : guards.uniform;
      return guard ? load(l->buffer, l->at, both(l->pred, guard)) : e;
    });
  }

  // Whether a loop on the way to the tile's stores is one of the tile's.
  static bool tile_loop(const For& f, const Accumulator& acc) {
    bool found = false;
    walk(f.body, [&](const Stmt& s) {
      const auto* st = as<Store>(s);
      if (st && st->buffer == acc.original)
        found = found || std::any_of(st->at.begin(), st->at.end(), [&](const Expr& e) { return uses_var(e, f.var); });
      return !found;
    });
    return found;
  }

  static bool only_stores(const Stmt& s, const Buffer& buffer) {
    bool ok = true;
    walk(s, [&](const Stmt& at) {
      const auto* st = as<Store>(at);
      ok = ok && (!st || st->buffer == buffer);
      return ok;
    });
    return ok;
  }

  // A private buffer all of whose subscripts become constants or whole vectors is in registers without our help.
  bool stays_in_registers(const Allocate& a) const {
    if (!is_private(a.buffer.scope())) return false;
    bool ok = true;
    const auto check = [&](const std::vector<Expr>& at, const std::unordered_set<uint64_t>& written_out) {
      for (const Expr& e : at)
        for (uint64_t id : used_vars(e)) ok = ok && written_out.count(id);
    };
    std::unordered_set<uint64_t> written_out;
    std::unordered_set<uint64_t> lanes;
    walk(
        a.body,
        [&](const Stmt& s) {
          if (const auto* f = as<For>(s)) {
            if (f->kind == ForKind::kVectorized) lanes.insert(f->var.id());
            if (f->kind == ForKind::kVectorized || f->kind == ForKind::kUnrolled) written_out.insert(f->var.id());
          }
          if (const auto* i = as<If>(s))
            for (uint64_t id : used_vars(i->cond)) ok = ok && !lanes.count(id);
          if (const auto* st = as<Store>(s); st && st->buffer == a.buffer) check(st->at, written_out);
          return ok;
        },
        [&](const Expr& e) {
          if (const auto* l = as<Load>(e); l && l->buffer == a.buffer) check(l->at, written_out);
          return ok;
        });
    return ok;
  }

  const Target& target_;
  const Overview overview_;
  std::unordered_set<uint64_t> done_;
};

}  // namespace

Program accumulators(const Program& p, const Target& target) {
  Program out = p;
  out.body = Promoter(p.body, target).visit(p.body);
  return out;
}

}  // namespace tw::lower
