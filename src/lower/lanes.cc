// Bands of plain loops, the choice among them, and the tile that is made.

#include "src/lower/lanes.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/independence.h"
#include "src/lower/lane_cost.h"
#include "src/lower/loop_extent.h"
#include "src/lower/vector_form.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int64_t kVectors = 4;              // of one tile along its lanes, at most
constexpr size_t kCandidates = 3;            // innermost loops of a band that may get lanes
constexpr int64_t kSumsInTurn = 8;           // of a tile without lanes
constexpr double kWorthIt = 0.9;             // of the cycles without
constexpr int64_t kPrivateBytes = 16 << 10;  // of buffers of which each lane gets one

// Loops whose lanes the schedule has decided on, and what has no lanes: whatever they stand in is left alone.
class Decided {
 public:
  bool operator()(const Stmt& s) {
    const auto known = known_.find(s.get());
    if (known != known_.end()) return known->second;
    bool decided = here(s);
    map_children(
        s,
        [&](const Stmt& child) {
          decided = (*this)(child) || decided;
          return child;
        },
        [&](const Expr& e) {
          decided = decided || has_vectors_or_calls(e);
          return e;
        });
    return known_[s.get()] = decided;
  }

 private:
  static bool here(const Stmt& s) {
    const auto* f = as<For>(s);
    return as<Evaluate>(s) || (f && (f->kind == ForKind::kVectorized || runs_concurrently(f->kind)));
  }

  static bool has_vectors_or_calls(const Expr& e) {
    bool found = false;
    if (!e) return false;
    walk(e, [&](const Expr& at) {
      const auto* call = as<CallExtern>(at);
      found = found || !at.type().is_scalar() || (call && !call->pure) || as<Address>(at);
      return !found;
    });
    return found;
  }

  std::unordered_map<const StmtNode*, bool> known_;
};

// A loop of a tile: the iterations outer * size + 0 .. size - 1 of `of`.
struct TilePart {
  For of;
  int64_t size;
  ForKind kind;
  Var outer = Var(of.var.name() + ".o");

  bool whole() const { return as_int(of.extent) == size; }
  bool even() const { return as_int(of.extent).value_or(-1) % size == 0; }
};

// The loops of a tile around each of the innermost statements of a body.
class Tile {
 public:
  explicit Tile(std::vector<TilePart> parts) : parts_(std::move(parts)) {}

  // No value where a statement cannot do without the loops around it.
  std::optional<Stmt> sink(const Stmt& s, const std::vector<Expr>& conditions = {}) const {
    if (!has_loop(s)) return around(s, conditions);
    if (const auto* f = as<For>(s)) {
      if (moves(f->extent) || has_load(f->extent)) return std::nullopt;
      const auto body = sink(f->body, conditions);
      return body ? std::optional(loop(f->var, f->extent, *body, f->kind, f->tail)) : std::nullopt;
    }
    if (const auto* i = as<If>(s)) {
      if (i->otherwise || has_load(i->cond)) return std::nullopt;
      std::vector<Expr> all = conditions;
      all.push_back(i->cond);
      return sink(i->then, all);
    }
    const auto* seq_of = as<Seq>(s);
    if (!seq_of) return std::nullopt;
    std::vector<Stmt> out;
    for (const Stmt& child : seq_of->stmts) {
      const auto sunk = sink(child, conditions);
      if (!sunk) return std::nullopt;
      out.push_back(*sunk);
    }
    return seq(std::move(out));
  }

  Stmt around(Stmt s, const std::vector<Expr>& conditions = {}) const {
    for (size_t n = conditions.size(); n-- > 0;) s = if_then(conditions[n], s);
    Substitution at;
    std::vector<Var> inner;
    for (const TilePart& p : parts_) {
      inner.emplace_back(p.whole() ? p.of.var.name() : p.of.var.name() + ".i");
      at[p.of.var.id()] = p.whole() ? Expr(inner.back()) : Expr(p.outer) * p.size + Expr(inner.back());
    }
    s = substitute(s, at);
    for (size_t n = parts_.size(); n-- > 0;) {
      const TilePart& p = parts_[n];
      if (!p.even()) s = if_then(at[p.of.var.id()] < p.of.extent, s);
      s = loop(inner[n], p.size, s, p.kind);
    }
    return s;
  }

 private:
  static bool has_loop(const Stmt& s) {
    bool found = false;
    walk(s, [&](const Stmt& at) {
      found = found || as<For>(at) || as<Allocate>(at);
      return !found;
    });
    return found;
  }

  bool moves(const Expr& e) const {
    return std::any_of(parts_.begin(), parts_.end(), [&](const TilePart& p) { return uses_var(e, p.of.var); });
  }

  std::vector<TilePart> parts_;
};

