// One walk that proves each access where it stands, and remembers it for the parallel loops around it.

#include "src/lower/safety.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "src/ir/requirement.h"
#include "src/ir/simplify.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"
#include "src/lower/sync_check.h"
#include "src/lower/sync_place.h"
#include "src/support/deep_stack.h"

namespace tw::lower {

using namespace ir;

namespace {

std::string line_of(const Stmt& s) {
  const std::string text = to_string(s);
  return text.substr(0, std::min(text.find('\n'), size_t{160}));
}

// In elements, from the first to behind the last.
Expr span_of(const Buffer& buffer) {
  Expr span = buffer.strides().empty() ? Expr(1) : Expr(0);
  for (size_t d = 0; d < buffer.rank(); ++d)
    span = buffer.strides().empty() ? span * buffer.shape()[d] : span + (buffer.shape()[d] - 1) * buffer.strides()[d];
  return simplify(buffer.strides().empty() ? span : span + 1);
}

std::string declaration(const Buffer& buffer) {
  std::string text = buffer.name() + ": " + ir::to_string(buffer.element()) + "[";
  for (size_t d = 0; d < buffer.rank(); ++d) text += (d ? ", " : "") + ir::to_string(buffer.shape()[d]);
  return text + "]";
}

class SafetyCheck {
 public:
  explicit SafetyCheck(const Program& program) {
    for (const Param& p : program.params) declared_.insert_or_assign(p.buffer.id(), p.buffer);
    walk(program.body, [&](const Stmt& s) {
      if (const auto* a = as<Allocate>(s)) declared_.insert_or_assign(a->buffer.id(), a->buffer);
      if (const auto* st = as<Store>(s)) stored_.insert(st->buffer.id());
      return true;
    });
    Place place;
    for (const Var& scalar : program.scalars)
      if (scalar.type().is_index()) place.conditions.push_back(Expr(0) <= Expr(scalar));
    statement(program.body, place);
  }

  std::vector<SafetyFinding> findings;

 private:
  // What the iterations of the innermost parallel loops touch of buffers that all of them have.
  struct Region {
    size_t own;                          // variables of the place outside of the loop
    std::unordered_set<uint64_t> inner;  // buffers of one iteration
    std::vector<Touched> touched;
  };

  void statement(const Stmt& s, const Place& place) {
    at_ = s;
    match(
        s,
        [&](const Store& st) {
          // Of a vector all lanes are computed, and some are stored.
          const Place stored = st.pred ? place.under(st.pred) : place;
          const Place& computed = !!st.pred && st.pred.type().is_scalar() ? stored : place;
          if (st.pred) reads(st.pred, place);
          for (const Expr& at : st.at) reads(at, computed);
          reads(st.value, computed);
          touch(st.buffer, st.at, true, stored);
        },
        [&](const For& f) { loop(f, s, place); },
        [&](const If& i) {
          reads(i.cond, place);
          statement(i.then, place.under(i.cond));
          if (i.otherwise) statement(i.otherwise, place.under(logical_not(i.cond)));
        },
        [&](const Seq& q) {
          Place here = place;
          for (const Stmt& one : q.stmts) {
            statement(one, here);
            const auto* e = as<Evaluate>(one);
            if (const auto required = e ? requirement_in(e->value) : std::nullopt) here = here.under(required->test);
          }
        },
        [&](const Allocate& a) {
          for (Region& region : regions_) region.inner.insert(a.buffer.id());
          for (const Expr& extent : a.buffer.shape()) reads(extent, place);
          statement(a.body, place);
        },
        [&](const LetStmt& l) {
          reads(l.value, place);
          statement(l.body, bound(l.var, l.value, place));
        },
        [&](const Evaluate& e) {
          if (is_of_warp(s)) return of_warp(*as<CallExtern>(e.value), place);
          if (!requirement_in(e.value)) reads(e.value, place);
        },
        [&](const Sync&) {});
  }

  // Each lane's part of it; whether all of a warp come to it is sync_check's to say.
  void of_warp(const CallExtern& call, const Place& place) {
    const WarpProduct* product = warp_product(call.symbol);
    for (size_t i = 0; i < call.args.size(); ++i) {
      const auto* address = as<Address>(call.args[i]);
      if (!address) {
        reads(call.args[i], place);
        continue;
      }
      const Address& a = *address;
      const int bits = a.buffer.element().bits;
      const int row = kMatrixRowBytes * 8 / bits;
      int count = i == 0 ? row / 4 : row;
      if (product) {
        count = elements_of(*product, kFragments[i]);
      } else if (call.symbol == kShuffle) {
        count = 1;
      } else if (i == 0) {
        count *= warp_load(call.symbol)->matrices;
      }
      for (const Expr& at : a.at) reads(at, place);
      std::vector<Expr> at = a.at;
      if (count > 1) at.back() = ramp(at.back(), Expr(1), count);
      touch(a.buffer, at, i == 0, place);
    }
  }

  // A value that memory decides stays what it was when it was read.
  Place bound(const Var& var, const Expr& value, const Place& place) {
    bool changes = false;
    walk(value, [&](const Expr& e) {
      const auto* l = as<Load>(e);
      changes = changes || (l && stored_.contains(l->buffer.id()));
      return !changes;
    });
    return changes ? place.with_own(var, {}) : place.with(var, substitute(value, place.values));
  }

