// Index expressions and conditions as systems of inequalities. What is no sum splits into cases:
//
//   min(i, n)   i <= n and the value i, or n <= i - 1 and the value n
//   i // 3      a fresh q with 3*q <= i <= 3*q + 2
//   A[i]        an unknown within its type's range; the system is no longer exact
#pragma once

#include <unordered_map>

#include "src/ir/interval.h"
#include "te/inequalities.h"
#include "tensorwright/ir.h"

namespace tw::te {

// What holds in one of several cases.
struct IndexCase {
  Inequalities known;
  std::vector<std::pair<ir::Expr, int>> quotients = {};  // that have a variable: of one expression one
};
struct IndexValue {
  IndexCase in;
  Polynomial value;
};

class IndexCases {
 public:
  // `ranges` of variables with constant ends.
  explicit IndexCases(const ir::Bounds& ranges) : ranges_(ranges) {}

  // Variables are numbered as they come: sizes unless they were declared.
  void declare_inner(const ir::Var&, bool not_negative);
  void declare_not_negative(const ir::Var& size);

  std::vector<IndexValue> value(const ir::Expr&, const IndexCase&);
  std::vector<IndexCase> assume(const ir::Expr& condition, bool holds, const IndexCase&);
  std::vector<IndexCase> assume(const ir::Expr& condition, bool holds, const std::vector<IndexCase>&);
  bool too_many() const { return too_many_; }  // cases: what was given back is not all

  const Unknowns& unknowns() const { return unknowns_; }
  const ir::Var& variable(int number) const { return variables_[static_cast<size_t>(number)]; }  // of a size

 private:
  using Values = std::vector<IndexValue>;
  bool not_negative(const Polynomial&) const;
  int number_of(const ir::Var&);
  int fresh(Unknown, ir::Var = {});
  Values binary(const ir::Binary&, const IndexCase&);
  Values truncated(const ir::Expr&, const ir::Binary&, const Polynomial& a, const Polynomial& b, const IndexCase&);
  Values divided(const ir::Expr&, bool remainder, const Polynomial& a, const Polynomial& b, const IndexCase&);
  Values opaque(const ir::Expr&, IndexCase);
  Values data(const ir::Expr&, const IndexCase&);
  std::vector<IndexCase> comparison(const ir::Binary&, bool holds, const IndexCase&);
  template <class List>
  List limited(List);

  const ir::Bounds& ranges_;
  Unknowns unknowns_;
  std::vector<ir::Var> variables_;
  std::unordered_map<uint64_t, int> numbers_;
  std::vector<std::pair<ir::Expr, int>> opaque_;
  bool too_many_ = false;
};

}  // namespace tw::te
