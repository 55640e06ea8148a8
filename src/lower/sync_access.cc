// Whether two accesses meet, by one form of their subscripts after the other: as they stand, as offsets, as digits.
#include "src/lower/sync_access.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "src/ir/equal.h"
#include "src/ir/interval.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/lower/index_math.h"
#include "src/lower/sync_meeting.h"
#include "src/lower/sync_offset.h"
#include "src/lower/sync_tried.h"

namespace tw::lower {

using namespace ir;

namespace {

// Whether two different subscripts are known to be one element: rows that are closer than they are long.
bool overlaps(const Buffer& buffer) {
  std::vector<std::pair<int64_t, int64_t>> dimensions;  // stride, extent
  for (size_t d = 0; d < buffer.strides().size(); ++d) {
    const auto stride = as_int(buffer.strides()[d]), extent = as_int(buffer.shape()[d]);
    if (!stride || !extent) return false;
    if (*extent > 1) dimensions.emplace_back(*stride, *extent);
  }
  std::ranges::sort(dimensions);
  int64_t last = 0;  // element of the dimensions so far
  for (const auto& [stride, extent] : dimensions) {
    if (stride <= last) return true;
    last += (extent - 1) * stride;
  }
  return false;
}

Access by_offset(const Access& access) {
  Access out = access;
  out.at = {element_offset(access)};
  out.buffer = Buffer(access.buffer.name(), access.buffer.element(), {Expr(1)}, access.buffer.scope());
  return out;
}

// Replaces the subscripts of both by their digits; false where these have no equal strides.
bool split(Access& first, Access& second, const LaunchIndices& launch, Apart apart,
           const std::unordered_set<uint64_t>& changing) {
  std::vector<std::vector<Digit>> digits;
  for (Access* access : {&first, &second}) {
    Meeting both(*access, *access, launch, changing);
    both.prepare(apart);
    const auto within = [&](const Expr& value, const Expr& stride) {
      return Meeting(*access, *access, launch, changing).within(value, stride);
    };
    std::vector<Digit> of_all;
    for (const Expr& at : access->at) {
      const auto of_one = digits_of(at, both.bounds(), [&](const Expr& e) { return both.is_own(e); }, within);
      if (!of_one) return false;
      of_all.insert(of_all.end(), of_one->begin(), of_one->end());
    }
    access->at.clear();
    for (const Digit& d : of_all) access->at.push_back(d.value);
    digits.push_back(std::move(of_all));
  }
  return std::ranges::equal(digits[0], digits[1], [](const Digit& x, const Digit& y) {
    return static_cast<bool>(x.stride) == static_cast<bool>(y.stride) && (!x.stride || equal(x.stride, y.stride));
  });
}

// Whether 0 <= value < extent by all that is known of the access, or by one of its conditions alone: fewer are a
// smaller system.
bool is_inside(const Access& access, const Expr& value, const Expr& extent, const LaunchIndices& launch,
               const std::unordered_set<uint64_t>& changing) {
  if (Meeting(access, access, launch, changing).within(value, extent)) return true;
  for (const Expr& condition : access.conditions)
    for (const Expr& one : conjuncts(condition)) {
      Access alone = access;
      alone.conditions = {one};
      if (Meeting(alone, alone, launch, changing).within(value, extent)) return true;
    }
  return false;
}

// Replaces the subscript that counts elements by one for each dimension of the buffer as it is declared; false where
// one of these is not seen to be inside of its row.
bool unflatten(Access& access, const LaunchIndices& launch, Apart apart, const std::unordered_set<uint64_t>& changing) {
  const Buffer& buffer = access.buffer;
  if (access.at.size() != 1 || buffer.rank() < 2 || !buffer.strides().empty()) return false;
  Meeting both(access, access, launch, changing);
  both.prepare(apart);
  Expr rest = access.at[0];
  std::vector<Expr> at;
  for (size_t d = buffer.rank() - 1; d > 0; --d) {
    const int64_t extent = as_int(buffer.shape()[d]).value_or(0);
    const std::optional<Parts> parts = extent > 0 ? parted(rest, extent, both.bounds()) : std::nullopt;
    if (!parts) return false;
    const int64_t rows = floor_div(decompose(simplify(parts->part, both.bounds())).constant, extent);
    const Expr inside = parts->part - Expr(rows * extent);
    if (!is_inside(access, inside, extent, launch, changing)) return false;
    at.insert(at.begin(), inside);
    rest = parts->whole + Expr(rows);
  }
  at.insert(at.begin(), rest);
  access.at = std::move(at);
  return true;
}

// Replaces the subscript that counts elements by its digits, of the factors of which all larger ones are multiples, as
// far as each is seen to be inside of its own; says by which.
std::vector<int64_t> by_factors(Access& access, const LaunchIndices& launch, Apart apart,
                                const std::unordered_set<uint64_t>& changing) {
  Meeting both(access, access, launch, changing);
  both.prepare(apart);
  const Linear form = decompose(simplify(access.at[0], both.bounds()));
  std::vector<int64_t> factors, used;
  for (const Term& t : form.terms) factors.push_back(std::abs(t.factor));
  std::ranges::sort(factors);
  Expr rest = access.at[0];
  std::vector<Expr> at;
  int64_t unit = 1;
  for (auto factor = factors.begin(); factor != factors.end(); ++factor) {
    const int64_t extent = *factor / unit;
    if (extent < 2 || std::any_of(factor, factors.end(), [&](int64_t f) { return f % *factor != 0; })) continue;
    const std::optional<Parts> parts = parted(rest, extent, both.bounds());
    if (!parts) continue;
    const int64_t wholes = floor_div(decompose(simplify(parts->part, both.bounds())).constant, extent);
    const Expr inside = parts->part - Expr(wholes * extent);
    if (!is_inside(access, inside, extent, launch, changing)) continue;
    at.insert(at.begin(), inside);
    rest = parts->whole + Expr(wholes);
    used.push_back(unit = *factor);
  }
  at.insert(at.begin(), rest);
  access.at = std::move(at);
  return used;
}

}  // namespace

Verdict meeting(const Access& a, const Access& b, const LaunchIndices& launch, Apart apart,
                const std::unordered_set<uint64_t>& changing) {
  if (overlaps(a.buffer)) return meeting(by_offset(a), by_offset(b), launch, apart, changing);
  int64_t rows = 0;
  const auto verdict = [&](const Access& x, const Access& y) {
    Verdict out = Meeting(x, y, launch, changing).run(apart);
    out.rows = rows += out.rows;
    return out;
  };
  Verdict found = verdict(a, b);
  if (found.apart() || found.certain || a.buffer.element().is_packed()) return found;
  // Equal subscripts, equal offsets, equal digits: one may be seen to differ where another isn't.
  Access first = a, second = b;
  const auto apart_by = [&](const Access& x, const Access& y) { return verdict(x, y).apart(); };
  const auto said = [&](std::string why) { return Verdict{std::move(why), false, rows}; };
  if (unflatten(first, launch, apart, changing) && unflatten(second, launch, apart, changing) &&
      apart_by(first, second))
    return said({});
  first = a, second = b;
  for (Access* access : {&first, &second})
    access->at = {refolded(element_offset(*access), Meeting(*access, *access, launch, changing).bounds())};
  if (a.buffer.rank() > 1 && apart_by(first, second)) return said({});
  first = a, second = b;
  const bool alike = a.at.size() == b.at.size();
  if (alike && split(first, second, launch, apart, changing) && apart_by(first, second)) return said({});
  for (Access* access : {&first, &second})
    access->at = {refolded(element_offset(access == &first ? a : b), Meeting(a, b, launch, changing).bounds())};
  const bool apart_at_last = (split(first, second, launch, apart, changing) && apart_by(first, second)) ||
                             seen_apart(a, b, launch, apart, Meeting(a, b, launch, changing).bounds(), rows);
  if (apart_at_last) return said({});
  first = by_offset(a), second = by_offset(b);
  const std::vector<int64_t> factors = by_factors(first, launch, apart, changing);
  const bool by_digits = !factors.empty() && factors == by_factors(second, launch, apart, changing);
  return said(by_digits && apart_by(first, second) ? std::string() : found.why);
}

namespace {

// Of an extent that is a product of sizes:  i * m + j  is in 0..n * m  where j is in 0..m and i in 0..n.
bool parts_are_within(const Access& access, const Bounds& bounds, const Expr& value, const Expr& extent) {
  return std::ranges::any_of(factored(simplify(extent, bounds), value, bounds), [&](const Factored& f) {
    const std::optional<Parts> parts = parted(value, f.stride, bounds);
    return parts && is_within(access, parts->part, f.stride) && is_within(access, parts->whole, f.count);
  });
}

}  // namespace

bool is_within(const Access& access, const Expr& value, const Expr& extent) {
  const LaunchIndices nobody;
  const std::unordered_set<uint64_t> nothing;
  const Access elsewhere{access.buffer, {}, false, {}, {}, {}, false};
  if (Meeting(elsewhere, access, nobody, nothing).within(value, extent)) return true;
  const Meeting known(elsewhere, access, nobody, nothing);
  const Expr folded = refolded(value, known.bounds());
  if (!equal(folded, value) && Meeting(elsewhere, access, nobody, nothing).within(folded, extent)) return true;
  return parts_are_within(access, known.bounds(), folded, extent);
}

bool same_for_all(const Expr& condition, const Access& here, const LaunchIndices& launch,
                  const std::unordered_set<uint64_t>& changing) {
  Access first = here, second = here;
  first.conditions.push_back(condition);
  second.conditions.push_back(logical_not(condition));
  return Meeting(first, second, launch, changing).run(Apart::kThreads).apart();
}

}  // namespace tw::lower
