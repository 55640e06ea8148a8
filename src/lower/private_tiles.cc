// The boxes of a buffer that loops come back to, and the programs with copies of them.

#include "src/lower/private_tiles.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "src/ir/equal.h"
#include "src/ir/register_lanes.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"
#include "src/lower/in_loops.h"
#include "tensorwright/machine.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int64_t kRows = 8;  // that a set of the first cache holds on every CPU
constexpr int64_t kTileBytes = 8 << 10;
constexpr int64_t kVisits = 16;  // of the tile: fewer do not pay for the copy

// The part of a buffer that is touched: first[d] .. first[d] + extents[d] - 1.
struct Box {
  std::vector<Expr> first;
  std::vector<int64_t> extents;

  bool operator==(const Box& other) const {
    return extents == other.extents && std::equal(first.begin(), first.end(), other.first.begin(), ExprEqual());
  }
};

// A store or load below a statement, and the loops of that statement around it.
struct Access {
  std::vector<Expr> at;
  std::vector<const For*> loops;
  bool stores;
};

// All accesses to a buffer below a statement; nothing where one of them is none that a copy can stand for.
class Accesses {
 public:
  static std::optional<std::vector<Access>> of(const Stmt& s, const Buffer& buffer) {
    Accesses all(buffer);
    all.visit(s);
    return all.plain_ ? std::optional(std::move(all.found_)) : std::nullopt;
  }

 private:
  explicit Accesses(const Buffer& buffer) : buffer_(buffer) {}

  void visit(const Stmt& s) {
    walk_in_loops(
        s,
        [&](const Stmt& at, const Around& around) {
          const auto* st = as<Store>(at);
          if (st && st->buffer == buffer_) found(st->at, st->pred, true, around);
          return plain_;
        },
        [&](const Expr& e, const Around& around) { read(e, around); });
  }

  void read(const Expr& value, const Around& around) {
    walk(value, [&](const Expr& e) {
      const auto* address = as<Address>(e);
      plain_ = plain_ && !(address && address->buffer == buffer_);
      if (const auto* l = as<Load>(e); l && l->buffer == buffer_) found(l->at, l->pred, false, around);
      return plain_;
    });
  }

  void found(const std::vector<Expr>& at, const Expr& pred, bool stores, const Around& around) {
    plain_ = plain_ && !pred && around.conditions == 0;
    found_.push_back({at, around.loops, stores});
  }

  const Buffer& buffer_;
  std::vector<Access> found_;
  bool plain_ = true;
};

bool in_subscripts(const Access& access, const Var& var) {
  return std::any_of(access.at.begin(), access.at.end(), [&](const Expr& e) { return uses_var(e, var); });
}

// The box of an access, each element of which it touches; nothing where that can't be seen.
std::optional<Box> box_of(const Access& access, const std::unordered_set<uint64_t>& bound) {
  Box out;
  std::unordered_set<uint64_t> taken;  // by a dimension
  for (const Expr& subscript : access.at) {
    const Linear form = decompose(simplify(subscript));
    if (form.overflow || subscript.type().lanes > 1) return std::nullopt;
    Linear first;
    first.constant = form.constant;
    std::vector<std::pair<int64_t, int64_t>> steps;  // and extents
    for (const Term& t : form.terms) {
      const auto used = used_vars(t.atom);
      if (std::none_of(used.begin(), used.end(), [&](uint64_t id) { return bound.count(id) > 0; })) {
        first.add(t.atom, t.factor);
        continue;
      }
      const auto* var = as<VarRef>(t.atom);
      const auto loop = std::find_if(access.loops.begin(), access.loops.end(),
                                     [&](const For* f) { return var && f->var == var->var; });
      const auto extent = loop == access.loops.end() ? std::nullopt : as_int((*loop)->extent);
      if (!extent || *extent < 1 || t.factor < 1 || !taken.insert(var->var.id()).second) return std::nullopt;
      steps.emplace_back(t.factor, *extent);
    }
    std::sort(steps.begin(), steps.end());
    int64_t reached = 1;
    for (const auto& [step, extent] : steps) {
      if (step > reached) return std::nullopt;
      reached += step * (extent - 1);
    }
    out.first.push_back(build(first, 1));
    out.extents.push_back(reached);
  }
  return out;
}

