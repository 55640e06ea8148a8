#include "te/inequalities.h"

#include <algorithm>
#include <set>

namespace tw::te {
namespace {

constexpr size_t kMostInequalities = 200;  // what is beyond is dropped, which proves less

enum class Sign { kUnknown, kNotNegative, kNotPositive };

Sign sign_of(const Polynomial& p, const Unknowns& unknowns) {
  bool positive = p.constant() >= 0, negative = p.constant() <= 0;
  for (const auto& [monomial, factor] : p.terms()) {
    for (const int v : monomial)
      if (!unknowns[static_cast<size_t>(v)].not_negative) return Sign::kUnknown;
    (factor > 0 ? negative : positive) = false;
  }
  return p.overflow() ? Sign::kUnknown : positive ? Sign::kNotNegative : negative ? Sign::kNotPositive : Sign::kUnknown;
}

Polynomial polynomial(const Terms& terms, int64_t constant) {
  Polynomial out(constant);
  for (const auto& [monomial, factor] : terms) {
    Polynomial product(factor);
    for (const int v : monomial) product = product * Polynomial::variable(v);
    out = out + product;
  }
  return out;
}

}  // namespace

void Inequalities::add(const Polynomial& given) {
  if (given.overflow()) {
    exact_ = false;
    return;
  }
  const Polynomial p = (zeros_.empty() ? given : without_zeros(given)).divided_by_factors();
  if (p.terms().empty()) {
    contradictory_ |= p.constant() < 0;
    return;
  }
  const auto [known, fresh] = constants_.try_emplace(p.terms(), p.constant());
  known->second = std::min(known->second, p.constant());
  if (const auto opposite = constants_.find((-p).terms()); opposite != constants_.end()) {
    int64_t sum;
    if (!__builtin_add_overflow(opposite->second, known->second, &sum) && sum < 0) contradictory_ = true;
  }
}

Polynomial Inequalities::without_zeros(const Polynomial& p) const {
  const bool is_itself = p.constant() == 0 && p.terms().size() == 1 &&
                         std::find(zeros_.begin(), zeros_.end(), p.terms().begin()->first) != zeros_.end();
  if (is_itself) return p;
  Terms left;
  for (const auto& term : p.terms()) {
    const bool vanishes = std::any_of(zeros_.begin(), zeros_.end(), [&](const Monomial& zero) {
      return std::includes(term.first.begin(), term.first.end(), zero.begin(), zero.end());
    });
    if (!vanishes) left.insert(term);
  }
  return polynomial(left, p.constant());
}

void Inequalities::add_zero(const Polynomial& p) {
  add_equal(p, 0);
  if (p.constant() != 0 || p.terms().size() != 1) return;
  zeros_.push_back(p.terms().begin()->first);
  for (const Polynomial& known : all()) {
    constants_.erase(known.terms());
    add(known);
  }
}

std::vector<Polynomial> Inequalities::all() const {
  std::vector<Polynomial> out;
  for (const auto& [terms, constant] : constants_) out.push_back(polynomial(terms, constant));
  return out;
}

// The variable whose elimination is exact if there is one, and makes the fewest inequalities; -1 when there is none.
int Inequalities::next_to_eliminate(const Unknowns& unknowns, bool sizes) const {
  struct Count {
    int below = 0, above = 0;
    bool units_below = true, units_above = true;
  };
  std::map<int, Count> bounds;
  for (const auto& [terms, constant] : constants_) {
    std::map<int, std::pair<int64_t, bool>> factors;  // and whether the variable stands alone, once
    for (const auto& [monomial, factor] : terms)
      for (const int v : monomial)
        if (!factors.emplace(v, std::pair(factor, monomial.size() == 1)).second) factors[v].second = false;
    for (const auto& [v, known] : factors) {
      if (!sizes && unknowns[static_cast<size_t>(v)].size) continue;
      const auto& [factor, alone] = known;
      Count& count = bounds[v];
      const bool unit = alone && (factor == 1 || factor == -1);
      ++(factor > 0 ? count.below : count.above);
      if (!unit) (factor > 0 ? count.units_below : count.units_above) = false;
    }
  }
  int best = -1;
  std::pair<bool, int> least;
  for (const auto& [v, count] : bounds) {
    const std::pair<bool, int> cost{!count.units_below && !count.units_above,
                                    count.below * count.above - count.below - count.above};
    if (best >= 0 && cost >= least) continue;
    best = v;
    least = cost;
  }
  return best;
}

// factor * v + rest >= 0 with a factor of known sign; of two with opposite signs, their sum without v.
void Inequalities::eliminate(int v, const Unknowns& unknowns) {
  struct Bound {
    Polynomial factor, rest;
  };
  std::vector<Bound> below, above;
  Inequalities left;
  left.contradictory_ = contradictory_;
  left.exact_ = exact_;
  left.zeros_ = zeros_;
  for (const Polynomial& p : all()) {
    const int degree = p.degree(v);
    if (degree == 0) {
      left.add(p);
      continue;
    }
    const Polynomial factor = p.factor_of(v);
    const Sign sign = degree == 1 ? sign_of(factor, unknowns) : Sign::kUnknown;
    if (sign == Sign::kUnknown) {
      left.exact_ = false;
      continue;
    }
    const Polynomial rest = p - factor * Polynomial::variable(v);
    if (sign == Sign::kNotNegative) {
      below.push_back({factor, rest});
    } else {
      above.push_back({-factor, rest});
    }
  }
  const auto is_one = [](const Polynomial& f) { return f.is_constant() && f.constant() == 1; };
  for (const auto* side : {&below, &above})  // a factor that may be 0 bounds nothing then
    if ((side == &below ? above : below).empty())
      for (const Bound& b : *side) left.exact_ = left.exact_ && b.factor.is_constant();
  for (const Bound& b : below)
    for (const Bound& a : above) {
      if (left.constants_.size() > kMostInequalities) {
        left.exact_ = false;
        break;
      }
      left.exact_ = left.exact_ && (is_one(a.factor) || is_one(b.factor));
      left.add(a.factor * b.rest + b.factor * a.rest);
    }
  *this = std::move(left);
}

Inequalities Inequalities::projected(const Unknowns& unknowns) const {
  Inequalities out = *this;
  for (int v; !out.contradictory_ && (v = out.next_to_eliminate(unknowns, false)) >= 0;) out.eliminate(v, unknowns);
  return out;
}

bool Inequalities::impossible(const Unknowns& unknowns) const {
  Inequalities out = projected(unknowns);
  std::set<int> sizes;
  for (const auto& [terms, constant] : out.constants_)
    for (const auto& [monomial, factor] : terms) sizes.insert(monomial.begin(), monomial.end());
  for (const int v : sizes)
    if (unknowns[static_cast<size_t>(v)].not_negative) out.add(Polynomial::variable(v));
  for (int v; !out.contradictory_ && (v = out.next_to_eliminate(unknowns, true)) >= 0;) out.eliminate(v, unknowns);
  return out.contradictory_;
}

}  // namespace tw::te
