#include "src/lower/integer_system.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "src/ir/interval_arith.h"

namespace tw::lower {

using ir::Interval;

namespace {

using Sum = IntegerSystem::Sum;
using Row = IntegerSystem::Row;
using Rows = IntegerSystem::Rows;
using Answer = IntegerSystem::Answer;

constexpr int kBudget = 500;  // halvings
constexpr int kRounds = 64;   // of bounds that follow from each other

class Search {
 public:
  explicit Search(const std::vector<std::vector<Rows>>& choices) : choices_(choices) {}

  // `fresh`: rows came since variables were last eliminated.
  Answer run(Rows rows, std::vector<Interval> ranges, size_t choice, bool fresh) {
    if (--budget_ < 0) return Answer::kUnknown;
    if (fresh && !eliminate(rows, ranges)) return overflow_ ? Answer::kUnknown : Answer::kNone;
    if (fresh && contradicts_itself(rows)) return Answer::kNone;
    if (!narrow(rows, ranges)) return Answer::kNone;
    if (choice < choices_.size()) {
      return any(choices_[choice], [&](const Rows& alternative) {
        Rows all = rows;
        all.insert(all.end(), alternative.begin(), alternative.end());
        return run(std::move(all), ranges, choice + 1, true);
      });
    }
    const std::optional<size_t> open = narrowest(ranges);
    if (!open) {
      if (std::ranges::any_of(ranges, [](Interval r) { return !r.is_point(); })) return Answer::kUnknown;
      for (const Interval& r : ranges) values.push_back(r.lo);
      return Answer::kSome;
    }
    const Interval whole = ranges[*open];
    const int64_t middle = std::midpoint(whole.lo, whole.hi);
    return any(std::array{Interval{whole.lo, middle}, Interval{middle + 1, whole.hi}}, [&](Interval half) {
      std::vector<Interval> halved = ranges;
      halved[*open] = half;
      return run(rows, std::move(halved), choice, false);
    });
  }

  std::vector<int64_t> values;

 private:
  template <class Alternatives, class F>
  static Answer any(const Alternatives& alternatives, const F& f) {
    Answer out = Answer::kNone;
    for (const auto& alternative : alternatives) {
      const Answer one = f(alternative);
      if (one == Answer::kSome) return one;
      if (one == Answer::kUnknown) out = one;
    }
    return out;
  }

  static uint64_t width(Interval r) { return static_cast<uint64_t>(r.hi) - static_cast<uint64_t>(r.lo); }
  static std::optional<size_t> narrowest(const std::vector<Interval>& ranges) {
    std::optional<size_t> out;
    for (size_t v = 0; v < ranges.size(); ++v) {
      const bool open = ranges[v].bounded() && !ranges[v].is_point();
      if (open && (!out || width(ranges[v]) < width(ranges[*out]))) out = v;
    }
    return out;
  }

  // Replaces variables of factor 1 or -1 in equations, which stay; false where an equation has no solution.
  bool eliminate(Rows& rows, const std::vector<Interval>& ranges) {
    std::vector<bool> used(rows.size(), false);
    for (size_t r = 0; r < rows.size(); ++r) {
      if (!rows[r].is_equation || used[r]) continue;
      const Sum sum = rows[r].sum;
      int64_t divisor = 0;
      for (const auto& [v, factor] : sum.terms) divisor = std::gcd(divisor, factor);
      if (divisor == 0 ? sum.constant != 0 : sum.constant % divisor != 0) return false;
      const auto unit = std::ranges::find_if(sum.terms, [](const auto& t) { return t.second == 1 || t.second == -1; });
      if (unit == sum.terms.end()) continue;
      const auto [variable, factor] = *unit;
      used[r] = true;
      for (size_t other = 0; other < rows.size(); ++other) {
        const auto at = rows[other].sum.terms.find(variable);
        if (used[other] || at == rows[other].sum.terms.end()) continue;
        int64_t times = 0;
        overflow_ = overflow_ || __builtin_mul_overflow(at->second, -factor, &times);
        rows[other].sum.add(sum, times);
        overflow_ = overflow_ || rows[other].sum.overflow;
      }
      bounds_as_rows(sum, variable, factor, ranges[static_cast<size_t>(variable)], rows);
      if (overflow_) return false;
      used.resize(rows.size(), false);
      r = static_cast<size_t>(-1);
    }
    return true;
  }

