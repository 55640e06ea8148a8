// What reads need of a stage, where subscripts are sums of axes: a box of its data axes.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "schedule/bounds.h"
#include "schedule/nest_view.h"

namespace tw::schedule {

// Where an axis runs. `from`: its first element, where that is the same in each iteration of the loops that stand
// still.
struct Run {
  int64_t count = 1;
  std::optional<int64_t> from;
};

class Box {
 public:
  explicit Box(size_t rank) : sides_(rank) {}
  size_t rank() const { return sides_.size(); }

  // What one access needs while the reader's root axes run.
  void join(const AccessView& access, const std::vector<Run>& runs) {
    for (size_t d = 0; d < sides_.size() && d < access.coefficients.size(); ++d) {
      const Side side = side_of(access, d, runs);
      sides_[d] = sides_[d] ? both(*sides_[d], side) : side;
    }
  }

  // Where an axis of `whole` elements runs.
  Run run(size_t d, int64_t whole) const {
    if (!sides_[d]) return {std::min<int64_t>(whole, 1), std::nullopt};
    const Side& side = *sides_[d];
    if (side.stands) {
      const Part part = part_inside(side.from, side.to, whole).value_or(Part{0, whole});
      return {part.count, part.from};
    }
    const int64_t count = side.last - side.first + 1;
    return count < whole ? Run{count, std::nullopt} : Run{whole, 0};
  }

 private:
  // first..last, as far apart as accesses are; from..to: where that is, if it stands.
  struct Side {
    int64_t first = 0, last = 0, from = 0, to = 0;
    bool stands = true;
  };

  static Side both(const Side& a, const Side& b) {
    return {std::min(a.first, b.first), std::max(a.last, b.last), std::min(a.from, b.from), std::max(a.to, b.to),
            a.stands && b.stands};
  }

  static Side side_of(const AccessView& access, size_t d, const std::vector<Run>& runs) {
    if (!access.affine) return {0, access.shape[d] - 1, 0, access.shape[d] - 1, true};
    int64_t first = access.offsets[d], last = first, begin = 0;
    bool stands = true;
    for (size_t a = 0; a < runs.size(); ++a) {
      const int64_t by = access.coefficients[d][a], walk = by * (runs[a].count - 1);
      (walk < 0 ? first : last) += walk;
      begin += by * runs[a].from.value_or(0);
      stands = stands && (by == 0 || runs[a].from);
    }
    return {first, last, first + begin, last + begin, stands};
  }

  std::vector<std::optional<Side>> sides_;
};

}  // namespace tw::schedule
