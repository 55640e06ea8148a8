// Two accesses as a system of integers: their subscripts are equal, their conditions hold, and some index of the
// threads differs. A variable that both have for themselves is `x` for the second and `x + d` for the first: equal
// strides then leave equations over the differences d alone.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/ir/interval.h"
#include "src/lower/integer_system.h"
#include "src/lower/sync_access.h"

namespace tw::lower {

// In elements from the buffer's first.
ir::Expr element_offset(const Access&);

// One question: it is asked once, by run() or by within(), of accesses that outlive it.
class Meeting {
 public:
  Meeting(const Access& a, const Access& b, const LaunchIndices& launch, const std::unordered_set<uint64_t>& changing);

  Verdict run(Apart apart);
  // Whether 0 <= part < extent wherever the second access is made.
  bool within(const ir::Expr& part, const ir::Expr& extent);

  const ir::Bounds& bounds() const { return bounds_; }

  // The variables of both with what they are inside of, and the conditions: before is_own().
  void prepare(Apart apart);
  // Whether it may be another number for each of two threads.
  bool is_own(const ir::Expr& e) const;

 private:
  static constexpr const char* kNotSeen = "different threads are not seen to touch different elements";
  enum Side { kFirst, kSecond };
  using Sum = IntegerSystem::Sum;
  using Rows = IntegerSystem::Rows;
  struct Own {
    int base, distance;  // no distance, -1: of a variable that one of them has
  };
  struct Exclusive {
    Sum x, y, value;
  };
  struct Fused {
    ir::Expr divisor;
    Sum value, quotient, rest;
  };
  struct Known {
    ir::Expr atom;
    std::optional<Side> side;  // none: the same for both
    int variable;
  };
  struct Division {
    Sum quotient, rest;
  };

  bool differs(const ir::Var& var) const;
  void note_least(const ir::Expr& condition);
  bool lie_apart() const;
  void make_own(const ir::Var& var, bool of_both = true);
  void limit(const OwnVariable& v, std::initializer_list<Side> sides);
  bool reads_what_changes(const ir::Expr& e) const;
  Sum sum_of(const ir::Expr& e, Side side);
  Sum atom(const ir::Expr& e, Side side);
  std::pair<int, bool> variable(const ir::Expr& e, Side side);
  Division divided(const ir::Expr& dividend, int64_t divisor, const Sum& value, Side side);
  Sum of_fused(const ir::Binary& b, Side side);
  Sum extremum(const ir::Binary& b, const ir::Expr& e, Side side);
  Sum exclusive(const ir::Binary& b, const ir::Expr& e, Side side);
  void require(const ir::Expr& condition, Side side);
  std::vector<Rows> rows_of(const ir::Expr& e, bool holds, Side side);
  std::vector<Rows> both(const std::vector<Rows>& x, const std::vector<Rows>& y);
  std::vector<Rows> either(std::vector<Rows> x, const std::vector<Rows>& y);
  void equal_elements();
  void differ(const std::vector<OwnVariable>& indices);
  static std::string who_meet(const std::string& first, const std::string& second);
  std::string place(const std::vector<int64_t>& values, Side side) const;

  const Access &a_, &b_;
  const LaunchIndices& launch_;
  const std::unordered_set<uint64_t>& changing_;
  ir::Bounds bounds_;
  IntegerSystem system_;
  std::unordered_map<uint64_t, Own> own_;
  std::vector<Known> known_;
  std::vector<Exclusive> exclusives_;
  std::vector<Fused> fused_;
  bool exact_;  // the system says no less than the program
};

}  // namespace tw::lower
