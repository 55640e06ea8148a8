#include "src/lower/integer_system.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include "src/ir/interval_arith.h"
#include "src/lower/linear_bounds.h"

namespace tw::lower {

using ir::Interval;

namespace {

using Sum = IntegerSystem::Sum;
using Row = IntegerSystem::Row;
using Rows = IntegerSystem::Rows;
using Answer = IntegerSystem::Answer;

constexpr int kBudget = 500;  // halvings
constexpr int kWays = 4;      // to take an equation apart, tried one by one
constexpr int kRounds = 64;   // of bounds that follow from each other

class Search {
 public:
  explicit Search(const std::vector<std::vector<Rows>>& choices) : choices_(choices) {}

  // `fresh`: rows came since variables were last eliminated.
  // Of rows that are not fresh, `finite` is what they say of the variables with finite ranges.
  using Finite = std::shared_ptr<const Rows>;
  Answer run(Rows rows, std::vector<Interval> ranges, size_t choice, bool fresh, Finite finite = {}) {
    if (--budget_ < 0) return Answer::kUnknown;
    rows_ += static_cast<int64_t>(rows.size());
    if (fresh && !reduce(rows, ranges)) return overflow_ ? Answer::kUnknown : Answer::kNone;
    if (fresh && contradicts_itself(rows)) return Answer::kNone;
    if (!narrow(rows, ranges)) return Answer::kNone;
    if (choice < choices_.size()) {
      return any(choices_[choice], [&](const Rows& alternative) {
        Rows all = rows;
        all.insert(all.end(), alternative.begin(), alternative.end());
        return run(std::move(all), ranges, choice + 1, true);
      });
    }
    const bool endless = std::ranges::any_of(ranges, [](Interval r) { return !r.bounded(); });
    if (endless && fresh) finite = std::make_shared<const Rows>(of_finite(rows, ranges).value_or(rows));
    if (endless && contradict(*finite, ranges)) return Answer::kNone;
    if (const std::optional<Apart> apart = taken_apart(rows, ranges, kWays)) {
      return any(apart->ways, [&](const std::pair<Sum, Sum>& way) {
        Rows all = rows;
        take(all, apart->row, way);
        return run(std::move(all), ranges, choice, true);
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
      return run(rows, std::move(halved), choice, false, finite);
    });
  }

  std::vector<int64_t> values;
  int64_t rows() const { return rows_; }

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

  // False where some row has no solution.
  bool reduce(Rows& rows, const std::vector<Interval>& ranges) {
    for (int round = 0; round < kRounds; ++round) {
      if (!take_apart(rows, ranges) || !eliminate(rows, ranges)) return false;
      if (!taken_apart(rows, ranges, 1)) break;
    }
    for (Row& row : rows)
      if (!row.is_equation) divide(row.sum, divisor_of(row.sum));
    return true;
  }

  // An equation  g * whole + part = 0  of which the part's range has few multiples of g: it is that multiple and whole
  // is what is left. Of subscripts i * 64 + j in rows of 64 it has one.
  using Ways = std::vector<std::pair<Sum, Sum>>;
  struct Apart {
    size_t row;
    Ways ways;  // none: there is no solution
  };
  static std::optional<Apart> taken_apart(const Rows& rows, const std::vector<Interval>& ranges, int64_t most) {
    for (size_t r = 0; r < rows.size(); ++r) {
      if (!rows[r].is_equation) continue;
      for (const auto& [variable, factor] : rows[r].sum.terms) {
        std::optional<Ways> ways = ways_apart(rows[r].sum, factor, ranges, most);
        if (ways) return Apart{r, std::move(*ways)};
      }
    }
    return std::nullopt;
  }

  static std::optional<Ways> ways_apart(const Sum& sum, int64_t g, const std::vector<Interval>& ranges, int64_t most) {
    if (g >= -1 && g <= 1) return std::nullopt;
    Sum whole, part{{}, sum.constant, false};
    Interval range = Interval::point(sum.constant);
    for (const auto& [v, factor] : sum.terms) {
      if (factor % g == 0) {
        whole.terms[v] = factor / g;
      } else {
        part.terms[v] = factor;
        range = range + scaled(ranges[static_cast<size_t>(v)], factor);
      }
    }
    if (part.terms.empty() || !range.bounded()) return std::nullopt;
    const int64_t first = ir::ceil_div(g > 0 ? range.lo : range.hi, g),
                  last = ir::floor_div(g > 0 ? range.hi : range.lo, g);
    Ways out;
    for (int64_t multiple = first; multiple <= last; ++multiple) {
      if (multiple - first >= most) return std::nullopt;
      std::pair<Sum, Sum>& way = out.emplace_back(whole, part);
      way.first.constant = multiple;
      way.second.add({{}, multiple, false}, -g);
      if (way.second.overflow) return std::nullopt;
    }
    return out;
  }

  static void take(Rows& rows, size_t row, const std::pair<Sum, Sum>& way) {
    rows[row].sum = way.first;
    rows.push_back({way.second, true});
  }

  // All equations of which there is one way; false where there is none.
  static bool take_apart(Rows& rows, const std::vector<Interval>& ranges) {
    while (const std::optional<Apart> apart = taken_apart(rows, ranges, 1)) {
      if (apart->ways.empty()) return false;
      take(rows, apart->row, apart->ways[0]);
    }
    return true;
  }

  static int64_t divisor_of(const Sum& sum) {
    int64_t divisor = 0;
    for (const auto& [v, factor] : sum.terms) divisor = std::gcd(divisor, factor);
    return divisor;
  }
  // Of an inequality: what is left of the constant decides nothing.
  static void divide(Sum& sum, int64_t divisor) {
    if (divisor <= 1) return;
    for (auto& [v, factor] : sum.terms) factor /= divisor;
    sum.constant = ir::floor_div(sum.constant, divisor);
  }

  // Replaces variables of factor 1 or -1, each in all rows but the equation that says what it is; false where an
  // equation has no solution.
  bool eliminate(Rows& rows, const std::vector<Interval>& ranges) {
    std::vector<bool> used(rows.size(), false);
    for (size_t r = 0; r < rows.size(); ++r) {
      if (!rows[r].is_equation || used[r]) continue;
      const Sum sum = rows[r].sum;
      const int64_t divisor = divisor_of(sum);
      if (divisor == 0 ? sum.constant != 0 : sum.constant % divisor != 0) return false;
      const auto unit = std::ranges::find_if(sum.terms, [](const auto& t) { return t.second == 1 || t.second == -1; });
      if (unit == sum.terms.end()) continue;
      const auto [variable, factor] = *unit;
      used[r] = true;
      for (size_t other = 0; other < rows.size(); ++other) {
        const auto at = rows[other].sum.terms.find(variable);
        if (other == r || at == rows[other].sum.terms.end()) continue;
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
      add(rows, std::move(row));
    }
    if (range.hi != Interval::kPosInf) {
      Row row{{{}, range.hi, false}, false};
      row.sum.add(value, -1);
      add(rows, std::move(row));
    }
  }

  void add(Rows& rows, Row row) {
    overflow_ = overflow_ || row.sum.overflow;
    const auto same = [&](const Row& known) {
      return !known.is_equation && known.sum.constant == row.sum.constant && known.sum.terms == row.sum.terms;
    };
    if (std::ranges::none_of(rows, same)) rows.push_back(std::move(row));
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

  // What the terms of a row come to: the sum of one end of each, of which some may have none.
  class End {
   public:
    explicit End(int64_t constant) : sum_(constant) {}
    void add(__int128 end) { is_number(end) ? sum_ += end : ++endless_; }
    void subtract(__int128 end) { is_number(end) ? sum_ -= end : --endless_; }
    // An end that has left 64 bits, on either side, says nothing.
    std::optional<int64_t> value() const {
      return endless_ == 0 && is_number(sum_) ? std::optional(static_cast<int64_t>(sum_)) : std::nullopt;
    }

   private:
    static bool is_number(__int128 end) { return end > Interval::kNegInf && end < Interval::kPosInf; }
    __int128 sum_;
    int endless_ = 0;
  };
  static __int128 scaled_end(int64_t end, int64_t factor) {
    if (end != Interval::kNegInf && end != Interval::kPosInf) return static_cast<__int128>(end) * factor;
    return (end > 0) == (factor > 0) ? Interval::kPosInf : Interval::kNegInf;
  }
  static __int128 least(Interval r, int64_t factor) { return scaled_end(factor > 0 ? r.lo : r.hi, factor); }
  static __int128 greatest(Interval r, int64_t factor) { return scaled_end(factor > 0 ? r.hi : r.lo, factor); }

  static bool narrow(const Row& row, std::vector<Interval>& ranges, bool& changed) {
    if (row.sum.terms.empty()) return row.is_equation ? row.sum.constant == 0 : row.sum.constant >= 0;
    End lowest(row.sum.constant), highest(row.sum.constant);
    for (const auto& [variable, factor] : row.sum.terms) {
      const Interval range = ranges[static_cast<size_t>(variable)];
      if (row.is_equation) lowest.add(least(range, factor));
      highest.add(greatest(range, factor));
    }
    for (const auto& [variable, factor] : row.sum.terms) {
      Interval& range = ranges[static_cast<size_t>(variable)];
      const Interval before = range;
      lowest.subtract(row.is_equation ? least(range, factor) : 0);
      highest.subtract(greatest(range, factor));
      // factor * variable is at least -highest of the others and, in an equation, at most -lowest.
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
      if (const auto end = highest.value()) at_least(-*end);
      if (const auto end = row.is_equation ? lowest.value() : std::nullopt) at_most(-*end);
      if (range.lo > range.hi) return false;
      changed = changed || range != before;
      lowest.add(row.is_equation ? least(range, factor) : 0);
      highest.add(greatest(range, factor));
    }
    return true;
  }

  const std::vector<std::vector<Rows>>& choices_;
  int budget_ = kBudget;
  int64_t rows_ = 0;
  bool overflow_ = false;
};

}  // namespace

void IntegerSystem::Sum::add(const Sum& other, int64_t scale) {
  int64_t product = 0;
  overflow = overflow || other.overflow || __builtin_mul_overflow(other.constant, scale, &product) ||
             __builtin_add_overflow(constant, product, &constant) || !terms.add(other.terms, scale);
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
  if (std::ranges::any_of(rows_, [](const Row& row) { return row.sum.overflow; })) return {Answer::kUnknown, {}, 0};
  Search search(choices_);
  const Answer answer = search.run(rows_, ranges_, 0, true);
  return {answer, std::move(search.values), search.rows()};
}

}  // namespace tw::lower
