// The region of an attached stage that is read during one iteration of the loop at which it stands.
//
// Loops at and outside of that loop stand still; those inside run. Per reader: the part of each of its axes that runs
// is found through its splits and fuses, subscripts become intervals over it, and the union over all reads is a box. A
// box whose size isn't a number becomes the whole dimension.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "schedule/bounds.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

using Running = std::unordered_map<uint64_t, ir::Expr>;

// base .. base + count - 1
struct Span {
  ir::Expr base;
  Extent count = 1;
};

class Spans {
 public:
  // The leaves up to `fixed` (their position) stand still.
  Spans(const StageNest& stage, const StageBounds& bounds, int fixed, const ir::Bounds& ranges)
      : stage_(stage), bounds_(bounds), ranges_(ranges), spans_(stage.axes.size()) {
    for (size_t position = 0; position < stage.leaves.size(); ++position) {
      AxisId leaf = stage.leaves[position];
      bool stands = static_cast<int>(position) <= fixed;
      spans_[leaf] = stands ? Span{bounds.value[leaf], 1} : Span{0, bounds.extent[leaf]};
    }
    for (auto relation = stage.relations.rbegin(); relation != stage.relations.rend(); ++relation) {
      if (const auto* split = std::get_if<SplitRelation>(&*relation)) {
        join(*split);
      } else {
        part(std::get<FuseRelation>(*relation));
      }
    }
  }

  const Span& of(AxisId axis) const { return spans_[axis]; }

 private:
  bool full(AxisId axis) const {
    return ir::is_int(spans_[axis].base, 0) && spans_[axis].count == bounds_.extent[axis];
  }
  ir::Expr simple(const ir::Expr& e) const { return ir::simplify(e, ranges_); }

  // The smaller of two sizes where both are known, else the one that may be less than the whole.
  static Extent at_most(const Extent& part, const Extent& whole) {
    return part.known() && whole.known() ? Extent(std::min(part.value(), whole.value())) : part;
  }

  void join(const SplitRelation& split) {
    const Extent &n = bounds_.extent[split.parent], &factor = bounds_.extent[split.inner];
    const Span &outer = spans_[split.outer], &inner = spans_[split.inner];
    if (full(split.outer) && full(split.inner)) {
      spans_[split.parent] = {0, n};
      return;
    }
    ir::Expr base = outer.base * factor.expr();
    if (is_shifted(stage_, bounds_, split)) base = ir::min(base, n.expr() - factor.expr());
    const Extent parts = (outer.count + Extent(-1)) * factor + inner.count;
    Span joined{simple(base + inner.base), at_most(parts, n)};
    if (auto start = ir::as_int(joined.base); start && n.known())
      joined.count = at_most(joined.count, n.value() - *start);
    spans_[split.parent] = joined;
  }

  void part(const FuseRelation& fuse) {
    const Span& fused = spans_[fuse.fused];
    const Extent &rows = bounds_.extent[fuse.outer], &columns = bounds_.extent[fuse.inner];
    const ir::Expr inner = columns == 0 ? 1 : columns.expr();
    ir::Expr quotient = simple(ir::floordiv(fused.base, inner)), remainder = simple(ir::floormod(fused.base, inner));
    if (full(fuse.fused)) {
      spans_[fuse.outer] = {0, rows};
      spans_[fuse.inner] = {0, columns};
    } else if (fused.count == 1) {
      spans_[fuse.outer] = {quotient, 1};
      spans_[fuse.inner] = {remainder, 1};
    } else if (rows.known() && columns.known() && fused.count.known()) {
      part_of_known(fuse, quotient, remainder);
    } else {
      spans_[fuse.outer] = {0, rows};
      spans_[fuse.inner] = {0, columns};
    }
  }

  void part_of_known(const FuseRelation& fuse, const ir::Expr& quotient, const ir::Expr& remainder) {
    const Span& fused = spans_[fuse.fused];
    const Extent &rows = bounds_.extent[fuse.outer], &columns = bounds_.extent[fuse.inner];
    const int64_t inner = std::max<int64_t>(columns.value(), 1), count = fused.count.value();
    auto aligned = [&](int64_t to) { return to > 0 && ir::is_int(simple(ir::floormod(fused.base, ir::Expr(to))), 0); };
    if (inner % std::max<int64_t>(count, 1) == 0 && aligned(count)) {
      spans_[fuse.outer] = {quotient, 1};
      spans_[fuse.inner] = {remainder, count};
    } else {
      bool whole_rows = count % inner == 0 && aligned(inner);
      int64_t touched = whole_rows ? count / inner : (count + inner - 2) / inner + 1;
      spans_[fuse.outer] = {quotient, at_most(touched, rows)};
      spans_[fuse.inner] = {0, columns};
    }
  }

  const StageNest& stage_;
  const StageBounds& bounds_;
  const ir::Bounds& ranges_;
  std::vector<Span> spans_;
};

struct Ends {
  ir::Expr lo, hi;
};

class Region {
 public:
  Region(const LoopNest& nest, const Placement& placed, const NestBounds& all, int stage, size_t rank)
      : nest_(nest), placed_(placed), all_(all), stage_(stage), ends_(rank), known_(ends_.size(), true) {}

