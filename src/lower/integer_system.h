// Whether integers exist that satisfy linear equations and inequalities: a search that proves that there are none, or
// finds some, or gives up.
//
// Equations whose terms have a common divisor that the constant lacks have no solution; variables with factor 1 are
// eliminated; one that says the digits of a number is as many equations; bounds follow from each row, and where they
// don't decide, a variable's range is halved. With finite ranges the search is exact as long as its budget lasts.
#pragma once

#include <optional>
#include <vector>

#include "src/ir/interval.h"
#include "src/lower/linear_terms.h"

namespace tw::lower {

class IntegerSystem {
 public:
  struct Sum {
    LinearTerms terms;
    int64_t constant = 0;
    void add(const Sum& other, int64_t scale);  // a sum that leaves 64 bits ends the search without an answer
    bool overflow = false;
  };
  struct Row {
    Sum sum;
    bool is_equation;  // sum = 0, else sum >= 0
  };
  using Rows = std::vector<Row>;

  int variable(ir::Interval range);
  void require(Rows rows);
  void require_one_of(std::vector<Rows> alternatives);

  enum class Answer : uint8_t { kNone, kSome, kUnknown };
  struct Outcome {
    Answer answer;
    std::vector<int64_t> values;  // of the variables, where there are some
    int64_t rows = 0;             // that were looked at: what the answer took, a microsecond or two each
  };
  Outcome solve() const;

 private:
  std::vector<ir::Interval> ranges_;
  Rows rows_;
  std::vector<std::vector<Rows>> choices_;
};

}  // namespace tw::lower
