// Indices in the interpreter, which is most of what programs compute: sums of variables are read without a call, and
// operations on indices are one call each.
#pragma once

#include <cstdint>
#include <vector>

#include "src/ir/interp_program.h"

namespace tw::ir::interp {

class Index {
 public:
  Index(Preparation&, const Expr&);

  int64_t eval(State& s) const {
    if (code_) return code_->eval(s).i;
    int64_t sum = constant_;
    for (const Part& p : parts_) sum += s.slots[p.slot].i * p.factor;
    return sum;
  }

 private:
  struct Part {
    size_t slot;
    int64_t factor;
  };
  // A sum of scalar variables and a constant, what most subscripts are; or any other.
  std::vector<Part> parts_;
  int64_t constant_ = 0;
  ExprPtr code_;
};

// An affine sum; nothing where it is none, or no operation on indices.
ExprPtr affine_code(Preparation&, const Expr&);
// Of two indices; nothing where the operator has no code of its own.
ExprPtr index_code(Preparation&, const Binary&);

bool is_affine(const ExprCode&);  // cheaper than to look whether its value is known

// The element offset of an access: subscripts checked against the buffer, one dimension after the other.
class Subscripts {
 public:
  Subscripts(Preparation&, const Buffer&, const std::vector<Expr>& at);
  int64_t offset(State&) const;
  size_t memory() const { return memory_; }

 private:
  [[noreturn]] void outside(State&, size_t d, int64_t subscript) const;

  std::vector<Index> at_;
  size_t memory_;
};

}  // namespace tw::ir::interp
