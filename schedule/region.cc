// The region of an attached stage that is read during one iteration of the loop at which it stands.
//
// Loops at and outside of that loop stand still; those inside run. Per reader: the part of each of its axes that runs
// is found through its splits and fuses, subscripts become intervals over it, and the union over all reads is a box.
// Its size is a number, or an expression over the variables of extents; where it is another one in each iteration, the
// box is as large as it becomes, and `needed` leaves out what this iteration does not read. So do conditions under
// which the definition reads the stage. What has no such bound is computed whole.
#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "schedule/filled.h"
#include "schedule/narrow.h"
#include "schedule/pad.h"
#include "schedule/sliding.h"
#include "schedule/spans.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

using Running = std::unordered_map<uint64_t, ir::Expr>;

// The reader's loops: what its axes are, and how far those of their parts that run go.
struct Reading {
  int reader;
  ir::Substitution index;
  Running now, most;  // in this iteration of what stands still; in any
  bool steady = true;
  bool stands = false;          // see stands()
  std::vector<ir::Expr> holds;  // not negative where the reader is computed
};

// Of one dimension: the box lo..hi, and what of it is read in this iteration; empty: all of it.
struct Ends {
  ir::Expr lo, hi;
  ir::Expr from, to;
  bool moving = false;  // as far from lo as another part of the axis runs in each iteration
};

class Inference {
 public:
  Inference(const LoopNest& nest, const Placement& placed, const NestBounds& all, int stage, Region& region)
      : nest_(nest), placed_(placed), all_(all), stage_(stage), region_(region), ends_(region.lo.size()) {
    for (const StageBounds& bounds : all.stages)
      for (size_t axis = 0; axis < bounds.loop.size(); ++axis)
        if (bounds.loop[axis]) loops_[bounds.loop[axis].id()] = bounds.extent[axis].expr();
  }

  void run() {
    if (placed_.launch[stage_] != kNone && placed_.together[stage_] != Team::kBlock) find_indices();
    region_.needed.resize(ends_.size());
    region_.inside.resize(ends_.size());
    at_element_.resize(ends_.size());
    unbounded_.resize(ends_.size());
    filled_ = is_to_be_filled(nest_, placed_, all_, stage_);
    for (int reader : placed_.readers[stage_]) add_reader(reader);
    region_.filled = filled_ = filled_ && end_terms(placed_.readers[stage_][0]);
    for (size_t d = 0; d < ends_.size(); ++d) {
      if (filled_ && settle_whole(d)) continue;
      region_.filled = false;
      if (!unbounded_[d] && !!ends_[d].lo && !settle(d)) unbounded_[d] = widest_[d];
      if (unbounded_[d]) region_.unbounded.push_back(*unbounded_[d]);
      region_.inside[d] = !!at_element_[d] && region_.extent[d] == 1 && equal(at_element_[d], region_.lo[d]);
    }
  }

 private:
  void add_reader(int reader) {
    const Reading reading = filled_ ? whole_reading_of(reader) : reading_of(reader);
    for (const Read& read : placed_.reads[reader])
      if (read.source == stage_) add_read(read, reading);
  }

  Reading reading_of(int reader) {
    Reading reading{reader, {}, loops_between(reader), {}, true, false, {}};
    reading.most = reading.now;
    const StageNest& nest = nest_.stage(reader);
    const StageBounds& bounds = all_.stages[reader];
    Spans spans(nest, bounds, standing(reader), all_.ranges);
    for (int axis = 0; axis < nest.data_rank + nest.reduce_rank; ++axis) {
      ir::Expr from = axis < nest.data_rank ? bounds.lo[axis] : nest.axes[axis].min.expr();
      const Span& span = spans.of(axis);
      ir::Expr value = from + span.base;
      if (!(span.count == 1)) {
        ir::Var offset(nest.axes[axis].name);
        reading.now[offset.id()] = span.count.expr();
        reading.most[offset.id()] = span.most.expr();
        reading.steady = reading.steady && span.steady();
        value = value + offset;
      }
      value = indices_.empty() ? value : ir::substitute(value, indices_);
      reading.index[nest.axes[axis].var.id()] = value;
      if (axis >= nest.data_rank || bounds.needed.empty()) continue;
      if (bounds.needed[axis].from) reading.holds.push_back(value - bounds.needed[axis].from);
      if (bounds.needed[axis].to) reading.holds.push_back(bounds.needed[axis].to - value);
    }
    reading.stands = stands(reader);
    return reading;
  }

