// The terms of a linear sum, variable -> factor: what a map has of it, side by side in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace tw::lower {

class LinearTerms {
  template <class Terms>
  static auto place(Terms& terms, int variable) {
    return std::ranges::lower_bound(terms, variable, {}, &std::pair<int, int64_t>::first);
  }

 public:
  using Term = std::pair<int, int64_t>;

  LinearTerms() = default;
  LinearTerms(std::initializer_list<Term> terms) {
    for (const Term& t : terms) (*this)[t.first] = t.second;
  }

  auto begin() { return terms_.begin(); }
  auto end() { return terms_.end(); }
  auto begin() const { return terms_.begin(); }
  auto end() const { return terms_.end(); }
  bool empty() const { return terms_.empty(); }
  size_t size() const { return terms_.size(); }
  bool operator==(const LinearTerms&) const = default;

  int64_t& operator[](int variable) {
    const auto at = place(terms_, variable);
    return (at != terms_.end() && at->first == variable ? at : terms_.insert(at, {variable, 0}))->second;
  }
  auto find(int variable) const {
    const auto at = place(terms_, variable);
    return at != terms_.end() && at->first == variable ? at : terms_.end();
  }
  int64_t factor(int variable) const {
    const auto at = find(variable);
    return at == end() ? 0 : at->second;
  }
  void erase(int variable) {
    if (const auto at = find(variable); at != end()) terms_.erase(at);
  }

  // Adds the others by `times`; false where a factor left 64 bits.
  bool add(const LinearTerms& others, int64_t times) {
    std::vector<Term> out;
    out.reserve(terms_.size() + others.terms_.size());
    bool fits = true;
    auto own = terms_.cbegin();
    for (const Term& other : others.terms_) {
      for (; own != terms_.cend() && own->first < other.first; ++own) out.push_back(*own);
      int64_t sum = own != terms_.cend() && own->first == other.first ? (own++)->second : 0, product = 0;
      fits =
          fits && !__builtin_mul_overflow(other.second, times, &product) && !__builtin_add_overflow(sum, product, &sum);
      if (sum != 0) out.emplace_back(other.first, sum);
    }
    out.insert(out.end(), own, terms_.cend());
    terms_ = std::move(out);
    return fits;
  }

 private:
  std::vector<Term> terms_;  // by variable
};

}  // namespace tw::lower
