// Linear forms of subscripts, dimension by dimension.

#include "src/lower/independence.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "src/ir/interval.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"

namespace tw::lower {

using namespace ir;

namespace {

// One subscript as  step * var + base + something within `reach`.
struct Place {
  int64_t step = 0;
  Linear base;
  Interval reach = Interval::point(0);
};

class Body {
 public:
  Body(const Var& var, const Expr& extent, const Stmt& body, const Bounds& sizes)
      : var_(var), sizes_(sizes), extent_(as_int(extent)) {
    walk(
        body,
        [&](const Stmt& s) {
          read(s);
          return ok_;
        },
        [&](const Expr& e) {
          read(e);
          return ok_;
        });
  }

  bool independent() const {
    if (!ok_) return false;
    return std::all_of(accesses_.begin(), accesses_.end(), [&](const auto& entry) {
      return !stored_.count(entry.first) || allocated_.count(entry.first) || apart(entry.second);
    });
  }

 private:
  struct Accesses {
    Buffer buffer;
    std::vector<const std::vector<Expr>*> at;
    std::vector<bool> stores;
  };

  void note(const Buffer& buffer, const std::vector<Expr>& at, bool stores) {
    Accesses& of = accesses_[buffer.id()];
    of.buffer = buffer;
    of.at.push_back(&at);
    of.stores.push_back(stores);
  }

  void read(const Stmt& s) {
    ok_ = ok_ && !as<Evaluate>(s);
    if (const auto* f = as<For>(s)) {
      const auto extent = as_int(f->extent);
      inside_[f->var.id()] = extent ? Interval{0, *extent - 1} : Interval::everything();
    }
    if (const auto* l = as<LetStmt>(s)) inside_[l->var.id()] = Interval::everything();
    if (const auto* a = as<Allocate>(s)) allocated_.insert(a->buffer.id());
    if (const auto* st = as<Store>(s)) {
      stored_.insert(st->buffer.id());
      note(st->buffer, st->at, true);
    }
  }

  void read(const Expr& e) {
    if (const auto* l = as<Load>(e)) note(l->buffer, l->at, false);
    if (const auto* l = as<Let>(e)) inside_[l->var.id()] = Interval::everything();
    const auto* call = as<CallExtern>(e);
    ok_ = ok_ && !as<Address>(e) && !(call && !call->pure);
  }

  // By one dimension, or by the distance from the first element: equal elements are at equal distances.
  bool apart(const Accesses& of) const {
    const size_t rank = of.at[0]->size();
    for (size_t d = 0; d < rank; ++d)
      if (apart(of, [&](const std::vector<Expr>& at) { return at[d]; })) return true;
    return (rank > 1 && apart(of, [&](const std::vector<Expr>& at) { return offset(of.buffer, at); })) || by_pairs(of);
  }

  // Each store and each access by a dimension of their own: the state of a scan at t + 1 is none of those at t.
  bool by_pairs(const Accesses& of) const {
    constexpr size_t kMost = 32;
    const size_t count = of.at.size(), rank = of.at[0]->size();
    if (count > kMost || is_private(of.buffer.scope())) return false;  // rows of tiles get room for vectors by one
    std::vector<std::vector<std::optional<Place>>> places(count);
    for (size_t n = 0; n < count; ++n)
      for (const Expr& e : *of.at[n]) places[n].push_back(place_of(e));
    const auto differ = [&](size_t a, size_t b) {
      for (size_t d = 0; d < rank; ++d)
        if (places[a][d] && places[b][d] && apart(*places[a][d], *places[b][d])) return true;
      return false;
    };
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; of.stores[a] && b < count; ++b)
        if (!differ(a, b)) return false;
    return true;
  }

  // In no two iterations the same.
  bool apart(const Place& a, const Place& b) const {
    Linear moved = b.base - a.base;
    moved.normalise();
    if (a.step != b.step || !moved.is_constant()) return false;
    const Interval other = b.reach + Interval::point(moved.constant);
    if (!a.reach.bounded() || !other.bounded()) return false;
    return a.step == 0 ? a.reach.hi < other.lo || other.hi < a.reach.lo : apart(a.reach, other, a.step);
  }

  static Expr offset(const Buffer& buffer, const std::vector<Expr>& at) {
    Expr sum = at[0];
    for (size_t d = 1; d < at.size(); ++d) sum = sum * buffer.shape()[d] + at[d];
    return sum;
  }

  template <class Coordinate>
  bool apart(const Accesses& of, const Coordinate& coordinate) const {
    std::vector<Place> places;
    for (const std::vector<Expr>* at : of.at) {
      auto place = place_of(coordinate(*at));
      if (!place || place->step == 0 || !place->reach.bounded()) return false;
      if (places.empty()) {
        places.push_back(*place);
        continue;
      }
      Linear moved = place->base - places[0].base;
      moved.normalise();
      if (place->step != places[0].step || !moved.is_constant()) return false;
      place->reach = place->reach + Interval::point(moved.constant);
      if (!place->reach.bounded()) return false;
      places.push_back(*place);
    }
    return std::all_of(places.begin(), places.end(), [&](const Place& a) {
      return std::all_of(places.begin(), places.end(), [&](const Place& b) { return apart(a.reach, b.reach, a.step); });
    });
  }

  // Of two parts of subscripts: whether they differ by less than a step, or by more than all steps together.
  bool apart(const Interval& a, const Interval& b, int64_t step) const {
    step = std::abs(step);
    if (std::max(a.hi, b.hi) - std::min(a.lo, b.lo) < step) return true;
    const int64_t gap = std::max(a.lo - b.hi, b.lo - a.hi);
    return extent_ && *extent_ <= gap / step;
  }

  std::optional<Place> place_of(const Expr& subscript) const {
    if (!subscript.type().is_scalar()) return std::nullopt;
    const Linear form = decompose(simplify(subscript, sizes_));
    if (form.overflow) return std::nullopt;
    Place out;
    out.base.constant = form.constant;
    for (const Term& t : form.terms) {
      const auto* v = as<VarRef>(t.atom);
      if (v && v->var == var_) {
        out.step += t.factor;
        continue;
      }
      if (has_load(t.atom)) return std::nullopt;
      const auto used = used_vars(t.atom);
      if (used.count(var_.id())) return std::nullopt;
      if (std::none_of(used.begin(), used.end(), [&](uint64_t id) { return inside_.count(id) > 0; }))
        out.base.add(t.atom, t.factor);
      else
        out.reach = out.reach + scaled(interval_of(t.atom, inside_), t.factor);
    }
    out.base.normalise();
    return out;
  }

  const Var& var_;
  const Bounds& sizes_;
  const std::optional<int64_t> extent_;
  Bounds inside_;  // of the variables that the body binds
  std::unordered_set<uint64_t> stored_, allocated_;
  std::unordered_map<uint64_t, Accesses> accesses_;
  bool ok_ = true;
};

}  // namespace

bool independent(const Var& var, const Expr& extent, const Stmt& body, const Bounds& sizes) {
  return Body(var, extent, body, sizes).independent();
}

}  // namespace tw::lower
