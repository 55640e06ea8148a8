#include "src/lower/linear_bounds.h"

#include <algorithm>
#include <map>
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
  Elimination(const IntegerSystem::Rows& rows, const std::vector<Interval>& ranges) {
    for (size_t v = 0; v < ranges.size(); ++v) {
      const int variable = static_cast<int>(v);
      if (ranges[v].lo != Interval::kNegInf) add({{{variable, 1}}, 0, false}, ranges[v].lo, -1);
      if (ranges[v].hi != Interval::kPosInf) add({{{variable, -1}}, 0, false}, ranges[v].hi, 1);
    }
    for (const Row& row : rows) row.is_equation ? equations_.push_back(row.sum) : add(row.sum);
  }

  bool finds_none() {
    while (!equations_.empty() && !wrong_ && !too_much_) use_equation();
    while (!wrong_ && !too_much_) {
      const std::optional<int> variable = cheapest();
      if (!variable) break;
      eliminate(*variable);
    }
    return wrong_ && !too_much_;
  }

 private:
  void add(Sum sum, int64_t constant, int64_t times) {
    sum.add({{}, constant, false}, times);
    add(std::move(sum));
  }

  // What is left of the constant when integers are divided decides nothing.
  void add(Sum sum) {
    too_much_ = too_much_ || sum.overflow || known_.size() > kMostRows;
    if (too_much_) return;
    int64_t divisor = 0;
    for (const auto& [v, factor] : sum.terms) divisor = std::gcd(divisor, factor);
    if (divisor == 0) {
      wrong_ = wrong_ || sum.constant < 0;
      return;
    }
    for (auto& [v, factor] : sum.terms) factor /= divisor;
    sum.constant = ir::floor_div(sum.constant, divisor);
    const auto [at, fresh] = known_.try_emplace(sum.terms, sum.constant);
    if (!fresh) at->second = std::min(at->second, sum.constant);
  }

  // row * |c| - equation * (a * sign of c): of which the variable is gone. The row's sign stays.
  static Sum without(const Sum& row, const Sum& equation, int variable) {
    const auto at = row.terms.find(variable);
    if (at == row.terms.end()) return row;
    const int64_t a = at->second, c = equation.terms.at(variable);
    Sum out;
    out.add(row, c > 0 ? c : -c);
    out.add(equation, c > 0 ? -a : a);
    return out;
  }

  void use_equation() {
    const Sum equation = std::move(equations_.back());
    equations_.pop_back();
    if (equation.terms.empty()) {
      wrong_ = wrong_ || equation.constant != 0;
      return;
    }
    const auto size = [](const auto& term) { return term.second > 0 ? term.second : -term.second; };
    const int variable = std::ranges::min_element(equation.terms, {}, size)->first;
    for (Sum& other : equations_) {
      other = without(other, equation, variable);
      too_much_ = too_much_ || other.overflow;
    }
    for (Sum& row : taken()) add(without(row, equation, variable));
  }

  std::vector<Sum> taken() {
    std::vector<Sum> rows;
    for (const auto& [terms, constant] : known_) rows.push_back({terms, constant, false});
    known_.clear();
    return rows;
  }

  // The variable of which the fewest rows come about.
  std::optional<int> cheapest() const {
    std::map<int, std::pair<int64_t, int64_t>> ends;  // lower, upper
    for (const auto& [terms, constant] : known_)
      for (const auto& [v, factor] : terms) ++(factor > 0 ? ends[v].first : ends[v].second);
    if (ends.empty()) return std::nullopt;
    const auto cost = [](const auto& one) { return one.second.first * one.second.second; };
    return std::ranges::min_element(ends, {}, cost)->first;
  }

  void eliminate(int variable) {
    std::vector<Sum> lower, upper;
    for (Sum& row : taken()) {
      const auto at = row.terms.find(variable);
      if (at == row.terms.end())
        add(std::move(row));
      else
        (at->second > 0 ? lower : upper).push_back(std::move(row));
    }
    for (const Sum& l : lower) {
      for (const Sum& u : upper) {
        Sum both;
        both.add(l, -u.terms.at(variable));
        both.add(u, l.terms.at(variable));
        add(std::move(both));
      }
    }
  }

  std::map<std::map<int, int64_t>, int64_t> known_;
  std::vector<Sum> equations_;
  bool wrong_ = false, too_much_ = false;
};

}  // namespace

bool contradict(const IntegerSystem::Rows& rows, const std::vector<Interval>& ranges) {
  return Elimination(rows, ranges).finds_none();
}

}  // namespace tw::lower