// How often the loops come back to the first row of a tile.
int64_t visits(const Access& access) {
  int64_t times = 1;
  bool rows_inside = false;
  for (size_t n = access.loops.size(); n-- > 0;) {
    const For& f = *access.loops[n];
    const int64_t extent = as_int(f.extent).value_or(1);
    if (in_subscripts(access, f.var))
      rows_inside = rows_inside || (f.kind != ForKind::kVectorized && extent > 1);
    else if (rows_inside)
      times = std::min<int64_t>(times * extent, kVisits);
  }
  return times;
}

// The dimensions of a buffer along which neighbours lie in one set of the first cache.
std::vector<size_t> dimensions_in_one_set(const Buffer& buffer) {
  std::vector<size_t> out;
  int64_t stride = buffer.element().is_packed() ? 0 : 1;  // 0: not known
  for (size_t d = buffer.rank(); d-- > 0;) {
    if (!buffer.strides().empty()) stride = as_int(buffer.strides()[d]).value_or(0);
    if (stride != 0 && stride * buffer.element().bytes() % kL1WayBytes == 0) out.push_back(d);
    stride *= as_int(buffer.shape()[d]).value_or(0);
  }
  return out;
}

// A copy of a box, and how the buffer's subscripts become its own.
struct Copy {
  Buffer original, buffer;
  Box box;
  std::vector<size_t> dimensions;  // of the original that the copy has

  Copy(const Buffer& of, const Box& part) : original(of), box(part) {
    std::vector<Expr> shape;
    for (size_t d = 0; d < part.extents.size(); ++d)
      if (part.extents[d] > 1) {
        dimensions.push_back(d);
        shape.push_back(part.extents[d]);
      }
    buffer = Buffer(of.name() + ".tile", of.element(), std::move(shape), Scope::kLocal);
  }

  std::vector<Expr> inside(const std::vector<Expr>& at) const {
    std::vector<Expr> out;
    for (size_t d : dimensions) out.push_back(simplify(at[d] - box.first[d]));
    return out;
  }

  Stmt redirected(const Stmt& s) const {
    return rewrite(
        s,
        [&](const Stmt& at) {
          const auto* st = as<Store>(at);
          return st && st->buffer == original ? store(buffer, inside(st->at), st->value) : at;
        },
        [&](const Expr& e) {
          const auto* l = as<Load>(e);
          return l && l->buffer == original ? load(buffer, inside(l->at)) : e;
        });
  }

  // copy[..] = C[first + ..], or back: rows in vectors.
  Stmt moved(bool in, const Target& target) const {
    const int64_t lanes = register_lanes(target, buffer.element());
    std::vector<Expr> here, there = box.first;
    std::vector<std::pair<Var, int64_t>> loops;
    bool in_lanes = false;
    const auto over = [&](size_t d, int64_t extent, int64_t step) {
      loops.emplace_back(Var("i" + std::to_string(loops.size())), extent);
      const Expr at = Expr(loops.back().first) * Expr(step);
      here.back() = simplify(here.back() + at);
      there[d] = simplify(there[d] + at);
    };
    for (size_t d : dimensions) {
      here.emplace_back(0);
      const int64_t extent = box.extents[d];
      int64_t vector = d == dimensions.back() ? std::min(extent, lanes) : 1;
      while (extent % vector != 0) --vector;
      if (vector < extent) over(d, extent / vector, vector);
      if (vector > 1) over(d, vector, 1), in_lanes = true;
    }
    Stmt s = in ? store(buffer, here, load(original, there)) : store(original, there, load(buffer, here));
    for (size_t n = loops.size(); n-- > 0;)
      s = loop(loops[n].first, loops[n].second, s,
               in_lanes && n + 1 == loops.size() ? ForKind::kVectorized : ForKind::kSerial);
    return s;
  }
};

class Finder {
 public:
  explicit Finder(const Target& target) : target_(target) {}

  Stmt visit(const Stmt& s) {
    if (const auto* all = as<Seq>(s)) return in_sequence(all->stmts);
    if (as<For>(s)) return in_sequence({s});
    return inside(s);
  }

