#include "schedule/spans.h"

#include <algorithm>
#include <numeric>

#include "src/ir/simplify.h"

namespace tw::schedule {

namespace {

// The smaller of two sizes where both are known, else the one that may be less than the whole.
Extent at_most(const Extent& part, const Extent& whole) {
  return part.known() && whole.known() ? Extent(std::min(part.value(), whole.value())) : part;
}

}  // namespace

Spans::Spans(const StageNest& stage, const StageBounds& bounds, const std::vector<char>& stands,
             const ir::Bounds& ranges)
    : stage_(stage), bounds_(bounds), ranges_(ranges), spans_(stage.axes.size()) {
  for (size_t position = 0; position < stage.leaves.size(); ++position) {
    AxisId leaf = stage.leaves[position];
    spans_[leaf] =
        stands[position] ? Span{bounds.value[leaf], 1, 1} : Span{0, bounds.extent[leaf], bounds.extent[leaf]};
  }
  for (auto relation = stage.relations.rbegin(); relation != stage.relations.rend(); ++relation) {
    if (const auto* split = std::get_if<SplitRelation>(&*relation)) {
      join(*split);
    } else {
      part(std::get<FuseRelation>(*relation));
    }
  }
}

bool Spans::full(AxisId axis) const {
  const Span& span = spans_[axis];
  return ir::is_int(span.base, 0) && span.steady() && span.count == bounds_.extent[axis];
}

ir::Expr Spans::simple(const ir::Expr& e) const { return ir::simplify(e, ranges_); }

bool Spans::divides(const Extent& by, const ir::Expr& value) const {
  return !(by == 0) && ir::is_int(simple(ir::floormod(value, by.expr())), 0);
}

void Spans::join(const SplitRelation& split) {
  const Extent &n = bounds_.extent[split.parent], &factor = bounds_.extent[split.inner];
  const Span &outer = spans_[split.outer], &inner = spans_[split.inner];
  if (full(split.outer) && full(split.inner)) {
    spans_[split.parent] = {0, n, n};
    return;
  }
  ir::Expr base = outer.base * factor.expr();
  if (is_shifted(stage_, bounds_, split)) base = ir::min(base, n.expr() - factor.expr());
  base = simple(base + inner.base);
  const auto joined = [&](const Extent& outers, const Extent& inners) {
    const Extent parts = at_most((outers + Extent(-1)) * factor + inners, n);
    const auto start = ir::as_int(base);
    return start && n.known() ? at_most(parts, n.value() - *start) : parts;
  };
  spans_[split.parent] = {base, joined(outer.count, inner.count), joined(outer.most, inner.most)};
}

void Spans::part(const FuseRelation& fuse) {
  const Span& fused = spans_[fuse.fused];
  const Extent &rows = bounds_.extent[fuse.outer], &columns = bounds_.extent[fuse.inner];
  const Extent inner = columns == 0 ? 1 : columns;
  const ir::Expr quotient = simple(ir::floordiv(fused.base, inner.expr())),
                 remainder = simple(ir::floormod(fused.base, inner.expr()));
  const auto set = [&](const Span& outer, const Span& within) {
    spans_[fuse.outer] = outer;
    spans_[fuse.inner] = within;
  };
  if (full(fuse.fused)) return set({0, rows, rows}, {0, columns, columns});
  if (fused.count == 1 && fused.steady()) return set({quotient, 1, 1}, {remainder, 1, 1});
  if (fused.steady() && divides(fused.count, inner.expr()) && divides(fused.count, fused.base))
    return set({quotient, 1, 1}, {remainder, fused.count, fused.count});
  if (fused.steady() && divides(inner, fused.count.expr()) && divides(inner, fused.base)) {
    const Extent touched = at_most(Extent(ir::floordiv(fused.count.expr(), inner.expr())), rows);
    return set({quotient, touched, touched}, {0, columns, columns});
  }
  cross_rows(fuse, remainder);
}

// A part of one row, or all columns of the rows from the first to the last.
void Spans::cross_rows(const FuseRelation& fuse, const ir::Expr& remainder) {
  const Span fused = spans_[fuse.fused];
  const Extent &rows = bounds_.extent[fuse.outer], &columns = bounds_.extent[fuse.inner];
  const ir::Expr inner = columns == 0 ? 1 : columns.expr();
  const bool nested = !!fused.fine;  // rows of rows: as parts of the elements, of which more is known
  const ir::Expr base = nested ? fused.fine : fused.base, count = nested ? fused.fine_count : fused.count.expr();
  const ir::Expr scale = nested ? simple(fused.scale * inner) : inner;
  const ir::Expr quotient = simple(ir::floordiv(base, scale));
  const ir::Expr last = simple(ir::floordiv(base + count - ir::Expr(1), scale));
  const ir::Expr in_one = simple(ir::eq(quotient, last));
  const Extent crossed = Extent(simple(last - quotient + ir::Expr(1)));
  const Extent touched = Extent(ir::floordiv(fused.most.expr() + inner - ir::Expr(2), inner) + ir::Expr(1));
  spans_[fuse.outer] = {quotient, crossed, crossed == 1 ? crossed : at_most(touched, rows), base, count, scale};
  const Extent in_row = crossed == 1 ? at_most(fused.most, columns) : columns;
  spans_[fuse.inner] = {simple(ir::select(in_one, remainder, ir::Expr(0))),
                        Extent(simple(ir::select(in_one, fused.count.expr(), columns.expr()))), in_row};
}

namespace {

// So many elements from a multiple of `grid` on, which is 0 where the grid is 0.
struct Stretch {
  int64_t elements = 0, grid = 0;
  bool within_one(int64_t row) const { return elements <= std::gcd(grid, row); }
};

// As Span, of numbers: `unit` divides the base, which is 0 where the unit is 0. Rows of a fused axis count in steps of
// `scale` of it, of which there are those of `fine`, and no others than those of `near`.
struct Count {
  int64_t count = 1, unit = 0;
  int64_t scale = 1;
  Stretch fine = {}, near = {};
  bool inside = true;  // the last of them does not reach past the end
  // Where `most` is known, the base is no more than that, and a multiple of `coarse` but for `slack` at most.
  int64_t most = kUnknown, coarse = 0, slack = 0;
  static constexpr int64_t kUnknown = -1;
};

class Counts {
 public:
  Counts(const StageNest& stage, const StageBounds& bounds, const std::vector<char>& still)
      : stage_(stage), bounds_(bounds), counts_(stage.axes.size()) {
    for (size_t position = 0; position < stage.leaves.size(); ++position) {
      const AxisId leaf = stage.leaves[position];
      const int64_t extent = extent_of(leaf);
      const bool stands = still[position] && extent > 1;
      counts_[leaf] = stands ? Count{1, 1} : Count{still[position] ? 1 : extent, 0};
      counts_[leaf].most = stands ? extent - 1 : 0;
      counts_[leaf].coarse = counts_[leaf].unit;
    }
    for (auto relation = stage.relations.rbegin(); relation != stage.relations.rend(); ++relation) {
      if (const auto* split = std::get_if<SplitRelation>(&*relation)) {
        join(*split);
      } else {
        part(std::get<FuseRelation>(*relation));
      }
    }
  }

