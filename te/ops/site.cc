// Checks that the operators share.
#include "te/ops/site.h"

#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "te/dtype.h"
#include "te/ops/axes.h"
#include "te/promote.h"

namespace tw::te::ops {

using ir::BinOp;

namespace {

std::string dimensions(size_t rank) { return std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions"); }

Expr folded(BinOp op, Expr a, Expr b) { return ir::simplify(arith(op, std::move(a), std::move(b))); }

}  // namespace

void Site::refuse(ErrorKind kind, const std::string& rule, std::vector<std::string> notes) const {
  te::refuse(kind, op + ": " + rule, std::move(notes), where);
}

void Site::rank(const std::string& argument, const Tensor& t, size_t rank) const {
  expect_given(*this, argument, t);
  if (t.rank() == rank) return;
  refuse(ErrorKind::kExpr, argument + " must have " + dimensions(rank) + ", not " + std::to_string(t.rank()),
         {describe(argument, t)});
}

void Site::rank_at_least(const std::string& argument, const Tensor& t, size_t rank) const {
  expect_given(*this, argument, t);
  if (t.rank() >= rank) return;
  refuse(ErrorKind::kExpr, argument + " must have at least " + dimensions(rank) + ", not " + std::to_string(t.rank()),
         {describe(argument, t)});
}

void Site::same(const std::string& a_what, const Expr& a, const std::string& b_what, const Expr& b,
                std::vector<std::string> notes) const {
  if (ir::equal(a, b) || ir::is_int(ir::simplify(minus(a, b)), 0)) return;
  refuse(ErrorKind::kExpr, a_what + " must be as many as " + b_what + ", " + short_text(b) + ", not " + short_text(a),
         std::move(notes));
}

int64_t Site::constant(const std::string& what, const Expr& e) const {
  if (const auto value = ir::as_int(e)) return *value;
  refuse(ErrorKind::kExpr, what + " must be a constant, not " + short_text(e));
}

Type Site::dtype(const std::string& option, const std::string& name) const {
  try {
    return dtype_named(name);
  } catch (const Error& e) {
    refuse(ErrorKind::kDType, option + " must be a dtype, not \"" + name + "\"", e.diagnostic().notes);
  }
}

Expr plus(Expr a, Expr b) { return folded(BinOp::kAdd, std::move(a), std::move(b)); }
Expr minus(Expr a, Expr b) { return folded(BinOp::kSub, std::move(a), std::move(b)); }
Expr times(Expr a, Expr b) { return folded(BinOp::kMul, std::move(a), std::move(b)); }
Expr quotient(Expr a, Expr b) { return folded(BinOp::kFloorDiv, std::move(a), std::move(b)); }

}  // namespace tw::te::ops
