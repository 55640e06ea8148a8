// Which part of each axis of a stage runs during one iteration of one of its loops.
//
//   split(i, 16), at i.o:            i over i.o*16 .. i.o*16 + 15
//   split(fuse(i, j), 3), at i*j.o:  i over i*j.o*3 / m .. (i*j.o*3 + 2) / m; j over its part of the one row, or all of
//                                    0..m where these are two
#pragma once

#include <vector>

#include "schedule/bounds.h"

namespace tw::schedule {

// base .. base + count - 1. Where the count is another one in each iteration, `most` is what it is at most, in terms of
// the variables of extents alone. Of rows that elements cross: element e stands in row e // scale, and they are those
// from `fine` on, `fine_count` of them; else these are empty.
struct Span {
  ir::Expr base = 0;
  Extent count = 1, most = 1;
  ir::Expr fine = {}, fine_count = {}, scale = {};
  bool steady() const { return count == most; }
};

class Spans {
 public:
  // `stands`: which leaves stand still, by position.
  Spans(const StageNest&, const StageBounds&, const std::vector<char>& stands, const ir::Bounds& ranges);
  const Span& of(AxisId axis) const { return spans_[axis]; }

 private:
  bool full(AxisId) const;
  ir::Expr simple(const ir::Expr&) const;
  bool divides(const Extent& by, const ir::Expr&) const;
  void join(const SplitRelation&);
  void part(const FuseRelation&);
  void cross_rows(const FuseRelation&, const ir::Expr& remainder);

  const StageNest& stage_;
  const StageBounds& bounds_;
  const ir::Bounds& ranges_;
  std::vector<Span> spans_;
};

// The same where all extents are numbers, for estimates: how far an axis ranges; and whether that begins with its first
// element wherever the leaves that stand still do.
struct Range {
  int64_t count = 1;
  bool from_first = false;
};

// Of each root axis, while such leaves stand still.
std::vector<Range> ranges_inside(const StageNest&, const StageBounds&, const std::vector<char>& stands);

}  // namespace tw::schedule