  // Of tiles that reach past the end: all that its loops run through.
  Reading whole_reading_of(int reader) {
    Reading reading{reader, {}, loops_between(reader), {}, true, false, {}};
    const StageNest& nest = nest_.stage(reader);
    const std::vector<char> stands = standing(reader);
    for (size_t position = 0; position < stands.size(); ++position)
      if (!stands[position]) add_loop(reader, position, reading.now);
    reading.most = reading.now;
    for (int axis = 0; axis < nest.data_rank + nest.reduce_rank; ++axis)
      reading.index[nest.axes[axis].var.id()] = all_.stages[reader].index[axis];
    return reading;
  }

  // Where the loops of the reader take terms that its sum does not have, and the stage has elements there: these have
  // to be zeros too. False where its elements do not follow each other as the terms do.
  bool end_terms(int reader) {
    const Reading reading = whole_reading_of(reader);
    const StageBounds& bounds = all_.stages[reader];
    for (const Relation& relation : nest_.stage(reader).relations) {
      const auto* split = std::get_if<SplitRelation>(&relation);
      if (!split || !nest_.stage(reader).axes[split->parent].reduction || !is_uneven(bounds, *split)) continue;
      const AxisId ends = whose_end(nest_.stage(reader), split->parent);
      for (const Read& read : placed_.reads[reader])
        if (read.source == stage_ && !end_terms(*ir::as<ir::Load>(read.load), reading, bounds, ends)) return false;
    }
    return true;
  }

  bool end_terms(const ir::Load& load, const Reading& reading, const StageBounds& bounds, AxisId ends) {
    for (size_t d = 0; d < load.at.size(); ++d) {
      const ir::Expr from = simple(ir::substitute(load.at[d], reading.index) - bounds.value[ends]);
      const auto used = ir::used_vars(from);
      if (std::ranges::any_of(used, [&](uint64_t id) { return reading.now.contains(id); })) continue;
      const ir::Expr end = simple(from + bounds.extent[ends].expr());
      if (!proved(end >= nest_.stage(stage_).axes[d].extent.expr()))
        region_.terms.push_back({static_cast<AxisId>(d), end});
      return true;
    }
    return false;
  }

  // Past the end of the outer part of a split, or of loops that are fused, is past that of the whole, or of the outer
  // one.
  static AxisId whose_end(const StageNest& stage, AxisId axis) {
    for (auto relation = stage.relations.rbegin(); relation != stage.relations.rend(); ++relation) {
      const auto* split = std::get_if<SplitRelation>(&*relation);
      const auto* fuse = std::get_if<FuseRelation>(&*relation);
      if (split && split->outer == axis) axis = split->parent;
      if (fuse && fuse->fused == axis) axis = fuse->outer;
    }
    return axis;
  }

  // Loops of one extent that are bound to one index of the launch have one value in a thread: that of the outermost
  // stage stands for all of them, so that what its readers need is seen to be the same.
  void find_indices() {
    struct Index {
      Annotation kind;
      ir::Var loop;
      ir::Expr extent;
    };
    std::vector<Index> found;
    for (int stage = nest_.size(); stage-- > 0;) {
      const StageBounds& bounds = all_.stages[stage];
      if (placed_.launch[stage] != placed_.launch[stage_] || bounds.loop.empty()) continue;
      for (AxisId leaf : nest_.stage(stage).leaves) {
        const Annotation kind = nest_.stage(stage).axes[leaf].annotation;
        if (!is_thread(kind) || !bounds.loop[leaf]) continue;
        const auto first = std::ranges::find(found, kind, &Index::kind);
        if (first == found.end())
          found.push_back({kind, bounds.loop[leaf], bounds.extent[leaf].expr()});
        else if (equal(first->extent, bounds.extent[leaf].expr()))
          indices_[bounds.loop[leaf].id()] = first->loop;
      }
    }
  }

