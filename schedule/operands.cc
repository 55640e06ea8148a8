// Bodies are searched from the outside in: the first part that stands still along an axis is as large as it can be.
#include "schedule/operands.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

class Operands {
 public:
  explicit Operands(const StageNest& stage) : stage_(stage) {}

  // `added`: to something, with which a product would be fused.
  void visit(const ir::Expr& e, bool added) {
    if (!ir::has_load(e)) return;
    const auto* binary = ir::as<ir::Binary>(e);
    const bool product = binary && binary->op == ir::BinOp::kMul && e.type().is_float();
    if (!(added && product) && stands_still(e)) return add(e);
    if (binary) {
      if (binary->op == ir::BinOp::kAnd || binary->op == ir::BinOp::kOr) return;  // the second for some of the first
      const bool adds = binary->op == ir::BinOp::kAdd || binary->op == ir::BinOp::kSub;
      visit(binary->a, adds);
      visit(binary->b, adds);
    } else if (const auto* cast = ir::as<ir::Cast>(e)) {
      visit(cast->value, false);
    } else if (const auto* call = ir::as<ir::Call>(e)) {
      for (const ir::Expr& argument : call->args) visit(argument, call->fn == ir::Fn::kFma);
    } else if (const auto* sum = ir::as<ir::Reduce>(e)) {
      for (const ir::Expr& source : sum->sources) visit(source, true);
    }
  }

  std::vector<ir::Expr> found;

 private:
  bool stands_still(const ir::Expr& e) const {
    bool is_value = true;
    ir::walk(e, [&](const ir::Expr& part) {
      is_value = is_value && !ir::as<ir::Reduce>(part) && !ir::as<ir::CallExtern>(part);
      return is_value;
    });
    if (!is_value) return false;
    for (int root = 0; root < stage_.data_rank + stage_.reduce_rank; ++root)
      if (!ir::uses_var(e, stage_.axes[static_cast<size_t>(root)].var)) return true;
    return false;
  }

  void add(const ir::Expr& e) {
    if (std::none_of(found.begin(), found.end(), [&](const ir::Expr& known) { return ir::equal(known, e); }))
      found.push_back(e);
  }

  const StageNest& stage_;
};

}  // namespace

std::vector<ir::Expr> operands_of(const StageNest& stage) {
  Operands operands(stage);
  for (const ir::Expr& body : stage.bodies) operands.visit(body, true);
  return std::move(operands.found);
}

int place_of(const std::vector<ir::Expr>& at, const ir::Var& variable) {
  int place = kNone;
  for (size_t d = 0; d < at.size(); ++d) {
    if (!ir::uses_var(at[d], variable)) continue;
    const auto* var = ir::as<ir::VarRef>(at[d]);
    if (!var || place != kNone) return kNone;
    place = static_cast<int>(d);
  }
  return place;
}

}  // namespace tw::schedule
