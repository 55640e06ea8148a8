#include "schedule/tile_subscripts.h"

#include <algorithm>
#include <cmath>

#include "schedule/lanes.h"
#include "src/ir/simplify.h"

namespace tw::schedule {

namespace {

// Whole numbers x with a . x = b for all equations {a..., b}; 0 where nothing is said of one. Elimination in doubles:
// the numbers are small, and who asks proves the answer.
std::optional<std::vector<int64_t>> solve(std::vector<std::vector<int64_t>> equations, size_t unknowns) {
  std::vector<std::vector<double>> rows;
  for (const std::vector<int64_t>& e : equations) rows.emplace_back(e.begin(), e.end());
  std::vector<int64_t> x(unknowns, 0);
  std::vector<size_t> pivot_of(unknowns, rows.size());
  size_t done = 0;
  for (size_t d = 0; d < unknowns; ++d) {
    size_t row = done;
    while (row < rows.size() && std::abs(rows[row][d]) < 1e-9) ++row;
    if (row == rows.size()) continue;
    std::swap(rows[done], rows[row]);
    for (size_t other = 0; other < rows.size(); ++other) {
      if (other == done) continue;
      const double times = rows[other][d] / rows[done][d];
      for (size_t c = d; c <= unknowns; ++c) rows[other][c] -= times * rows[done][c];
    }
    pivot_of[d] = done++;
  }
  for (size_t d = 0; d < unknowns; ++d) {
    if (pivot_of[d] == rows.size()) continue;
    const double value = rows[pivot_of[d]][unknowns] / rows[pivot_of[d]][d];
    x[d] = std::llround(value);
    if (std::abs(value - static_cast<double>(x[d])) > 1e-6) return std::nullopt;
  }
  return x;
}

}  // namespace

void TileSubscripts::add(const ir::Var& loop, int64_t extent) {
  loops_.push_back(loop);
  extents_.push_back(extent);
}

// Guessed at points, then proved.
std::optional<std::vector<int64_t>> TileSubscripts::factors(const ir::Expr& subscript,
                                                            const std::vector<ir::Expr>& inner) const {
  const bool plain =
      std::ranges::all_of(inner, [](const ir::Expr& e) { return ir::as<ir::VarRef>(e) || ir::as<ir::IntImm>(e); });
  std::vector<std::vector<int64_t>> equations;  // the changes of `inner`, then that of the subscript
  for (size_t v = 0; v < loops_.size(); ++v)
    for (int64_t value = 1; value < (plain ? 2 : std::min<int64_t>(extents_[v], 6)); ++value) {
      ir::Substitution at = still();
      at[loops_[v].id()] = value;
      equations.emplace_back();
      for (const ir::Expr& e : inner) equations.back().push_back(change(e, at).value_or(0));
      const std::optional<int64_t> grown = change(subscript, at);
      if (!grown) return std::nullopt;
      equations.back().push_back(*grown);
    }
  std::optional<std::vector<int64_t>> found = solve(std::move(equations), inner.size());
  if (!found) return std::nullopt;
  ir::Expr rest = subscript;
  for (size_t d = 0; d < inner.size(); ++d) rest = plus(rest, times(inner[d], -(*found)[d]));
  return stands_still(rest) ? found : std::nullopt;
}

ir::Substitution TileSubscripts::still() const {
  ir::Substitution zero;
  for (const ir::Var& var : loops_) zero[var.id()] = 0;
  return zero;
}

std::optional<int64_t> TileSubscripts::change(const ir::Expr& e, const ir::Substitution& at) const {
  return ir::as_int(ir::simplify(ir::substitute(e, at) - ir::substitute(e, still()), ranges_));
}

bool TileSubscripts::stands_still(const ir::Expr& e) const {
  const ir::Expr at_zero = ir::substitute(e, still());
  if (ir::is_int(ir::simplify(e - at_zero, ranges_), 0)) return true;
  constexpr int64_t kMostPoints = 4096;
  int64_t points = 1;
  for (const int64_t extent : extents_) points = std::min(points * extent, kMostPoints + 1);
  for (int64_t point = 0; point < points; ++point) {
    if (points > kMostPoints) return false;
    ir::Substitution at;
    int64_t rest = point;
    for (size_t v = 0; v < loops_.size(); ++v) {
      at[loops_[v].id()] = rest % extents_[v];
      rest /= extents_[v];
    }
    if (!ir::is_int(ir::simplify(ir::substitute(e, at) - at_zero, ranges_), 0)) return false;
  }
  return true;
}

}  // namespace tw::schedule