  Range of(AxisId axis) const { return {counts_[axis].count, counts_[axis].unit == 0}; }

 private:
  int64_t extent_of(AxisId axis) const { return bounds_.extent[axis].value_or(1); }
  bool full(AxisId axis) const { return counts_[axis].unit == 0 && counts_[axis].count == extent_of(axis); }

  void join(const SplitRelation& split) {
    const Count &outer = counts_[split.outer], &inner = counts_[split.inner];
    const int64_t n = extent_of(split.parent), factor = extent_of(split.inner);
    const bool shifted = is_shifted(stage_, bounds_, split), even = extent_of(split.outer) * factor <= n;
    const int64_t unit = shifted ? 1 : std::gcd(outer.unit * factor, inner.unit);
    Count& joined = counts_[split.parent];
    if (full(split.outer) && full(split.inner)) {
      joined = {n, 0};
      joined.most = 0;
      return;
    }
    joined = {std::min((outer.count - 1) * factor + inner.count, n), unit};
    // Of several parts the last is moved, the first is not: together they are counted as if none were.
    joined.inside = (even || (shifted && outer.count == 1)) && outer.inside && inner.inside;
    if (shifted || outer.most == Count::kUnknown || inner.most == Count::kUnknown) return;
    joined.most = outer.most * factor + inner.most;
    joined.coarse = outer.coarse * factor;
    joined.slack = outer.slack * factor + inner.most;
  }

  void part(const FuseRelation& fuse) {
    const Count fused = counts_[fuse.fused];
    const int64_t count = fused.count, unit = fused.unit;
    const int64_t rows = extent_of(fuse.outer), columns = extent_of(fuse.inner), inner = std::max<int64_t>(columns, 1);
    const int64_t unit_of_rows = unit % inner == 0 ? unit / inner : 1, unit_of_columns = std::gcd(unit % inner, inner);
    const Count in_row{count, unit % inner == 0 ? 0 : unit_of_columns};
    Count &outer = counts_[fuse.outer], &within = counts_[fuse.inner];
    if (full(fuse.fused)) {
      outer = {rows, 0}, within = {columns, 0};
    } else if (rows == 1 && fused.inside) {
      outer = {1, 0}, within = fused;
    } else if (count <= 1 || (inner % count == 0 && unit % count == 0)) {
      outer = {1, unit_of_rows}, within = in_row;
      if (fused.most != Count::kUnknown) {
        outer.most = fused.most / inner, outer.coarse = outer.unit;
        within.most = std::min(fused.most, columns - 1), within.coarse = within.unit;
      }
    } else if (count % inner == 0 && unit % inner == 0) {
      outer = {std::min(count / inner, rows), unit_of_rows}, within = {columns, 0};
    } else {
      outer = rows_crossed(fused, inner, rows);
      within = {stays_in_row(outer) ? std::min(count, columns) : columns, 1};
    }
    outer.inside = fused.inside;
    if (inner == 1) outer.most = fused.most, outer.coarse = fused.coarse, outer.slack = fused.slack;
  }

  // At most, unless multiples of the span make up a row.
  static Count rows_crossed(const Count& fused, int64_t inner, int64_t rows) {
    const bool fresh = fused.scale == 1;
    Count out{std::min((fused.count + inner - 2) / inner + 1, rows), 1, fused.scale * inner, fused.fine, fused.near};
    if (fresh) {
      out.fine = out.near = {fused.count, fused.unit};
      if (fused.most != Count::kUnknown) out.near = {fused.count + fused.slack, fused.coarse};
    }
    if (stays_in_row(out)) out.count = 1;
    return out;
  }

  static bool stays_in_row(const Count& rows) {
    return rows.fine.within_one(rows.scale) || rows.near.within_one(rows.scale);
  }

  const StageNest& stage_;
  const StageBounds& bounds_;
  std::vector<Count> counts_;
};

}  // namespace

std::vector<Range> ranges_inside(const StageNest& stage, const StageBounds& bounds, const std::vector<char>& stands) {
  const Counts counts(stage, bounds, stands);
  std::vector<Range> ranges;
  for (AxisId axis = 0; axis < stage.data_rank + stage.reduce_rank; ++axis) ranges.push_back(counts.of(axis));
  return ranges;
}

}  // namespace tw::schedule