class LaneGiver {
 public:
  LaneGiver(const Target& target, Bounds sizes) : target_(target), sizes_(std::move(sizes)) {}

  const std::vector<LaneChoice>& choices() const { return choices_; }

  Stmt visit(const Stmt& s) {
    const auto* f = as<For>(s);
    if (f && f->kind == ForKind::kVectorized) return s;
    if (f && f->kind == ForKind::kSerial && !decided_(s)) return plain(*f);
    const size_t known = choices_.size();
    const BoundsInside inside(sizes_, f ? f->extent : Expr(1));
    const Stmt out = map_children(s, [&](const Stmt& child) { return visit(child); }, [](const Expr& e) { return e; });
    if (f && f->kind == ForKind::kSerial && choices_.size() == known && calls(s)) note(*f, "a call stands inside");
    return out;
  }

 private:
  Stmt plain(const For& f) {
    std::vector<For> band;
    const Bounds around = sizes_;
    for (const For* at = &f; at && at->kind == ForKind::kSerial && !uses_any(at->extent, band);) {
      if (!as_int(at->extent)) sizes_ = bounds_where(Expr(0) < at->extent, sizes_);
      if (!independent(at->var, at->extent, at->body, sizes_)) break;
      band.push_back(*at);
      at = as<For>(at->body);
    }
    const size_t known = choices_.size();
    if (band.empty()) {
      const Stmt body = visit(f.body);
      sizes_ = around;
      if (choices_.size() == known) note(f, "an iteration needs what another one writes");
      return loop(f.var, f.extent, body, f.kind, f.tail);
    }
    Stmt best = visit(band.back().body);
    sizes_ = around;
    for (size_t n = band.size(); n-- > 0;) best = loop(band[n].var, band[n].extent, best, band[n].kind, band[n].tail);
    double least = kWorthIt * cycles(best, target_, sizes_);
    std::vector<TilePart> chosen;
    const auto consider = [&](const std::optional<Tiled>& tiled) {
      const double taken = tiled ? cycles(tiled->s, target_, sizes_) : least;
      if (taken < least) best = tiled->s, chosen = tiled->parts, least = taken;
    };
    for (size_t tried = 0, n = band.size(); n-- > 0 && tried < kCandidates; ++tried) consider(with_lanes(band, n));
    consider(without_lanes(band));
    note(f, chosen, known);
    return best;
  }

  static bool uses_any(const Expr& extent, const std::vector<For>& band) {
    return std::any_of(band.begin(), band.end(), [&](const For& f) { return uses_var(extent, f.var); });
  }

  void note(const For& f, const std::string& reason) { choices_.push_back({f.var, 0, {}, 1, written(f.body), reason}); }

  void note(const For& f, const std::vector<TilePart>& chosen, size_t known) {
    if (chosen.empty() && choices_.size() > known) return;  // lanes further in
    choices_.resize(known, {f.var});
    note(f, "lanes would be apart in memory, or too few");
    LaneChoice& choice = choices_.back();
    for (const TilePart& part : chosen) {
      if (part.kind == ForKind::kVectorized)
        choice.loop = part.of.var, choice.elements = part.size, choice.reason.clear();
      else
        choice.repeated = part.of.var, choice.times = part.size;
    }
  }

  static bool calls(const Stmt& s) {
    bool found = false, lanes = false;
    walk(
        s,
        [&](const Stmt& at) {
          const auto* f = as<For>(at);
          lanes = lanes || (f && f->kind == ForKind::kVectorized);
          found = found || as<Evaluate>(at);
          return true;
        },
        [&](const Expr& e) {
          found = found || as<CallExtern>(e);
          return true;
        });
    return found && !lanes;
  }

  static std::vector<Buffer> written(const Stmt& s) {
    std::vector<Buffer> out;
    walk(s, [&](const Stmt& at) {
      const auto* st = as<Store>(at);
      if (st && std::find(out.begin(), out.end(), st->buffer) == out.end()) out.push_back(st->buffer);
      return true;
    });
    return out;
  }

  struct Tiled {
    Stmt s;
    std::vector<TilePart> parts;
  };

  // Sums of a few rows side by side.
  std::optional<Tiled> without_lanes(const std::vector<For>& band) const {
    const auto m = nearest(band, band.size());
    if (!m || sums_in(band.back().body) != 1) return std::nullopt;
    return tile(band, {{band[*m], repeats(band[*m], kSumsInTurn), ForKind::kSerial}});
  }

