#include "src/lower/vector_form.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/register_lanes.h"
#include "src/ir/walk.h"
#include "src/lower/independence.h"

namespace tw::lower {

using namespace ir;

LaneVariables::LaneVariables(const Var& var, const Stmt& body) {
  ids_.insert(var.id());
  walk(body, [&](const Stmt& s) {
    if (const auto* l = as<LetStmt>(s); l && varies(l->value)) ids_.insert(l->var.id());
    return true;
  });
}

bool LaneVariables::varies(const Expr& e) const {
  for (uint64_t id : used_vars(e))
    if (ids_.count(id)) return true;
  return false;
}

bool LaneVariables::lane_by_lane(const Stmt& s) const {
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

bool LaneVariables::vectors_in(const Stmt& s) const {
  if (!lane_by_lane(s)) return true;
  if (const auto* f = as<For>(s)) return !varies(f->extent) && vectors_in(f->body);
  if (const auto* a = as<Allocate>(s)) return vectors_in(a->body);
  const auto* all = as<Seq>(s);
  return all && std::any_of(all->stmts.begin(), all->stmts.end(), [&](const Stmt& child) { return vectors_in(child); });
}

namespace {

struct Access {
  std::vector<Expr> at;
  bool is_store;
};

bool same_subscripts(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) { return equal(x, y); });
}

class RowUse {
 public:
  RowUse(const Buffer& buffer, int lanes, const Target& target) : buffer_(buffer), lanes_(lanes), target_(target) {}

  std::optional<int64_t> written(const Stmt& body) {
    visit(body, false);
    return ok_ ? extent_ : std::nullopt;
  }

 private:
  void visit(const Stmt& s, bool guarded) {
    if (const auto* f = as<For>(s)) {
      const bool along = f->kind == ForKind::kVectorized && as_int(f->extent) &&
                         lanes_for(f->body, target_) == lanes_ && has_vector_form(*f) &&
                         !LaneVariables(f->var, f->body).lane_by_lane(f->body);
      if (along) along_.push_back(f);
      visit(f->body, guarded);
      if (along) along_.pop_back();
    } else if (const auto* i = as<If>(s)) {
      const bool on_lanes =
          guarded || std::any_of(along_.begin(), along_.end(), [&](const For* f) { return uses_var(i->cond, f->var); });
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
      const auto along =
          std::find_if(along_.begin(), along_.end(), [&](const For* f) { return last && last->var == f->var; });
      ok_ = ok_ && along != along_.end() && !guarded && !st->pred;
      if (!ok_) return;
      const int64_t extent = *as_int((*along)->extent);
      ok_ = extent == extent_.value_or(extent);
      extent_ = extent;
    }
  }

  const Buffer& buffer_;
  const int lanes_;
  const Target& target_;
  std::vector<const For*> along_;
  std::optional<int64_t> extent_;
  bool ok_ = true;
};

}  // namespace

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

namespace {

constexpr int kMostBits = 512;  // of a vector that is computed with

// The type of each value; `is_element`: of an element that is read or written.
template <class See>
void each_type(const Stmt& body, See see) {
  walk(
      body,
      [&](const Stmt& s) {
        if (const auto* st = as<Store>(s)) see(st->buffer.element(), true);
        return true;
      },
      [&](const Expr& e) {
        const auto* l = as<Load>(e);
        see(l ? l->buffer.element() : e.type(), l != nullptr);
        return true;
      });
}

// Threads of a device compute by single elements: what they read or write of the narrowest type comes at once.
int lanes_of_accesses(const Stmt& body, const Target& target) {
  int narrowest = kMostBits, widest = 8;
  each_type(body, [&](Type t, bool is_element) {
    if (is_element) narrowest = std::min(narrowest, std::max<int>(8, t.bits));
    if (is_element || !t.is_index()) widest = std::max<int>(widest, t.bits);
  });
  return std::max(1, std::min(target.lanes(narrowest), kMostBits / widest));
}

}  // namespace

int lanes_for(const Stmt& body, const Target& target) {
  if (target.abilities.device) return lanes_of_accesses(body, target);
  int lanes = register_lanes(target, Type::u(8));
  each_type(body, [&](Type t, bool) {
    if (!t.is_index()) lanes = std::min(lanes, register_lanes(target, t));
  });
  return lanes;
}

std::optional<int64_t> written_by_vectors(const Stmt& body, const Buffer& buffer, int lanes, const Target& target) {
  return RowUse(buffer, lanes, target).written(body);
}

}  // namespace tw::lower