  // Which leaves of a reader, or of a stage around it, stand still.
  std::vector<char> standing(int host) const {
    const int level = host == placed_.parent[stage_] ? placed_.level[stage_] : kNone;
    std::vector<char> stands;
    for (int position = 0; position < static_cast<int>(nest_.stage(host).leaves.size()); ++position)
      stands.push_back(stands_still(nest_.stage(host), position, level, placed_.together[stage_]));
    return stands;
  }

  // Loops that run between the stage's place and a reader that is itself attached further inside; and all those of
  // threads, for what these compute together: what is a reader's own may lie where other loops of its thread stand.
  Running loops_between(int reader) {
    Running running;
    const int parent = placed_.parent[stage_];
    for (int stage = reader; stage != parent; stage = placed_.parent[stage]) {
      const int around = placed_.parent[stage];
      const std::vector<char> stands = standing(around);
      for (int position = 0; position <= placed_.level[stage]; ++position)
        if (!stands[position]) add_loop(around, position, running);
    }
    for (int stage = 0; placed_.together[stage_] != Team::kNone && stage < nest_.size(); ++stage)
      for (size_t position = 0; position < nest_.stage(stage).leaves.size(); ++position)
        if (placed_.launch[stage] == placed_.launch[stage_] &&
            runs_through(placed_.together[stage_], annotation_of(stage, position)))
          add_loop(stage, position, running);
    return running;
  }

  Annotation annotation_of(int stage, size_t position) const {
    return nest_.stage(stage).axes[nest_.stage(stage).leaves[position]].annotation;
  }

  void add_loop(int stage, size_t position, Running& running) const {
    const StageBounds& bounds = all_.stages[stage];
    const AxisId leaf = nest_.stage(stage).leaves[position];
    if (!bounds.loop.empty() && bounds.loop[leaf]) running[bounds.loop[leaf].id()] = bounds.extent[leaf].expr();
  }

  void add_read(const Read& read, const Reading& reading) {
    std::vector<ir::Expr> holds = reading.holds;
    for (const ir::Expr& form : read.holds) holds.push_back(ir::substitute(form, reading.index));
    const ir::Load& load = *ir::as<ir::Load>(read.load);
    const bool always = read.holds.empty() && reading.stands;
    for (size_t d = 0; d < ends_.size(); ++d) {
      if (unbounded_[d]) continue;
      const Unbounded here{static_cast<AxisId>(d), reading.reader, load.at[d]};
      const ir::Expr at = simple(ir::substitute(load.at[d], reading.index));
      const std::optional<Ends> ends = ends_of(at, reading, holds);
      if (!ends) {
        unbounded_[d] = here;
        continue;
      }
      ends_[d] = ends_[d].lo ? both(ends_[d], *ends) : *ends;
      widest_[d] = here;
      if (always && equal(ends->lo, at)) at_element_[d] = at;
    }
  }

  // Whether the reader computes elements of its own, and only these, in each iteration of the loop that stands still:
  // no loop inside is empty, and no condition looks at one of an axis that stands in part.
  bool stands(int reader) const {
    if (reader != placed_.parent[stage_] || has_slides(nest_) || placed_.together[stage_] != Team::kNone) return false;
    const std::vector<char> still = standing(reader);
    const StageNest& nest = nest_.stage(reader);
    const StageBounds& bounds = all_.stages[reader];
    bool in_part = true;
    for (const Relation& relation : nest.relations)
      if (const auto* split = std::get_if<SplitRelation>(&relation)) in_part = in_part && !is_uneven(bounds, *split);
    for (AxisId axis = 0; axis < nest.data_rank + nest.reduce_rank; ++axis) {
      if (axis < nest.data_rank && is_padded(nest, axis)) return false;
      bool outside = false, inside = false;
      for (AxisId leaf : leaves_from(nest, axis)) {
        if (!bounds.loop[leaf]) continue;
        const bool stands = still[nest.position(leaf)] != 0;
        if (stands && nest.position(leaf) > placed_.level[stage_])
          return false;  // conditions on it stand further inside
        if (!stands && bounds.extent[leaf].value_or(0) == 0) return false;
        (stands ? outside : inside) = true;
      }
      if (inside && outside && !in_part) return false;
      if (inside && axis < nest.data_rank && leaves_out(reader, axis)) return false;
    }
    return true;
  }

