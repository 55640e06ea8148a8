#include "schedule/narrow.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

using Forms = std::vector<ir::Expr>;

ir::BinOp negation(ir::BinOp op) {
  switch (op) {
    case ir::BinOp::kLt:
      return ir::BinOp::kGe;
    case ir::BinOp::kGe:
      return ir::BinOp::kLt;
    case ir::BinOp::kGt:
      return ir::BinOp::kLe;
    case ir::BinOp::kLe:
      return ir::BinOp::kGt;
    case ir::BinOp::kNe:
      return ir::BinOp::kEq;
    case ir::BinOp::kEq:
      return ir::BinOp::kNe;
    case ir::BinOp::kAnd:
      return ir::BinOp::kOr;
    case ir::BinOp::kOr:
      return ir::BinOp::kAnd;
    default:
      return op;
  }
}

// What is not negative where the condition has the value `truth`.
void add_forms(const ir::Expr& condition, bool truth, Forms& forms) {
  if (const auto* inverse = ir::as<ir::Not>(condition)) return add_forms(inverse->a, !truth, forms);
  const auto* b = ir::as<ir::Binary>(condition);
  if (!b || !condition.type().is_bool() || !condition.type().is_scalar()) return;
  const ir::BinOp op = truth ? b->op : negation(b->op);
  if (op == ir::BinOp::kAnd && (b->op == ir::BinOp::kAnd || b->op == ir::BinOp::kOr)) {
    add_forms(b->a, truth, forms);
    add_forms(b->b, truth, forms);
    return;
  }
  if (!b->a.type().is_index() || ir::has_load(condition)) return;
  const ir::Expr one(1);
  if (op == ir::BinOp::kLt) forms.push_back(b->b - b->a - one);
  if (op == ir::BinOp::kGt) forms.push_back(b->a - b->b - one);
  if (op == ir::BinOp::kLe || op == ir::BinOp::kEq) forms.push_back(b->b - b->a);
  if (op == ir::BinOp::kGe || op == ir::BinOp::kEq) forms.push_back(b->a - b->b);
}

// A node that is used in several places holds what all of them have in common.
class Loads {
 public:
  void visit(const ir::Expr& e, const std::vector<size_t>& under) {
    if (!note(e, under)) return;
    const std::vector<size_t> here = seen_.at(e.get()).under;
    if (const auto* select = ir::as<ir::Select>(e)) {
      visit(select->cond, here);
      visit(select->yes, with(here, select->cond, true));
      visit(select->no, with(here, select->cond, false));
    } else if (const auto* b = ir::as<ir::Binary>(e); b && (b->op == ir::BinOp::kAnd || b->op == ir::BinOp::kOr)) {
      visit(b->a, here);
      visit(b->b, with(here, b->a, b->op == ir::BinOp::kAnd));  // of what the first decides nothing is read
    } else if (const auto* reduce = ir::as<ir::Reduce>(e); reduce && !!reduce->where) {
      visit(reduce->where, here);
      for (const ir::Expr& source : reduce->sources) visit(source, with(here, reduce->where, true));
      for (const ir::Expr& init : reduce->init) visit(init, here);
    } else {
      for (const ir::Expr& child : ir::children(e)) visit(child, here);
    }
  }

  std::vector<GuardedLoad> found() const {
    std::vector<GuardedLoad> loads;
    for (const ir::Expr& load : order_) {
      GuardedLoad& made = loads.emplace_back(GuardedLoad{load, {}});
      for (size_t form : seen_.at(load.get()).under) made.holds.push_back(forms_[form]);
    }
    return loads;
  }

 private:
  struct Seen {
    std::vector<size_t> under;  // positions among the forms, in ascending order
  };

  // Whether there is something new below the node.
  bool note(const ir::Expr& e, const std::vector<size_t>& under) {
    const auto [at, fresh] = seen_.try_emplace(e.get(), Seen{under});
    if (fresh) {
      if (ir::as<ir::Load>(e)) order_.push_back(e);
      return true;
    }
    std::vector<size_t> common;
    std::ranges::set_intersection(at->second.under, under, std::back_inserter(common));
    if (common == at->second.under) return false;
    at->second.under = common;
    return true;
  }

  std::vector<size_t> with(std::vector<size_t> under, const ir::Expr& condition, bool truth) {
    const auto [at, fresh] = added_.try_emplace({condition.get(), truth});
    if (fresh) {
      const size_t first = forms_.size();
      add_forms(condition, truth, forms_);
      if (forms_.size() == first) forms_.push_back(0);
      at->second = {first, forms_.size()};
    }
    std::vector<size_t> merged = under;
    for (size_t form = at->second.first; form < at->second.second; ++form)
      if (!std::ranges::binary_search(under, form)) merged.push_back(form);
    std::ranges::sort(merged);
    return merged;
  }

  std::unordered_map<const ir::ExprNode*, Seen> seen_;
  std::map<std::pair<const ir::ExprNode*, bool>, std::pair<size_t, size_t>> added_;  // the forms of a condition
  Forms forms_;
  std::vector<ir::Expr> order_;
};

bool runs(const ir::Expr& e, const std::unordered_map<uint64_t, ir::Expr>& running) {
  return std::ranges::any_of(ir::used_vars(e), [&](uint64_t id) { return running.contains(id); });
}

int64_t factor_of(const ir::Linear& form, const ir::Expr& atom) {
  for (const ir::Term& term : form.terms)
    if (ir::identical(term.atom, atom)) return term.factor;
  return 0;
}

}  // namespace

std::vector<GuardedLoad> guarded_loads(const ir::Expr& definition) {
  Loads loads;
  loads.visit(definition, {});
  return loads.found();
}

// at = t * form + rest, where the rest no longer runs with one of the form's variables: at >= rest for a t above 0, at
// <= rest for one below.
Narrowed narrowed(const ir::Expr& at, const std::vector<ir::Expr>& not_negative,
                  const std::unordered_map<uint64_t, ir::Expr>& running, const ir::Bounds& ranges) {
  Narrowed ends;
  if (not_negative.empty()) return ends;
  const ir::Linear whole = ir::decompose(ir::simplify(at, ranges));
  for (const ir::Expr& form : not_negative) {
    const ir::Linear condition = ir::decompose(ir::simplify(form, ranges));
    std::vector<int64_t> tried;
    for (const ir::Term& term : condition.terms) {
      const int64_t factor = factor_of(whole, term.atom), times = factor / term.factor;
      if (times == 0 || factor % term.factor != 0 || std::ranges::find(tried, times) != tried.end()) continue;
      if (!runs(term.atom, running)) continue;
      tried.push_back(times);
      ir::Linear rest = whole;
      rest.add(condition, -times);
      rest.normalise();
      if (rest.overflow || condition.overflow) continue;
      const ir::SymbolicInterval ends_of_rest = ir::symbolic_interval(ir::build(rest, 1), running, ranges);
      if (!ends_of_rest.known || ir::has_load(ends_of_rest.lo) || ir::has_load(ends_of_rest.hi)) continue;
      if (times > 0) ends.from.push_back(ends_of_rest.lo);
      if (times < 0) ends.to.push_back(ends_of_rest.hi);
    }
  }
  return ends;
}

}  // namespace tw::schedule
