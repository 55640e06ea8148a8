#include "src/lower/share.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "src/ir/walk.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr uint64_t kMostTerms = 2000, kWorthNaming = 4, kEnough = uint64_t{1} << 40;

class Names {
 public:
  explicit Names(const Expr& root) : root_(root) {}

  Expr result() {
    const uint64_t terms = look_at(root_).terms;
    if (terms <= kMostTerms || terms < 4 * nodes_.size()) return root_;
    read_in_any_case(root_);
    Expr value = named(root_);
    for (size_t n = names_.size(); n-- > 0;) value = let(names_[n].first, names_[n].second, value);
    return value;
  }

 private:
  struct Node {
    uint64_t terms = 1;
    int uses = 0;
  };

  Node& look_at(const Expr& e) {
    if (const auto known = nodes_.find(e.get()); known != nodes_.end()) return known->second;
    Node node;
    for (const Expr& child : children(e)) {
      Node& below = look_at(child);
      ++below.uses;
      node.terms = std::min(node.terms + below.terms, kEnough);
    }
    if (const auto* l = as<Let>(e)) bound_.insert(l->var.id());
    return nodes_[e.get()] = std::move(node);
  }

  // Loads that no condition guards.
  void read_in_any_case(const Expr& e) {
    if (!visited_.insert(e.get()).second) return;
    const auto* s = as<Select>(e);
    const auto* b = as<Binary>(e);
    const bool half = b && (b->op == BinOp::kAnd || b->op == BinOp::kOr);
    if (s) return read_in_any_case(s->cond);
    if (half) return read_in_any_case(b->a);
    for (const Expr& child : children(e)) read_in_any_case(child);
  }

  // Whether it may be computed in front of everything.
  bool movable(const Expr& e) {
    if (const auto known = movable_.find(e.get()); known != movable_.end()) return known->second;
    const auto* v = as<VarRef>(e);
    bool fine = !(v && bound_.contains(v->var.id())) && !as<CallExtern>(e) && !as<Address>(e) &&
                !(as<Load>(e) && !visited_.contains(e.get()));
    for (const Expr& child : children(e)) fine = fine && movable(child);
    return movable_[e.get()] = fine;
  }

  Expr named(const Expr& e) {
    if (const auto done = done_.find(e.get()); done != done_.end()) return done->second;
    Expr value = map_children(e, [&](const Expr& child) { return named(child); });
    const Node& node = nodes_.at(e.get());
    if (node.uses > 1 && node.terms >= kWorthNaming && movable(e)) {
      const Var name("s", e.type());
      names_.emplace_back(name, std::move(value));
      value = name;
    }
    return done_[e.get()] = value;
  }

  Expr root_;
  std::unordered_map<const ExprNode*, Node> nodes_;
  std::unordered_set<uint64_t> bound_;
  std::unordered_set<const ExprNode*> visited_;
  std::unordered_map<const ExprNode*, bool> movable_;
  std::unordered_map<const ExprNode*, Expr> done_;
  std::vector<std::pair<Var, Expr>> names_;
};

Stmt with_names(const Stmt& s) {
  const auto* store = as<Store>(s);
  if (!store) return s;
  const Expr value = Names(store->value).result();
  return value.same_as(store->value) ? s : ir::store(store->buffer, store->at, value, store->pred, store->arrival);
}

}  // namespace

Program share(const Program& p, const Target&) {
  Program out = p;
  out.body = rewrite(p.body, with_names, [](const Expr& e) { return e; });
  return out;
}

}  // namespace tw::lower