  // Whether conditions leave out elements of an axis that the region holds.
  bool leaves_out(int reader, AxisId axis) const {
    const StageBounds& bounds = all_.stages[reader];
    if (!edges(nest_.stage(reader), bounds, axis).empty()) return true;
    return !bounds.needed.empty() && (!!bounds.needed[axis].from || !!bounds.needed[axis].to);
  }

  bool equal(const ir::Expr& a, const ir::Expr& b) const { return ir::is_int(simple(a - b), 0); }

  std::optional<std::pair<ir::Expr, ir::Expr>> interval(const ir::Expr& at, const Running& running) const {
    const ir::SymbolicInterval ends = ir::symbolic_interval(at, running, all_.ranges);
    if (!ends.known || ir::has_load(ends.lo) || ir::has_load(ends.hi)) return std::nullopt;
    return std::pair(simple(ends.lo), simple(ends.hi));
  }

  std::optional<Ends> ends_of(const ir::Expr& at, const Reading& reading, const std::vector<ir::Expr>& holds) const {
    const auto box = interval(at, reading.most);
    Narrowed limits = narrowed(at, holds, reading.now, all_.ranges);
    std::vector<ir::Expr> low = limits.from, high = limits.to;
    if (box) {
      low.insert(low.begin(), box->first);
      high.insert(high.begin(), box->second);
    }
    if (low.empty() || high.empty()) return std::nullopt;
    const auto now = reading.steady ? std::nullopt : interval(at, reading.now);
    if (now) {
      limits.from.push_back(now->first);
      limits.to.push_back(now->second);
    }
    Ends ends = smallest(low, high);
    ends.moving = !reading.steady;
    for (const ir::Expr& from : limits.from) ends.from = ends.from ? larger(ends.from, from) : from;
    for (const ir::Expr& to : limits.to) ends.to = ends.to ? smaller(ends.to, to) : to;
    return ends;
  }

  int64_t largest(const ir::Expr& size) const { return ir::interval_of(size, all_.numbers).hi; }

  // The first of them unless others make a smaller box in numbers.
  Ends smallest(const std::vector<ir::Expr>& low, const std::vector<ir::Expr>& high) const {
    Ends best{low[0], high[0], {}, {}, false};
    if (low.size() == 1 && high.size() == 1) return best;
    int64_t size = largest(best.hi - best.lo);
    for (const ir::Expr& lo : low)
      for (const ir::Expr& hi : high)
        if (const int64_t other = largest(hi - lo); other < size) {
          size = other;
          best = {lo, hi, {}, {}, false};
        }
    return best;
  }

