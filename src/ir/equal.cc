#include "src/ir/equal.h"

#include <bit>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "src/support/deep_stack.h"

namespace tw::ir {
namespace {

// Ids of the left side are matched with ids of the right side: a bound id with its partner, a free one with itself.
// Pairs of nodes found equal are remembered, so that shared subtrees cost nothing; what was remembered under one
// matching is forgotten when an id is matched otherwise (a program that binds an id twice).
class Comparison {
 public:
  bool operator()(const Expr& a, const Expr& b) {
    if (!a || !b) return !a && !b;
    if (a.same_as(b) && renamed_ == 0) return true;
    if (a->skeleton != b->skeleton || a.type() != b.type() || a->kind.index() != b->kind.index()) return false;
    const bool remember = a.shared() && b.shared();
    if (remember && known_.contains({a.get(), b.get()})) return true;
    if (!descend([&] { return same_kind(a->kind, b->kind); })) return false;
    if (remember) known_.insert({a.get(), b.get()});
    return true;
  }

  bool operator()(const Stmt& a, const Stmt& b) {
    if (!a || !b) return !a && !b;
    if (a.same_as(b) && renamed_ == 0) return true;
    return a->skeleton == b->skeleton && a->kind.index() == b->kind.index() &&
           descend([&] { return same_kind(a->kind, b->kind); });
  }

  bool operator()(const Program& a, const Program& b) {
    return a.name == b.name && a.places == b.places && a.scalars.size() == b.scalars.size() && scalars(a, b, 0);
  }

 private:
  struct PairHash {
    size_t operator()(const std::pair<const void*, const void*>& p) const {
      return std::hash<const void*>()(p.first) * 31 + std::hash<const void*>()(p.second);
    }
  };

  bool scalars(const Program& p, const Program& q, size_t i) {
    if (i == p.scalars.size()) return (*this)(p.params, q.params, p, q, 0);
    const Var &x = p.scalars[i], &y = q.scalars[i];
    return x.type() == y.type() && bind(x.id(), y.id(), [&] { return scalars(p, q, i + 1); });
  }

  bool operator()(const std::vector<Param>& a, const std::vector<Param>& b, const Program& p, const Program& q,
                  size_t i) {
    if (a.size() != b.size()) return false;
    if (i == a.size()) return (*this)(p.body, q.body);
    const Buffer &x = a[i].buffer, &y = b[i].buffer;
    if (a[i].written != b[i].written || a[i].layout != b[i].layout || a[i].range != b[i].range) return false;
    if (a[i].nontemporal != b[i].nontemporal) return false;
    const Buffer &given = a[i].outside(), &other = b[i].outside();
    if (!same_layout(given, other)) return false;
    if (x.name() != y.name() || !same_layout(x, y)) return false;
    return bind(x.id(), y.id(), [&] { return (*this)(a, b, p, q, i + 1); });
  }

  bool operator()(const Var& a, const Var& b) { return a.type() == b.type() && same_id(a.id(), b.id()); }
  bool operator()(const Buffer& a, const Buffer& b) { return a.element() == b.element() && same_id(a.id(), b.id()); }
  bool operator()(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  }
  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  bool operator()(T a, T b) {
    return a == b;
  }
  bool operator()(const std::string& a, const std::string& b) { return a == b; }
  template <class T>
  bool operator()(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!(*this)(a[i], b[i])) return false;
    }
    return true;
  }

  template <class Kind>
  bool same_kind(const Kind& a, const Kind& b) {
    return std::visit(
        [&](const auto& x) { return same_fields(unboxed(x), unboxed(std::get<std::decay_t<decltype(x)>>(b))); }, a);
  }
  template <class K>
  bool same_fields(const K& a, const K& b) {
    return std::apply(
        [&](const auto&... x) {
          return std::apply([&](const auto&... y) { return ((*this)(x, y) && ...); }, b.fields());
        },
        a.fields());
  }
  bool same_fields(const Let& a, const Let& b) { return same_let(a, b); }
  bool same_fields(const LetStmt& a, const LetStmt& b) { return same_let(a, b); }
  bool same_fields(const Reduce& a, const Reduce& b) {
    return a.op == b.op && a.value == b.value && a.axes.size() == b.axes.size() && (*this)(a.init, b.init) &&
           same_combiner(a, b) && same_axes(a, b, 0);
  }
  bool same_fields(const For& a, const For& b) {
    return a.kind == b.kind && a.tail == b.tail && (*this)(a.extent, b.extent) &&
           bind(a.var.id(), b.var.id(), [&] { return (*this)(a.body, b.body); });
  }
  bool same_fields(const Allocate& a, const Allocate& b) {
    return a.buffer.scope() == b.buffer.scope() && same_layout(a.buffer, b.buffer) &&
           bind(a.buffer.id(), b.buffer.id(), [&] { return (*this)(a.body, b.body); });
  }