  // Two rows that say opposites of one sum, whatever the ranges.
  static bool contradicts_itself(const Rows& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = i + 1; j < rows.size(); ++j) {
        if (rows[i].sum.terms.size() != rows[j].sum.terms.size()) continue;
        Sum both = rows[i].sum;
        both.add(rows[j].sum, 1);
        if (both.terms.empty() && !both.overflow && both.constant < 0) return true;
      }
    }
    return false;
  }

  // Of a variable that is eliminated:  variable = -factor * (sum without it).
  void bounds_as_rows(const Sum& sum, int variable, int64_t factor, Interval range, Rows& rows) {
    Sum value;
    value.add(sum, -factor);
    value.terms.erase(variable);
    if (range.lo != Interval::kNegInf) {
      Row row{value, false};
      row.sum.add({{}, range.lo, false}, -1);
      overflow_ = overflow_ || row.sum.overflow;
      rows.push_back(std::move(row));
    }
    if (range.hi != Interval::kPosInf) {
      Row row{{{}, range.hi, false}, false};
      row.sum.add(value, -1);
      overflow_ = overflow_ || row.sum.overflow;
      rows.push_back(std::move(row));
    }
  }

  // False where no value is left for some variable.
  static bool narrow(const Rows& rows, std::vector<Interval>& ranges) {
    for (int round = 0; round < kRounds; ++round) {
      bool changed = false;
      for (const Row& row : rows)
        if (!narrow(row, ranges, changed)) return false;
      if (!changed) return true;
    }
    return true;
  }

  static bool narrow(const Row& row, std::vector<Interval>& ranges, bool& changed) {
    if (row.sum.terms.empty()) return row.is_equation ? row.sum.constant == 0 : row.sum.constant >= 0;
    for (const auto& [variable, factor] : row.sum.terms) {
      Interval rest = Interval::point(row.sum.constant);
      for (const auto& [other, times] : row.sum.terms)
        if (other != variable) rest = rest + scaled(ranges[static_cast<size_t>(other)], times);
      // factor * variable is at least -rest.hi and, in an equation, at most -rest.lo.
      Interval& range = ranges[static_cast<size_t>(variable)];
      const Interval before = range;
      const auto at_least = [&](int64_t product) {
        if (factor > 0) {
          range.lo = std::max(range.lo, ir::ceil_div(product, factor));
        } else {
          range.hi = std::min(range.hi, ir::floor_div(product, factor));
        }
      };
      const auto at_most = [&](int64_t product) {
        if (factor > 0) {
          range.hi = std::min(range.hi, ir::floor_div(product, factor));
        } else {
          range.lo = std::max(range.lo, ir::ceil_div(product, factor));
        }
      };
      // An end that has left 64 bits, on either side, says nothing.
      const auto is_number = [](int64_t end) { return end != Interval::kNegInf && end != Interval::kPosInf; };
      if (is_number(rest.hi)) at_least(-rest.hi);
      if (row.is_equation && is_number(rest.lo)) at_most(-rest.lo);
      if (range.lo > range.hi) return false;
      changed = changed || range != before;
    }
    return true;
  }

  const std::vector<std::vector<Rows>>& choices_;
  int budget_ = kBudget;
  bool overflow_ = false;
};

}  // namespace

void IntegerSystem::Sum::add(const Sum& other, int64_t scale) {
  const auto plus = [&](int64_t& to, int64_t value) {
    int64_t product;
    overflow = overflow || __builtin_mul_overflow(value, scale, &product) || __builtin_add_overflow(to, product, &to);
  };
  overflow = overflow || other.overflow;
  plus(constant, other.constant);
  for (const auto& [variable, factor] : other.terms) {
    int64_t& sum = terms[variable];
    plus(sum, factor);
    if (sum == 0) terms.erase(variable);
  }
}

int IntegerSystem::variable(Interval range) {
  ranges_.push_back(range);
  return static_cast<int>(ranges_.size()) - 1;
}

void IntegerSystem::require(Rows rows) {
  for (Row& row : rows) rows_.push_back(std::move(row));
}

void IntegerSystem::require_one_of(std::vector<Rows> alternatives) {
  if (alternatives.size() == 1) return require(std::move(alternatives[0]));
  choices_.push_back(std::move(alternatives));
}

IntegerSystem::Outcome IntegerSystem::solve() const {
  if (std::ranges::any_of(rows_, [](const Row& row) { return row.sum.overflow; })) return {Answer::kUnknown, {}};
  Search search(choices_);
  const Answer answer = search.run(rows_, ranges_, 0, true);
  return {answer, std::move(search.values)};
}

}  // namespace tw::lower