  Ends both(const Ends& a, const Ends& b) const {
    Ends ends{smaller(a.lo, b.lo), larger(a.hi, b.hi), {}, {}, a.moving || b.moving};
    if (!!a.from || !!b.from) ends.from = smaller(a.from ? a.from : a.lo, b.from ? b.from : b.lo);
    if (!!a.to || !!b.to) ends.to = larger(a.to ? a.to : a.hi, b.to ? b.to : b.hi);
    return ends;
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
  bool proved(const ir::Expr& condition) const { return ir::can_prove(condition, all_.ranges); }

  // Of an extent that is no number: beyond it no loop is vectorized or unrolled, and a number may be what a dtype
  // holds.
  static constexpr int64_t kMostByNumber = 1024;
  // A number of elements that only a dtype's range can be: it bounds nothing.
  static constexpr int64_t kOfDtype = std::numeric_limits<int32_t>::max();

  // lo and extent come in as the whole dimension, and stay so unless the box is smaller. False where it has no bound.
  bool settle(size_t d) {
    Ends ends = ends_[d];
    const Extent whole = region_.extent[d];
    if (!settle_box(ends, whole.value_or(ir::Interval::kPosInf), region_.lo[d], region_.extent[d])) return false;
    // Where the size has no number, the memory is of the known one, from the first element that is read on.
    const bool part =
        whole.known() && region_.extent[d] == whole && largest(simple(ends.hi - ends.lo)) == ir::Interval::kPosInf;
    if (part && !ends.from) ends.from = ends.lo;
    if (part && !ends.to) ends.to = ends.hi;
    if (!!ends.from && (part ? proved(ends.from >= ir::Expr(0)) : ends.moving)) {
      region_.lo[d] = ends.from;                    // no later than the box begins, which needs no guard then
      const bool all = region_.extent[d] == whole;  // as far as the end then, which is no longer where it begins before
      if (all && !proved(ends.from >= ir::Expr(0))) region_.lo[d] = simple(ir::max(ends.from, ir::Expr(0)));
    }
    const ir::Expr last = region_.lo[d] + region_.extent[d].expr() - ir::Expr(1);
    if (!!ends.from && !proved(ends.from <= ir::Expr(0)) && !proved(ends.from <= region_.lo[d]))
      region_.needed[d].from = ends.from;
    if (!!ends.to && !proved(ends.to >= whole.expr() - ir::Expr(1)) && !proved(ends.to >= last))
      region_.needed[d].to = ends.to;
    return true;
  }

  // The box as it is read, past the end too.
  bool settle_whole(size_t d) {
    const Ends& ends = ends_[d];
    const auto size = unbounded_[d] || !ends.lo ? std::nullopt : ir::as_int(simple(ends.hi - ends.lo + ir::Expr(1)));
    if (!size) return false;
    region_.lo[d] = ends.lo;
    region_.extent[d] = *size;
    return true;
  }

  bool settle_box(const Ends& ends, int64_t whole, ir::Expr& lo, Extent& extent) const {
    const ir::Expr size = simple(ends.hi - ends.lo + ir::Expr(1));
    const int64_t most = largest(size);
    const bool symbolic = whole == ir::Interval::kPosInf;
    const bool number = most != ir::Interval::kPosInf && !(symbolic && most >= kOfDtype);
    const auto first = ir::as_int(ends.lo), last = ir::as_int(ends.hi);
    if (number && first && last) {
      if (const auto part = part_inside(*first, *last, whole)) {
        lo = part->from;
        extent = part->count;
      }
      return true;
    }
    if (!number || (symbolic && most > kMostByNumber)) {
      const bool settled = settle_symbolic(ends.lo, size, lo, extent);
      if (settled || !number) return settled;
    }
    if (most < 1 || most >= whole) return true;
    lo = ends.lo;
    extent = most;
    return true;
  }

  // A size over the variables of extents alone: the largest that it becomes in any iteration. A dimension of which
  // there is a number stays one, since vectors and unrolled loops ask for it.
  bool settle_symbolic(const ir::Expr& from, const ir::Expr& in_this, ir::Expr& lo, Extent& extent) const {
    const auto sizes = interval(in_this, loops_);
    if (!sizes) return extent.known();
    if (extent.known()) return true;
    const ir::Expr size = proved(sizes->second >= ir::Expr(0)) ? sizes->second : simple(ir::max(sizes->second, 0));
    if (ir::as_int(size).value_or(0) >= kOfDtype) return false;
    if (ir::is_int(from, 0) && !proved(size <= extent.expr())) return true;
    lo = from;
    extent = Extent(size);
    return true;
  }

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  const int stage_;
  Region& region_;
  std::vector<Ends> ends_;
  std::vector<std::optional<Unbounded>> unbounded_;
  std::unordered_map<size_t, Unbounded> widest_;  // by dimension: a read that made the box
  std::vector<ir::Expr> at_element_;              // an element that is read unless nothing is
  ir::Substitution indices_;                      // of loops that are bound to threads, where others are bound alike
  Running loops_;                                 // all that are there yet
  bool filled_ = false;                           // whole tiles are read
};

}  // namespace

std::optional<Part> part_inside(int64_t first, int64_t last, int64_t whole) {
  const int64_t from = std::max<int64_t>(first, 0), to = std::min(last, whole - 1);
  return from <= to ? std::optional<Part>({from, to - from + 1}) : std::nullopt;
}

void infer_region(const LoopNest& nest, const Placement& placed, const NestBounds& all, int stage, Region& region) {
  Inference(nest, placed, all, stage, region).run();
}

}  // namespace tw::schedule
