// The terms of a linear sum, variable -> factor: what a map has of it, side by side in memory. Most sums have a few,
// which need no memory of their own: searches copy and add sums by the million.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace tw::lower {

class LinearTerms {
  template <class Terms>
  static auto place(Terms& terms, int variable) {
    return std::lower_bound(terms.begin(), terms.end(), variable, [](const Term& t, int v) { return t.first < v; });
  }

 public:
  struct Term {
    int first;  // the variable
    int64_t second;
    bool operator==(const Term&) const = default;
  };

  LinearTerms() = default;
  LinearTerms(std::initializer_list<Term> terms) {
    for (const Term& t : terms) (*this)[t.first] = t.second;
  }

  Term* begin() { return is_few() ? few_.data() : many_.data(); }
  Term* end() { return begin() + size(); }
  const Term* begin() const { return is_few() ? few_.data() : many_.data(); }
  const Term* end() const { return begin() + size(); }
  bool empty() const { return size() == 0; }
  size_t size() const { return is_few() ? few_count_ : many_.size(); }
  bool operator==(const LinearTerms& other) const { return std::ranges::equal(*this, other); }

  int64_t& operator[](int variable) {
    Term* at = place(*this, variable);
    if (at != end() && at->first == variable) return at->second;
    const auto before = at - begin();
    push_back({variable, 0});
    std::rotate(begin() + before, end() - 1, end());
    return begin()[before].second;
  }
  const Term* find(int variable) const {
    const Term* at = place(*this, variable);
    return at != end() && at->first == variable ? at : end();
  }
  int64_t factor(int variable) const {
    const Term* at = find(variable);
    return at == end() ? 0 : at->second;
  }
  void erase(int variable) {
    const Term* at = find(variable);
    if (at == end()) return;
    Term* gone = begin() + (at - begin());
    std::move(gone + 1, end(), gone);
    if (is_few()) {
      --few_count_;
    } else {
      many_.pop_back();
    }
  }

  // Adds the others by `times`; false where a factor left 64 bits.
  bool add(const LinearTerms& others, int64_t times) {
    LinearTerms out;
    bool fits = true;
    const Term *own = begin(), *const last = end();
    for (const Term& other : others) {
      for (; own != last && own->first < other.first; ++own) out.push_back(*own);
      int64_t sum = own != last && own->first == other.first ? (own++)->second : 0, product = 0;
      fits =
          fits && !__builtin_mul_overflow(other.second, times, &product) && !__builtin_add_overflow(sum, product, &sum);
      if (sum != 0) out.push_back({other.first, sum});
    }
    for (; own != last; ++own) out.push_back(*own);
    *this = std::move(out);
    return fits;
  }

 private:
  static constexpr size_t kFew = 6;
  bool is_few() const { return many_.empty(); }
  void push_back(Term term) {
    if (is_few() && few_count_ < kFew) {
      few_[few_count_++] = term;
      return;
    }
    if (is_few()) many_.assign(few_.begin(), few_.begin() + std::exchange(few_count_, 0));
    many_.push_back(term);
  }

  // By variable, in one of both.
  std::array<Term, kFew> few_{};
  size_t few_count_ = 0;
  std::vector<Term> many_;
};

}  // namespace tw::lower
