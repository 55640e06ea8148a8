// A number that a call of a kernel decides, such as how many blocks it has: from an expression over the kernel's
// scalars to steps that are run without an allocation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/runtime.h"

namespace tw::runtime::cuda {

class Formula {
 public:
  Formula() = default;  // 0
  // kArgument for what depends on more than the scalars' integers. Conditions are 0 or 1.
  static Result<Formula> of(const ir::Expr&, std::span<const ir::Var> scalars);

  // `scalars`: the addresses of their values, as Kernel::run has them. Sums and products saturate at the ends of
  // 64 bits: a size that leaves them is larger than any that there is.
  int64_t evaluate(void* const* scalars) const;
  const ir::Expr& expr() const { return expr_; }

 private:
  enum class Do : uint8_t { kPush, kScalar, kBinary, kNot, kSelect };
  struct Step {
    Do what;
    ir::BinOp op = ir::BinOp::kAdd;
    ir::Type type = ir::Type::index();
    int64_t value = 0;  // of kPush; which one, of kScalar
  };
  static constexpr size_t kDeepest = 32;
  friend class FormulaWriter;

  std::vector<Step> steps_;
  ir::Expr expr_;
};

}  // namespace tw::runtime::cuda