  void infer(std::vector<ir::Expr>& lo, std::vector<Extent>& extent) {
    for (int reader : placed_.readers[stage_]) add_reader(reader);
    for (size_t d = 0; d < ends_.size(); ++d)
      if (known_[d] && static_cast<bool>(ends_[d].lo)) settle(ends_[d], lo[d], extent[d]);
  }

 private:
  void add_reader(int reader) {
    Running running = loops_between(reader);
    ir::Substitution index;
    const StageNest& nest = nest_.stage(reader);
    int fixed = reader == placed_.parent[stage_] ? placed_.level[stage_] : kNone;
    Spans spans(nest, all_.stages[reader], fixed, all_.ranges);
    for (int axis = 0; axis < nest.data_rank + nest.reduce_rank; ++axis) {
      ir::Expr from = axis < nest.data_rank ? all_.stages[reader].lo[axis] : nest.axes[axis].min.expr();
      ir::Expr value = from + spans.of(axis).base;
      if (!(spans.of(axis).count == 1)) {
        ir::Var offset(nest.axes[axis].name);
        running[offset.id()] = spans.of(axis).count.expr();
        value = value + offset;
      }
      index[nest.axes[axis].var.id()] = value;
    }
    for (const Read& read : placed_.reads[reader])
      if (read.source == stage_) add_read(*ir::as<ir::Load>(read.load), index, running);
  }

  // Loops that run between the stage's place and a reader that is itself attached further inside.
  Running loops_between(int reader) {
    Running running;
    int parent = placed_.parent[stage_];
    for (int stage = reader; stage != parent; stage = placed_.parent[stage]) {
      int around = placed_.parent[stage];
      int first = around == parent ? placed_.level[stage_] + 1 : 0;
      for (int position = first; position <= placed_.level[stage]; ++position) {
        AxisId leaf = nest_.stage(around).leaves[position];
        if (const ir::Var& var = all_.stages[around].loop[leaf])
          running[var.id()] = all_.stages[around].extent[leaf].expr();
      }
    }
    return running;
  }

  void add_read(const ir::Load& load, const ir::Substitution& index, const Running& running) {
    for (size_t d = 0; d < ends_.size(); ++d) {
      if (!known_[d]) continue;
      ir::Expr at = ir::simplify(ir::substitute(load.at[d], index), all_.ranges);
      ir::SymbolicInterval interval = ir::symbolic_interval(at, running, all_.ranges);
      if (!interval.known || ir::has_load(interval.lo) || ir::has_load(interval.hi)) {
        known_[d] = false;
      } else if (!ends_[d].lo) {
        ends_[d] = {simple(interval.lo), simple(interval.hi)};
      } else {
        ends_[d] = {smaller(ends_[d].lo, simple(interval.lo)), larger(ends_[d].hi, simple(interval.hi))};
      }
    }
  }

  ir::Expr simple(const ir::Expr& e) const { return ir::simplify(e, all_.ranges); }
  ir::Expr smaller(const ir::Expr& a, const ir::Expr& b) const {
    if (auto difference = ir::as_int(simple(b - a))) return *difference >= 0 ? a : b;
    return simple(ir::min(a, b));
  }
  ir::Expr larger(const ir::Expr& a, const ir::Expr& b) const {
    if (auto difference = ir::as_int(simple(b - a))) return *difference >= 0 ? b : a;
    return simple(ir::max(a, b));
  }

  // lo and extent come in as the whole dimension, and stay so unless the box is smaller.
  void settle(const Ends& ends, ir::Expr& lo, Extent& extent) const {
    const int64_t whole = extent.value_or(ir::Interval::kPosInf);
    auto first = ir::as_int(ends.lo), last = ir::as_int(ends.hi);
    if (first && last) {
      int64_t from = std::max<int64_t>(*first, 0), to = std::min(*last, whole - 1);
      if (from > to) return;
      lo = from;
      extent = to - from + 1;
      return;
    }
    ir::Expr size = simple(ends.hi - ends.lo + ir::Expr(1));
    ir::Interval sizes = ir::interval_of(size, all_.numbers);
    if (sizes.hi == ir::Interval::kPosInf) return settle_symbolic(ends.lo, size, lo, extent);
    if (sizes.hi < 1 || sizes.hi >= whole) return;
    lo = ends.lo;
    extent = sizes.hi;
  }

  // A size over the variables of extents alone; loop variables would make it another one in each iteration.
  void settle_symbolic(const ir::Expr& from, const ir::Expr& size, ir::Expr& lo, Extent& extent) const {
    if (extent.known() || ir::is_int(from, 0)) return;
    for (uint64_t id : ir::used_vars(size))
      if (!scalars_.contains(id)) return;
    const bool positive = ir::can_prove(size >= ir::Expr(0), all_.ranges);
    lo = from;
    extent = Extent(positive ? size : simple(ir::max(size, 0)));
  }

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  int stage_;
  std::vector<Ends> ends_;
  std::vector<char> known_;
  std::unordered_set<uint64_t> scalars_;  // that extents of the stage are made of
};

}  // namespace

void infer_region(const LoopNest& nest, const Placement& placed, const NestBounds& all, int stage,
                  std::vector<ir::Expr>& lo, std::vector<Extent>& extent) {
  Region(nest, placed, all, stage, lo.size()).infer(lo, extent);
}

}  // namespace tw::schedule