 private:
  Stmt inside(const Stmt& s) {
    return map_children(s, [&](const Stmt& child) { return visit(child); }, [](const Expr& e) { return e; });
  }

  Stmt in_sequence(std::vector<Stmt> members) {
    std::vector<Stmt> out;
    for (const Stmt& member : members) {
      Stmt body = member;
      std::vector<Copy> copies;
      std::vector<Stmt> before;
      while (const auto copy = copy_for(body)) {
        const bool begins = !out.empty() && writes_all(out.back(), *copy);
        before.push_back(begins ? copy->redirected(out.back()) : copy->moved(true, target_));
        if (begins) out.pop_back();
        body = copy->redirected(body);
        copies.push_back(*copy);
      }
      body = inside(body);
      if (!copies.empty()) {
        before.push_back(body);
        for (const Copy& copy : copies) before.push_back(copy.moved(false, target_));
        body = seq(std::move(before));
        for (const Copy& copy : copies) body = allocate(copy.buffer, body);
      }
      out.push_back(body);
    }
    return seq(std::move(out));
  }

  std::optional<Copy> copy_for(const Stmt& s) const {
    const auto* f = as<For>(s);
    if (!f || f->kind != ForKind::kSerial || !as_int(f->extent) || *as_int(f->extent) < 1) return std::nullopt;
    for (const Buffer& buffer : free_buffers(s)) {
      if (!rows_share_sets(buffer)) continue;
      const auto accesses = Accesses::of(s, buffer);
      if (!accesses) continue;
      const auto store = std::find_if(accesses->begin(), accesses->end(), [](const Access& a) { return a.stores; });
      if (store == accesses->end() || in_subscripts(*store, f->var) || visits(*store) < kVisits) continue;
      const auto box = shared_box(s, *accesses);
      if (box && worth(buffer, *box)) return Copy(buffer, *box);
    }
    return std::nullopt;
  }

  // The box that every access below the statement touches.
  static std::optional<Box> shared_box(const Stmt& s, const std::vector<Access>& accesses) {
    std::unordered_set<uint64_t> bound;
    for (const Access& a : accesses)
      for (const For* f : a.loops) {
        if (runs_concurrently(f->kind) || as_int(f->extent).value_or(0) < 1) return std::nullopt;
        bound.insert(f->var.id());
      }
    walk(s, [&](const Stmt& at) {
      if (const auto* l = as<LetStmt>(at)) bound.insert(l->var.id());
      return true;
    });
    const auto box = box_of(accesses.front(), bound);
    for (const Access& a : accesses)
      if (const auto other = box ? box_of(a, bound) : std::nullopt; !other || !(*other == *box)) return std::nullopt;
    return box;
  }

  bool worth(const Buffer& buffer, const Box& box) const {
    int64_t bytes = buffer.element().bytes(), rows = 1;
    for (int64_t extent : box.extents) bytes *= extent;
    for (size_t d : dimensions_in_one_set(buffer)) rows *= box.extents[d];
    const int64_t in_registers = int64_t{target_.abilities.vector_registers} * target_.abilities.vector_bits / 8;
    return rows > kRows && bytes > in_registers && bytes <= kTileBytes;
  }

  // Whether a statement gives each element of the copied box its first value and does nothing else.
  static bool writes_all(const Stmt& s, const Copy& copy) {
    bool only = true;
    walk(s, [&](const Stmt& at) {
      const auto* st = as<Store>(at);
      only = only && (as<For>(at) || as<Seq>(at) || (st && st->buffer == copy.original));
      return only;
    });
    const auto accesses = only ? Accesses::of(s, copy.original) : std::nullopt;
    if (!accesses || accesses->empty()) return false;
    const auto stores = [](const Access& a) { return a.stores; };
    if (!std::all_of(accesses->begin(), accesses->end(), stores)) return false;
    const auto box = shared_box(s, *accesses);
    return box && *box == copy.box;
  }

  const Target& target_;
};

}  // namespace

bool rows_share_sets(const Buffer& buffer) { return !dimensions_in_one_set(buffer).empty(); }

Program private_tiles(const Program& p, const Target& target) {
  Program out = p;
  out.body = Finder(target).visit(p.body);
  return out;
}

}  // namespace tw::lower