  template <class L>
  bool same_let(const L& a, const L& b) {
    return a.var.type() == b.var.type() && (*this)(a.value, b.value) &&
           bind(a.var.id(), b.var.id(), [&] { return (*this)(a.body, b.body); });
  }
  bool same_axes(const Reduce& a, const Reduce& b, size_t i) {
    if (i == a.axes.size()) return (*this)(a.sources, b.sources) && (*this)(a.where, b.where);
    const ReduceAxis &x = a.axes[i], &y = b.axes[i];
    return (*this)(x.min, y.min) && (*this)(x.extent, y.extent) &&
           bind(x.var.id(), y.var.id(), [&] { return same_axes(a, b, i + 1); });
  }
  bool same_combiner(const Reduce& a, const Reduce& b) {
    if (a.combiner == b.combiner) return true;
    if (!a.combiner || !b.combiner || a.combiner->lhs.size() != b.combiner->lhs.size()) return false;
    return (*this)(a.combiner->identity, b.combiner->identity) && same_results(*a.combiner, *b.combiner, 0);
  }
  bool same_results(const Combiner& a, const Combiner& b, size_t i) {
    if (i == a.lhs.size()) return (*this)(a.result, b.result);
    return bind(a.lhs[i].id(), b.lhs[i].id(),
                [&] { return bind(a.rhs[i].id(), b.rhs[i].id(), [&] { return same_results(a, b, i + 1); }); });
  }
  bool same_layout(const Buffer& a, const Buffer& b) {
    return a.element() == b.element() && (*this)(a.shape(), b.shape()) && (*this)(a.strides(), b.strides());
  }

  bool same_id(uint64_t a, uint64_t b) { return partner(left_, a) == b && partner(right_, b) == a; }

  // Hash tables compare small expressions all the time: only a deep one pays for a deep stack.
  template <class F>
  bool descend(F&& f) {
    ++depth_;
    const bool same = depth_ == kShallow ? support::with_deep_stack(f) : f();
    --depth_;
    return same;
  }

  // The partner is looked up for good: should the id be matched with another one later, known_ is stale.
  static uint64_t partner(std::unordered_map<uint64_t, uint64_t>& side, uint64_t id) {
    return side.try_emplace(id, id).first->second;
  }

  template <class F>
  bool bind(uint64_t a, uint64_t b, F&& body) {
    const bool was_left = match(left_, a, b), was_right = match(right_, b, a);
    if (!was_left || !was_right) known_.clear();
    renamed_ += a != b;
    const bool same = body();
    renamed_ -= a != b;
    return same;
  }
  static bool match(std::unordered_map<uint64_t, uint64_t>& side, uint64_t id, uint64_t with) {
    const auto [at, fresh] = side.try_emplace(id, with);
    return fresh || std::exchange(at->second, with) == with;
  }

  std::unordered_map<uint64_t, uint64_t> left_, right_;
  std::unordered_set<std::pair<const void*, const void*>, PairHash> known_;
  static constexpr int kShallow = 500;
  int depth_ = 0;
  int renamed_ = 0;  // ids in scope whose partner is another id
};

}  // namespace

bool equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (!a || !b || a->hash != b->hash) return false;
  return Comparison()(a, b);
}
bool equal(const Stmt& a, const Stmt& b) {
  if (a.same_as(b)) return true;
  if (!a || !b || a->hash != b->hash) return false;
  return Comparison()(a, b);
}
bool equal(const Program& a, const Program& b) { return Comparison()(a, b); }

}  // namespace tw::ir
