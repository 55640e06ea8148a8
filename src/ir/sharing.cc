#include "src/ir/sharing.h"

#include <algorithm>

#include "src/ir/fields.h"

namespace tw::ir {

void Sharing::plan(const std::vector<Expr>& roots) {
  before_.clear();
  named_.clear();
  uint64_t all = 0;
  for (const Expr& root : roots) all += root ? terms(root) : 0;
  if (all <= kLongest) return;

  uses_.clear();
  bound_.clear();
  order_.clear();
  for (const Expr& root : roots) {
    if (root) count(root);
  }
  for (const Expr& e : order_) {
    const Use& use = uses_.at(e.get());
    if (use.times < 2 || terms(e) < kWorthNaming || as<Ramp>(e)) continue;  // a ramp is shorter as base : lanes
    named_.insert(e.get());
    if (!use.local) before_.push_back(e);
  }
}

// The length of the text, in terms; kEnough when it is longer.
uint64_t Sharing::terms(const Expr& e) {
  if (e.shared()) {
    if (const auto known = terms_.find(e.get()); known != terms_.end()) return known->second.second;
  }
  uint64_t sum = 1;
  for_each_child(*e, [&](const Expr& child) { sum = std::min(sum + terms(child), kEnough); });
  if (e.shared()) terms_.emplace(e.get(), std::pair(e, sum));
  return sum;
}

// Counts each node's uses and lists the nodes operands first. Answers whether `e` holds a variable bound in the
// statement.
bool Sharing::count(const Expr& e) {
  if (const auto known = uses_.find(e.get()); known != uses_.end()) {
    ++known->second.times;
    return known->second.local;
  }
  if (const Let* let = as<Let>(e)) bound_.insert(let->var.id());
  if (const Reduce* reduce = as<Reduce>(e)) {
    for (const ReduceAxis& axis : reduce->axes) bound_.insert(axis.var.id());
  }
  const VarRef* ref = as<VarRef>(e);
  bool local = ref && bound_.contains(ref->var.id());
  for_each_child(*e, [&](const Expr& child) { local |= count(child); });
  uses_[e.get()] = {1, local};
  order_.push_back(e);
  return local;
}

}  // namespace tw::ir
