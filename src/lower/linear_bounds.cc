#include "src/lower/linear_bounds.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>

#include "src/ir/interval_arith.h"

namespace tw::lower {

using ir::Interval;

namespace {

using Sum = IntegerSystem::Sum;
using Row = IntegerSystem::Row;

constexpr size_t kMostRows = 400;

// Inequalities  sum >= 0, of those with equal terms the strictest.
class Elimination {
 public:
  enum class Ranges : uint8_t { kAll, kEndless };

  Elimination(const IntegerSystem::Rows& rows, const std::vector<Interval>& ranges, Ranges which) {
    for (size_t v = 0; v < ranges.size(); ++v) {
      if (which == Ranges::kEndless && ranges[v].bounded()) continue;
      const int variable = static_cast<int>(v);
      if (ranges[v].lo != Interval::kNegInf) add({{{variable, 1}}, 0, false}, ranges[v].lo, -1);
      if (ranges[v].hi != Interval::kPosInf) add({{{variable, -1}}, 0, false}, ranges[v].hi, 1);
    }
    for (const Row& row : rows) row.is_equation ? equations_.push_back(row.sum) : add(row.sum);
  }

  bool finds_none() {
    eliminate_all([](int) { return true; });
    return wrong_;
  }

  std::optional<IntegerSystem::Rows> without(const std::function<bool(int variable)>& which) {
    eliminate_all(which);
    if (wrong_) return IntegerSystem::Rows{{{{}, -1, false}, false}};
    if (too_much_) return std::nullopt;
    IntegerSystem::Rows out;
    for (Sum& equation : equations_) out.push_back({std::move(equation), true});
    for (Known& known : rows_) out.push_back({std::move(known.sum), false});
    return out;
  }

 private:
  void add(Sum sum, int64_t constant, int64_t times) {
    sum.add({{}, constant, false}, times);
    add(std::move(sum));
  }

  // What is left of the constant when integers are divided decides nothing.
  void add(Sum sum) {
    too_much_ = too_much_ || sum.overflow || rows_.size() > kMostRows;
    if (too_much_ || wrong_) return;
    int64_t divisor = 0;
    for (const auto& [v, factor] : sum.terms) divisor = std::gcd(divisor, factor);
    if (divisor == 0) {
      wrong_ = sum.constant < 0;
      return;
    }
    if (divisor > 1) {
      for (auto& [v, factor] : sum.terms) factor /= divisor;
      sum.constant = ir::floor_div(sum.constant, divisor);
    }
    const uint64_t hash = hash_of(sum);
    for (Known& known : rows_) {
      if (known.hash != hash || !(known.sum.terms == sum.terms)) continue;
      known.sum.constant = std::min(known.sum.constant, sum.constant);
      return;
    }
    rows_.push_back({hash, std::move(sum)});
  }

  static uint64_t hash_of(const Sum& sum) {
    uint64_t hash = sum.terms.size();
    for (const auto& [v, factor] : sum.terms) {
      for (const uint64_t word : {static_cast<uint64_t>(v), static_cast<uint64_t>(factor)})
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return hash;
  }

  // row * |c| - equation * (a * sign of c): of which the variable is gone. The row's sign stays.
  static Sum without(const Sum& row, const Sum& equation, int variable) {
    const int64_t a = row.terms.factor(variable), c = equation.terms.factor(variable);
    Sum out;
    out.add(row, c > 0 ? c : -c);
    out.add(equation, c > 0 ? -a : a);
    return out;
  }

  template <class Which>
  void eliminate_all(const Which& which) {
    while (!wrong_ && !too_much_ && use_equation(which)) continue;
    while (!wrong_ && !too_much_) {
      const std::optional<int> variable = cheapest(which);
      if (!variable) break;
      eliminate(*variable);
    }
  }

  // The last equation that has one of the variables; false where none has.
  template <class Which>
  bool use_equation(const Which& which) {
    for (auto at = equations_.rbegin(); at != equations_.rend(); ++at) {
      if (at->terms.empty()) {
        wrong_ = wrong_ || at->constant != 0;
        continue;
      }
      std::optional<LinearTerms::Term> least;
      for (const LinearTerms::Term& term : at->terms)
        if (which(term.first) && (!least || std::abs(term.second) < std::abs(least->second))) least = term;
      if (!least) continue;
      const Sum equation = std::move(*at);
      equations_.erase(std::next(at).base());
      replace(equation, least->first);
      return true;
    }
    return false;
  }

  void replace(const Sum& equation, int variable) {
    for (Sum& other : equations_) {
      if (other.terms.factor(variable) == 0) continue;
      other = without(other, equation, variable);
      too_much_ = too_much_ || other.overflow;
    }
    for (const Sum& row : taken(variable)) add(without(row, equation, variable));
  }

  // The rows that have the variable, which are none of the others any more.
  std::vector<Sum> taken(int variable) {
    std::vector<Sum> rows;
    std::erase_if(rows_, [&](Known& known) {
      if (known.sum.terms.factor(variable) == 0) return false;
      rows.push_back(std::move(known.sum));
      return true;
    });
    return rows;
  }

  // The variable of which the fewest rows come about.
  template <class Which>
  std::optional<int> cheapest(const Which& which) const {
    struct Ends {
      int64_t lower = 0, upper = 0;
    };
    std::vector<Ends> ends;  // by variable
    for (const Known& known : rows_) {
      for (const auto& [v, factor] : known.sum.terms) {
        const auto at = static_cast<size_t>(v);
        if (at >= ends.size()) ends.resize(at + 1);
        ++(factor > 0 ? ends[at].lower : ends[at].upper);
      }
    }
    std::optional<int> out;
    int64_t fewest = 0;
    for (size_t at = 0; at < ends.size(); ++at) {
      const int64_t rows = ends[at].lower * ends[at].upper;
      if (ends[at].lower + ends[at].upper == 0 || (out && rows >= fewest) || !which(static_cast<int>(at))) continue;
      out = static_cast<int>(at);
      fewest = rows;
    }
    return out;
  }

  void eliminate(int variable) {
    std::vector<Sum> lower, upper;
    for (Sum& row : taken(variable)) (row.terms.factor(variable) > 0 ? lower : upper).push_back(std::move(row));
    for (const Sum& l : lower) {
      for (const Sum& u : upper) {
        Sum both;
        both.add(l, -u.terms.factor(variable));
        both.add(u, l.terms.factor(variable));
        add(std::move(both));
        if (wrong_ || too_much_) return;
      }
    }
  }

  struct Known {
    uint64_t hash;  // of the terms
    Sum sum;
  };
  std::vector<Known> rows_;
  std::vector<Sum> equations_;
  bool wrong_ = false, too_much_ = false;
};

}  // namespace

bool contradict(const IntegerSystem::Rows& rows, const std::vector<Interval>& ranges) {
  return Elimination(rows, ranges, Elimination::Ranges::kAll).finds_none();
}

std::optional<IntegerSystem::Rows> of_finite(const IntegerSystem::Rows& rows, const std::vector<Interval>& ranges) {
  return Elimination(rows, ranges, Elimination::Ranges::kEndless).without([&](int variable) {
    return !ranges[static_cast<size_t>(variable)].bounded();
  });
}

}  // namespace tw::lower
