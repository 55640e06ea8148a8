// The simplifier's state: what is known about variables and conditions at one place of a program, and what was
// simplified there.
#pragma once

#include <optional>
#include <vector>

#include "src/ir/interval.h"
#include "src/ir/known_by_id.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/simplify_memo.h"
#include "tensorwright/ir.h"

namespace tw::ir {

struct FloatRange {
  double lo, hi;
};

class Simplifier {
 public:
  explicit Simplifier(const Bounds& bounds) : bounds_(bounds) {}

  Expr expr(const Expr&);
  Stmt stmt(const Stmt&);

  // The same for nodes whose operands are simplified already.
  Expr make(BinOp, const Expr& a, const Expr& b);
  Expr make_not(const Expr&);
  Expr make_select(const Expr& cond, const Expr& yes, const Expr& no);

  // Of simplified expressions; for vectors over all lanes.
  Interval interval(const Expr&);
  Interval interval(const Linear&);
  Linear linear(const Expr&);  // the normal form of any index expression
  // form < 0, by its interval or by what holds here.
  bool is_negative(const Linear& form);
  // The ranges of all variables where the condition holds.
  Bounds where(const Expr& condition);

 private:
  // What an enclosing condition adds while its body is simplified.
  struct Scope {
    Memo<Expr> memo;
    Memo<Interval> intervals;
    size_t ranges = 0, replacements = 0, negative = 0, holds = 0;  // what there was
  };

  // simplify.cc: dispatch
  Expr simplify(const Expr&);
  Expr simplify_children(const Expr&);
  Expr simplify_arm(const Expr& value, const Expr& cond, bool holds);
  Expr simplify_load(const Expr&, const Load&);
  Expr simplify_let(const Expr&, const Let&);
  Expr simplify_reduce(const Expr&, const Reduce&);
  Interval range_of_variable(const Var&) const;
  bool rebinds(const Var&, const Expr& replacement, Interval range) const;

  // simplify_index.cc: sums, quotients, minima and comparisons of index expressions
  struct Multiples {  // unit * multiples + rest, with 0 <= rest < unit
    Linear multiples, rest;
    int64_t unit;
  };
  void accumulate(const Expr&, int64_t scale, Linear& out, int& budget);
  Expr interned(const Expr& simplified);
  Expr built(const Linear&, int lanes);
  Expr product(const Expr& a, const Expr& b);
  Expr make_index(BinOp, const Expr& a, const Expr& b);
  Linear quotient(const Linear& n, int64_t divisor);
  Linear remainder(const Linear& n, int64_t divisor);
  std::optional<Multiples> split_multiples(const Linear& n, int64_t divisor);
  Expr divided(BinOp, const Expr& a, const Expr& b);
  void recombine(Linear&);
  bool recombine_term(Linear&, size_t remainder);

  // simplify_products.cc
  bool recombine_product(Linear&, size_t term);

  Expr extremum(BinOp, const Linear& a, const Linear& b, const Expr& left, const Expr& right);
  Expr compare_index(BinOp, const Expr& a, const Expr& b);
  Expr build_comparison(BinOp, const Linear& form, int lanes);

  // simplify_data.cc: everything else with an operator
  Expr make_data(BinOp, const Expr& a, const Expr& b);
  Expr make_cast(Type, const Expr&);
  Expr make_call(const Expr&, const Call&);
  Expr without_implied(const Expr& conjunction);
  bool covers_all(const Expr& a, const Expr& b);

  // interval_of.cc: intervals of simplified nodes
  Interval compute_interval(const Expr&);
  int64_t upper_end(const Linear&, int substitutions, int& effort);
  int64_t upper_end_inside(const Linear&, const Term&, int substitutions, int& effort);

  // float_range.cc: intervals of what is rounded to an integer
  std::optional<FloatRange> float_range(const Expr&);
  Interval interval_of_rounded(const Expr& value, Type to);

  // simplify_stmt.cc
  Stmt simplify(const For&, const Stmt& original);
  Stmt simplify(const If&, const Stmt& original);
  Stmt simplify(const Seq&, const Stmt& original);
  Stmt simplify(const Store&, const Stmt& original);
  Expr stored(const Store&);
  Stmt simplify(const Allocate&, const Stmt& original);
  Stmt simplify(const LetStmt&, const Stmt& original);
  Scope enter(const Expr& condition, bool holds);
  void leave(Scope);
  void assume(const Expr& condition, bool holds);
  void assume_negative(const Linear&);
  void assume_quotient_at_most(const Expr& x, int64_t by, int64_t most);
  void assume_at_least(const Expr&, int64_t least);

  struct Fact {
    Expr condition;
    bool holds;
  };

  const Bounds& bounds_;
  bool quotients_ = false;        // whether conditions on x // c narrow x; subscripts are written as for all of them
  KnownById<Interval> ranges_;    // loops, lets and reductions on the way here; narrowed by conditions
  KnownById<Expr> replacements_;  // variables that have one value
  std::vector<Linear> negative_;  // forms that are below 0 here
  std::vector<Fact> holds_;       // other conditions that hold, or do not hold, here
  Memo<Expr> memo_;
  Memo<Interval> intervals_;
  int depth_ = 0;
  bool in_arm_ = false;  // of a select
};

}  // namespace tw::ir