  void loop(const For& f, const Stmt& s, const Place& place) {
    reads(f.extent, place);
    const Expr extent = simplify(substitute(f.extent, place.values));
    const Place inside = place.with_own(f.var, extent);
    if (f.kind != ForKind::kParallel) return statement(f.body, inside);
    regions_.push_back({inside.own.size(), {}, {}});
    statement(f.body, inside);
    const Region region = std::move(regions_.back());
    regions_.pop_back();
    at_ = s;
    keep_apart(region, {f.var, extent}, place);
  }

  void keep_apart(const Region& region, const OwnVariable& index, const Place& place) {
    LaunchIndices iterations;
    iterations.blocks = {index};
    AccessForms forms;
    Verdicts known;
    Bounds bounds;
    std::vector<Touched> distinct;
    for (Touched access : region.touched) {
      access.own.erase(access.own.begin(), access.own.begin() + static_cast<ptrdiff_t>(region.own));
      for (const OwnVariable& outer : place.own) {
        if (!outer.extent) continue;
        access.conditions.push_back(Expr(0) <= Expr(outer.var));
        access.conditions.push_back(Expr(outer.var) < outer.extent);
      }
      access.form = forms.of(access, bounds);
      const bool seen = std::ranges::any_of(
          distinct, [&](const Touched& a) { return a.form == access.form && a.writes == access.writes; });
      if (!seen) distinct.push_back(std::move(access));
    }
    for (size_t i = 0; i < distinct.size(); ++i) {
      for (size_t j = i; j < distinct.size(); ++j) {
        const Touched &a = distinct[i], &b = distinct[j];
        if (a.buffer != b.buffer || !(a.writes || b.writes)) continue;
        if (known.of(a, b, iterations, Apart::kBlocks, stored_).apart()) continue;
        report(a.buffer.name() + ": iterations of the parallel loop " + index.var.name() +
                   " are not seen to touch different elements",
               a.writes ? a.statement : b.statement);
        return;
      }
    }
  }

  void reads(const Expr& e, const Place& place) {
    walk(e, [&](const Expr& x) {
      if (const auto* l = as<Load>(x)) {
        if (l->pred) reads(l->pred, place);
        for (const Expr& at : l->at) reads(at, place);
        touch(l->buffer, l->at, false, l->pred ? place.under(l->pred) : place);
        return false;
      }
      if (const auto* c = as<CallExtern>(x)) {
        if (c->pure && std::ranges::none_of(c->args, [](const Expr& arg) { return as<Address>(arg) != nullptr; }))
          return true;
        report(c->symbol + ": nobody knows what this function touches", at_);
        return false;
      }
      if (const auto* c = as<Call>(x); c && is_prefetch(c->fn)) return false;  // of any address
      if (const auto* s = as<Select>(x)) {
        reads(s->cond, place);
        reads(s->yes, place.under(s->cond));
        reads(s->no, place.under(logical_not(s->cond)));
        return false;
      }
      if (const auto* b = as<Binary>(x); b && (b->op == BinOp::kAnd || b->op == BinOp::kOr)) {
        reads(b->a, place);
        reads(b->b, place.under(b->op == BinOp::kAnd ? b->a : logical_not(b->a)));
        return false;
      }
      if (const auto* l = as<Let>(x)) {
        reads(l->value, place);
        reads(l->body, bound(l->var, l->value, place));
        return false;
      }
      return true;
    });
  }

  void touch(const Buffer& buffer, const std::vector<Expr>& at, bool writes, const Place& place) {
    const Buffer& whole = declared_.at(buffer.id());
    Touched access;
    access.buffer = whole;
    access.writes = writes;
    access.statement = at_;
    access.own = place.own;
    int lanes = 1;
    const auto one = [&](const Expr& e) {
      lanes = std::max<int>(lanes, e.type().lanes);
      return substitute(lane_of(e, lane_), place.values);
    };
    for (const Expr& subscript : at) access.at.push_back(one(subscript));
    for (const Expr& condition : place.conditions) access.conditions.push_back(one(condition));
    if (lanes > 1) access.own.push_back({lane_, Expr(lanes)});
    const bool flat = buffer.rank() != whole.rank() || buffer.strides().empty() != whole.strides().empty();
    for (size_t d = 0; d < access.at.size(); ++d)
      if (!is_within(access, access.at[d], flat ? span_of(whole) : whole.shape()[d]))
        return report(ir::to_string(load(buffer, at)) + ": not seen to stay inside of " + declaration(whole), at_);
    for (Region& region : regions_)
      if (!region.inner.contains(buffer.id())) region.touched.push_back(access);
  }

  void report(std::string what, const Stmt& s) {
    const auto same = [&](const SafetyFinding& f) { return f.what == what; };
    if (std::ranges::none_of(findings, same)) findings.push_back({std::move(what), line_of(s)});
  }

  std::unordered_map<uint64_t, Buffer> declared_;
  std::unordered_set<uint64_t> stored_;
  const Var lane_{"lane"};
  std::vector<Region> regions_;
  Stmt at_;
};

}  // namespace

std::vector<SafetyFinding> safety_check(const Program& program) {
  return support::with_deep_stack([&] {
    std::vector<SafetyFinding> findings = std::move(SafetyCheck(program).findings);
    for (const SyncFinding& f : sync_check(program)) findings.push_back({f.buffer + ": " + f.why, f.first});
    return findings;
  });
}

}  // namespace tw::lower