  // The band with lanes at loop n.
  std::optional<Tiled> with_lanes(const std::vector<For>& band, size_t n) const {
    const Stmt& body = band.back().body;
    const int64_t extent = as_int(band[n].extent).value_or(kAssumedTrips);
    const int lanes = lanes_for(body, target_);
    if (extent < 2 || lanes < 2) return std::nullopt;
    const int sums = sums_in(body);
    const int64_t budget = std::max<int64_t>(1, target_.abilities.vector_registers / 2 / std::max(1, sums));
    int64_t most = std::min<int64_t>(kVectors, (extent + lanes - 1) / lanes);
    while (sums > 0 && most > 1 && most * most > budget) --most;
    const int64_t size = as_int(band[n].extent) && extent <= most * lanes ? extent : most * lanes;
    if (private_bytes(body) * size > kPrivateBytes) return std::nullopt;
    const TilePart along{band[n], size, ForKind::kVectorized};
    if (sums > 0)
      if (const auto m = nearest(band, n))
        if (const auto tiled = tile(band, {{band[*m], repeats(band[*m], budget / most), ForKind::kSerial}, along}))
          return tiled;
    return tile(band, {along});
  }

  // The loop next to n that has more than one iteration; those further in first.
  static std::optional<size_t> nearest(const std::vector<For>& band, size_t n) {
    for (size_t m = n + 1; m < band.size(); ++m)
      if (as_int(band[m].extent).value_or(kAssumedTrips) > 1) return m;
    for (size_t m = n; m-- > 0;)
      if (as_int(band[m].extent).value_or(kAssumedTrips) > 1) return m;
    return std::nullopt;
  }

  // At most `most`, rather fewer than a rest.
  static int64_t repeats(const For& f, int64_t most) {
    const auto extent = as_int(f.extent);
    if (!extent) return most;
    if (*extent <= most) return *extent;
    for (int64_t size = most; size > most / 2; --size)
      if (*extent % size == 0) return size;
    return most;
  }

  // The band with the loops of `parts` inside, in their order.
  static std::optional<Tiled> tile(const std::vector<For>& band, const std::vector<TilePart>& parts) {
    const Stmt& body = band.back().body;
    const Tile tile(parts);
    const bool only_lanes = parts.size() == 1 && parts[0].kind == ForKind::kVectorized;
    std::optional<Stmt> s = only_lanes ? tile.around(body) : tile.sink(body);
    if (!s) return std::nullopt;
    for (size_t n = band.size(); n-- > 0;) {
      const For& f = band[n];
      const auto part = std::find_if(parts.begin(), parts.end(), [&](const TilePart& p) { return p.of.var == f.var; });
      if (part == parts.end())
        s = loop(f.var, f.extent, *s, f.kind, f.tail);
      else if (!part->whole())
        s = loop(part->outer, simplify(floordiv(f.extent + Expr(part->size - 1), part->size)), *s, ForKind::kSerial,
                 Tail::kPeel);
    }
    return Tiled{*s, parts};
  }

  // Stores inside loops that they do not move with: sums that run.
  static int sums_in(const Stmt& s, std::vector<Var> around = {}) {
    if (const auto* f = as<For>(s)) {
      around.push_back(f->var);
      return sums_in(f->body, around);
    }
    if (const auto* st = as<Store>(s))
      return std::any_of(around.begin(), around.end(), [&](const Var& v) {
        return std::none_of(st->at.begin(), st->at.end(), [&](const Expr& e) { return uses_var(e, v); });
      });
    int sum = 0;
    map_children(
        s,
        [&](const Stmt& child) {
          sum += sums_in(child, around);
          return child;
        },
        [](const Expr& e) { return e; });
    return sum;
  }

  static int64_t private_bytes(const Stmt& s) {
    int64_t sum = 0;
    walk(s, [&](const Stmt& at) {
      const auto* a = as<Allocate>(at);
      int64_t bytes = a ? a->buffer.element().bytes() : 0;
      for (size_t d = 0; a && d < a->buffer.rank(); ++d)
        bytes *= std::min<int64_t>(kPrivateBytes, as_int(a->buffer.shape()[d]).value_or(kPrivateBytes));
      sum = std::min(sum + bytes, kPrivateBytes);
      return true;
    });
    return sum;
  }

  const Target& target_;
  Bounds sizes_;  // of the variables of extents, where the loops around run
  Decided decided_;
  std::vector<LaneChoice> choices_;
};

}  // namespace

Program lanes(const Program& p, const Target& target) {
  Program out = p;
  LaneGiver giver(target, scalar_bounds(p));
  out.body = giver.visit(with_exact_symbolic_extents(p.body, scalar_bounds(p)));
  return out;
}

std::vector<LaneChoice> lane_choices(const Program& p, const Target& target) {
  LaneGiver giver(target, scalar_bounds(p));
  giver.visit(with_exact_symbolic_extents(p.body, scalar_bounds(p)));
  return giver.choices();
}

}  // namespace tw::lower
