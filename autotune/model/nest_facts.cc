// Facts of a nest, from schedule::view_stages.
//
// The innermost loop is the innermost one that stays a loop in the code; what stands inside it (vectorized and unrolled
// loops, an intrinsic) is its body. A vectorized loop belongs to the body wherever it stands: serial loops inside it
// run around vector statements.
#include "autotune/model/nest_facts.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "autotune/model/cut_tiles.h"
#include "autotune/model/nest_hash.h"
#include "autotune/model/strides.h"
#include "autotune/model/thread_share.h"
#include "schedule/pad.h"
#include "schedule/placement.h"
#include "schedule/traffic.h"
#include "src/ir/register_lanes.h"
#include "src/ir/tile_products.h"
#include "te/lane_joins.h"

namespace tw::autotune {

using schedule::AccessView;
using schedule::LoopView;
using schedule::StageNest;
using schedule::StageView;
using LoopKind = schedule::Annotation;

namespace {

constexpr double kPage = 4096;
constexpr double kLaneProductBytes = 16;  // of a register whose lanes are factors
constexpr double kJoin = 2;               // instructions that join two vectors: one moves lanes
constexpr double kShuffles = 2;           // of a vector that is stored side by side with others
constexpr double kCutWaits = 2;           // times the sums that hide a latency: what keeps a cut tile's loop busy
constexpr double kMostlyFed = 5;          // cycles until a sum takes its next term: 8 sums do not keep two pipes busy
constexpr int64_t kTileL1 = 48 << 10;     // bytes of the caches of cores that have tiles, at least
constexpr int64_t kTileL2 = 2 << 20;
constexpr size_t kNowhere = static_cast<size_t>(-1);

bool is_repeated(const LoopView& loop) {
  return loop.annotation == LoopKind::kVectorized || loop.annotation == LoopKind::kUnrolled;
}

// The loops of a stage as the code runs them.
struct Shape {
  const LoopView* vector = nullptr;
  size_t tensorized = kNowhere;  // the first loop of an intrinsic's statement
  size_t inner = kNowhere;       // the innermost loop that stays one
  bool in_body(const StageView& view, size_t l) const {
    return &view.loops[l] == vector || l >= tensorized || inner == kNowhere || l > inner;
  }
};

Shape shape_of(const StageView& view, const StageNest& stage) {
  Shape shape;
  if (stage.tensorized.axis != schedule::kNone) {
    const int at = stage.position(stage.tensorized.axis);
    if (at != schedule::kNone) shape.tensorized = static_cast<size_t>(at);
  }
  for (size_t l = 0; l < std::min(view.loops.size(), shape.tensorized); ++l) {
    if (view.loops[l].annotation == LoopKind::kVectorized) shape.vector = &view.loops[l];
    if (!is_repeated(view.loops[l]) && view.loops[l].extent > 1) shape.inner = l;
  }
  return shape;
}

class StageReader {
 public:
  StageReader(const StageView& view, const schedule::LoopNest& nest, const Machine& machine)
      : view_(view), stage_(nest.stage(view.stage)), nest_(nest), machine_(machine), shape_(shape_of(view, stage_)) {}

  StageFacts run() {
    f_.stage = view_.stage;
    f_.enclosing = view_.enclosing;
    f_.waste = view_.waste;
    f_.points = view_.trips() * view_.enclosing * view_.visited;
    f_.operations = f_.points * arithmetic_of_a_point();
    f_.root = view_.enclosing <= 1;
    f_.output = stage_.output;
    f_.copies = view_.operations == 0;
    f_.reduces = stage_.is_reduction();
    f_.conditional = view_.conditions > 0;
    read_body();
    read_order();
    cut_tiles();
    read_parallelism();
    for (const AccessView& access : view_.accesses) read_access(access);
    std::stable_sort(f_.accesses.begin(), f_.accesses.end(), [](const AccessFacts& a, const AccessFacts& b) {
      return a.store != b.store ? b.store : a.instructions > b.instructions;
    });
    read_memory();
    return std::move(f_);
  }

 private:
  double arithmetic_of_a_point() const {
    const auto converted = static_cast<double>(std::ranges::count_if(view_.accesses, &AccessView::converted));
    const double rest = view_.operations - view_.fused - view_.conditions - converted;
    return std::max(converted > 0 ? 0.0 : 1.0, rest);
  }
  double extent(size_t l) const { return static_cast<double>(view_.loops[l].extent); }
  const StageNest* source_of(const AccessView& access) const {
    const int source = nest_.find_stage(access.buffer);
    return source == schedule::kNone ? nullptr : &nest_.stage(source);
  }
  // Whether what is read was there before, in no thread's cache or in all.
  bool is_from_root(const AccessView& access) const {
    const StageNest* source = source_of(access);
    return source && source->attach.kind == schedule::AttachKind::kRoot;
  }
  // Whether it lies as the caller has it, who aligns no line.
  bool is_given(const AccessView& access) const {
    const StageNest* source = source_of(access);
    return source && source->is_placeholder() && !source->layout;
  }

  // Whether the statement multiplies whole tiles: each is moved, and multiplied, row by row.
  bool of_tiles() const {
    return stage_.tensorized.intrin && ir::has_tile_product(stage_.tensorized.intrin->does.update);
  }
  // Of the sums and the left factor the outermost loop of the statement; of the right factor that of groups of terms.
  double tile_rows() const { return extent(shape_.tensorized); }
  double tile_rows(const AccessView& access) const {
    return touches(access, view_.loops[shape_.tensorized]) ? tile_rows() : extent(shape_.tensorized + 2);
  }

  // Vectors per statement of the vectorized loop; 1 in code without vectors. What is left over of whole ones is one
  // under a mask, or as many as it is powers of two.
  double vectors(double lanes) const {
    if (!shape_.vector) return 1;
    const double whole = std::floor(f_.vector_extent / lanes), left = f_.vector_extent - whole * lanes;
    return whole + (machine_.masks ? std::ceil(left / lanes) : std::popcount(static_cast<uint64_t>(left)));
  }

  void read_body() {
    int widest = view_.element_bytes;
    for (const AccessView& access : view_.accesses) widest = std::max(widest, access.element_bytes);
    f_.lanes = std::max(1.0, machine_.vector_bits / (8.0 * widest));
    if (shape_.vector) {
      f_.vector_extent = static_cast<double>(shape_.vector->extent);
      if (shape_.vector->roots.size() == 1)
        f_.at_ends = std::min(
            1.0, 2 * f_.lanes / static_cast<double>(view_.domain[static_cast<size_t>(shape_.vector->roots[0])]));
    }
    f_.utilisation = shape_.vector ? f_.vector_extent / (vectors(f_.lanes) * f_.lanes) : 1 / f_.lanes;
    double statements = 1, sums = 1, in_statement = 1;
    for (size_t l = 0; l < view_.loops.size(); ++l) {
      if (!shape_.in_body(view_, l)) continue;
      f_.body *= extent(l);
      if (l >= shape_.tensorized) {
        in_statement *= extent(l);
      } else if (&view_.loops[l] != shape_.vector) {
        statements *= extent(l);
        if (!view_.loops[l].reduction) sums *= extent(l);
      }
    }
    if (shape_.tensorized != kNowhere) f_.tensorized = in_statement;
    f_.tiles = of_tiles();
    const double each = of_tiles()          ? tile_rows() / machine_.rates.tile_rows * machine_.rates.issue
                        : f_.tensorized > 0 ? 1
                                            : vectors(f_.lanes) * arithmetic_of_a_point();
    f_.accumulators = sums * (f_.tensorized > 0 ? 1 : vectors(f_.lanes));
    f_.latency = of_tiles() ? 0 : f_.tensorized > 0 ? kLatency : kMostlyFed;
    f_.arithmetic = f_.points / f_.body * statements * each;
    if (f_.tensorized > 0) f_.utilisation = 1;
  }

  // Tiles at the end of an axis have fewer sums side by side, each of which waits for its last term.
  void cut_tiles() {
    std::vector<Tile> tiles(view_.domain.size());
    for (size_t l = 0; l < view_.loops.size(); ++l) {
      const LoopView& loop = view_.loops[l];
      if (loop.roots.size() != 1 || loop.extent == 1 || !shape_.in_body(view_, l)) continue;
      Tile& tile = tiles[static_cast<size_t>(loop.roots[0])];
      tile.extent *= l >= shape_.tensorized ? 0 : loop.extent;
      if (&loop == shape_.vector) {
        tile.grain = static_cast<int64_t>(f_.lanes);
        tile.in_parts = !machine_.masks && !schedule::is_padded(stage_, loop.roots[0]);
      }
      if (f_.reduces && f_.sums_in_a_row && !loop.reduction)
        tile.least = std::min(1.0, kCutWaits * kLatency * machine_.rates.issue / f_.accumulators);
    }
    cut_ = cut_axes(view_, tiles);
    for (const CutAxis& axis : cut_) f_.arithmetic *= axis.points;
    if (!sums_across()) return;
    double results = f_.points;
    for (const LoopView& loop : view_.loops)
      if (loop.reduction) results /= static_cast<double>(loop.extent);
    for (const te::LaneJoin& join : te::lane_joins(shape_.vector->extent))
      f_.joins += results * kJoin * std::ceil(static_cast<double>(join.lanes) / f_.lanes);
    f_.arithmetic += f_.joins;
  }

  // Whether the lanes are those of partial results.
  bool sums_across() const { return shape_.vector && shape_.vector->reduction && shape_.vector->extent > 1; }

  void read_order() {
    for (size_t l = 0; l < view_.loops.size(); ++l) {
      if (view_.loops[l].extent > 1 && view_.loops[l].reduction && !shape_.in_body(view_, l)) {
        f_.outer_reduction *= f_.inner_reduction;
        f_.inner_reduction = extent(l);
      }
    }
    f_.entries = f_.points / f_.body;
    if (shape_.inner == kNowhere) return;
    f_.inner_extent = extent(shape_.inner);
    f_.entries /= f_.inner_extent;
    f_.sums_in_a_row = view_.loops[shape_.inner].reduction;
  }

  void read_parallelism() {
    double around = view_.enclosing / static_cast<double>(std::max<int64_t>(1, view_.parallel_around)), before = 1;
    f_.parallel_extent = static_cast<double>(view_.parallel_around);
    for (size_t l = 0; l < view_.loops.size(); ++l) {
      if (!runs_concurrently(view_.loops[l].annotation)) {
        before *= extent(l);
        continue;
      }
      f_.parallel_extent *= extent(l);
      f_.launches = around * before;
    }
    f_.cores = f_.parallel_extent / std::max(1.0, std::ceil(f_.parallel_extent / machine_.threads));
  }

  // Instructions that one iteration of the body takes for the access, and what loops around leave in registers.
  void read_access(const AccessView& access) {
    AccessFacts a;
    a.store = access.store;
    a.along = shape_.vector && touches(access, *shape_.vector);
    a.contiguous = a.along && is_contiguous(access, *shape_.vector);
    double each = 1;
    bool one_by_one = false;  // lanes are loaded, and put together
    for (size_t l = 0; l < view_.loops.size(); ++l) {
      const LoopView& loop = view_.loops[l];
      if (!shape_.in_body(view_, l) || !touches(access, loop)) continue;
      if (&loop == shape_.vector) {
        const double lanes = machine_.vector_bits / (8.0 * access.element_bytes);
        const int64_t loads = is_side_by_side(access, loop) ? 1 : loads_of_a_register(view_, access, loop, lanes);
        a.square = loads > 0 ? 0 : square_of(access, lanes);
        one_by_one = loads == 0 && a.square == 0 && !a.store;
        each *= loads > 0      ? vectors(lanes) * static_cast<double>(loads)
                : a.square > 0 ? f_.vector_extent / a.square
                               : f_.vector_extent;
      } else if (l < shape_.tensorized) {
        each *= extent(l);
        a.aligned = a.aligned && byte_stride(access, loop) % 64 == 0;
      }
    }
    a.crosses = of_tiles() && !a.store && is_given(access);
    a.conflict = conflict_of(access, a.along && !a.contiguous);
    double iterations = f_.points / f_.body;
    for (size_t l = view_.loops.size(); l-- > 0;) {
      if (shape_.in_body(view_, l)) continue;
      if (touches(access, view_.loops[l])) break;
      iterations /= extent(l);
      a.hoisted = a.hoisted || view_.loops[l].extent > 1;
    }
    const Neighbours lanes = access.store || a.along ? Neighbours{} : neighbours(access);
    const Window window = !access.store && a.along && !a.hoisted ? window_of(access) : Window{};
    each *= window.read / lanes.held;
    a.instructions = each * iterations * (of_tiles() ? tile_rows(access) : 1);
    for (size_t axis = 0; axis < cut_.size(); ++axis) {
      const bool data = axis < static_cast<size_t>(stage_.data_rank);
      a.instructions *= moves_along(access, axis) ? cut_[axis].points : data ? cut_[axis].tiles : 1;
    }
    if (a.store && a.contiguous && stage_.output) f_.claimed += claimed_by_stores(access, each);
    a.near = access.scratch_bytes > 0 && access.scratch_bytes <= static_cast<double>(machine_.l1_bytes) / 2;
    if (a.square > 0) f_.arithmetic += a.instructions * std::log2(a.square);
    if (one_by_one) f_.arithmetic += a.instructions;
    if (shape_.vector && is_side_by_side(access, *shape_.vector)) f_.arithmetic += a.instructions * kShuffles;
    if (access.converted && f_.tensorized == 0) f_.arithmetic += conversions(access, a);
    // A sum that leaves the registers between two iterations is read and written.
    (access.store ? f_.stores : f_.loads) += a.instructions;
    if (access.store && f_.reduces && f_.inner_reduction > 1) f_.loads += a.instructions;
    const bool partial = access.store && sums_across();
    if (a.hoisted || (access.store && f_.reduces)) f_.registers += each * (partial ? vectors(f_.lanes) : 1);
    if (!a.hoisted && a.along && !access.store) f_.registers += vectors(f_.lanes);
    f_.waiting += vectors(f_.lanes) * (window.held - 1);
    f_.windows = std::max(f_.windows, window.count);
    if (!a.hoisted && lanes.held > 1) f_.registers += each * lanes.held / lanes.all;
    f_.conflict = std::max(f_.conflict, a.conflict);
    read_reuse(access, a);
    f_.accesses.push_back(a);
  }

  // Whether these stores, of every second to fourth element, are whole vectors with those of a loop of the body between
  // them (codegen/llvm/emit_interleaved.cc).
  bool is_side_by_side(const AccessView& access, const LoopView& vector) const {
    const int64_t stride = access.store ? byte_stride(access, vector) : 0;
    if (stride <= access.element_bytes || stride > ir::kFewApart * access.element_bytes) return false;
    for (size_t l = 0; l < std::min(view_.loops.size(), shape_.tensorized); ++l)
      if (shape_.in_body(view_, l) && byte_stride(access, view_.loops[l]) == access.element_bytes)
        return view_.loops[l].extent * access.element_bytes == stride;
    return false;
  }

  // Of loads down a column, beside which a loop of the body reads the next columns: the rows of the squares in which
  // these are turned (codegen/llvm/emit_turned.cc). 0 where each element is loaded by itself.
  double square_of(const AccessView& access, double lanes) const {
    constexpr double kLeastBytes = 16;
    if (access.store || !access.affine) return 0;
    double rows = 0;
    for (size_t l = 0; l < std::min(view_.loops.size(), shape_.tensorized); ++l)
      if (shape_.in_body(view_, l) && &view_.loops[l] != shape_.vector &&
          byte_stride(access, view_.loops[l]) == access.element_bytes)
        rows = std::max(rows, extent(l));
    const auto column = static_cast<uint64_t>(f_.vector_extent);
    const double most = std::min({rows, lanes, static_cast<double>(column & -column)});
    const auto square = static_cast<double>(std::bit_floor(static_cast<uint64_t>(most)));
    return square > 1 && square * access.element_bytes >= kLeastBytes ? square : 0;
  }

  // As often as it is loaded, in vectors of what is calculated. An element is converted before it is brought into all
  // lanes, but for copies of the program's own, which are kept wide (src/lower/wide_copies.h).
  double conversions(const AccessView& access, const AccessFacts& a) const {
    constexpr double kElement = 2;
    if (a.along)
      return a.instructions * vectors(f_.lanes) / vectors(machine_.vector_bits / (8.0 * access.element_bytes));
    return access.scratch_bytes > 0 && access.kept_wide ? 0 : kElement * a.instructions;
  }

  // Past the caches a line is written as a whole, unless rows between whose vectors it lies take turns.
  double claimed_by_stores(const AccessView& access, double instructions_of_a_body) const {
    if (stage_.nontemporal == schedule::kNone) return f_.points * static_cast<double>(access.element_bytes);
    const double rows = instructions_of_a_body / vectors(machine_.vector_bits / (8.0 * access.element_bytes));
    return rows > 1 ? f_.points / f_.vector_extent * kCacheLineBytes : 0;
  }

  // A window that slides, x[v + kw] with both loops in the body: a vector that a tap has read waits for the next.
  struct Window {
    double held = 1;   // vectors
    double read = 1;   // share of the reads that are loads
    double count = 1;  // that the body reads one after the other, x[v + kw, kh]
  };
  Window window_of(const AccessView& access) const {
    Window most;
    const size_t end = std::min(view_.loops.size(), shape_.tensorized);
    for (size_t a = 0; a < end; ++a)
      for (size_t b = 0; b < end; ++b) {
        if (a == b || !slides(access, a) || !slides(access, b)) continue;
        const int64_t step = byte_stride(access, view_.loops[a]), tap = byte_stride(access, view_.loops[b]);
        if (tap == 0 || step < tap || step % tap != 0 || step >= tap * view_.loops[b].extent) continue;
        const int64_t stride = step / tap;
        const double met = (extent(a) - 1) * static_cast<double>(stride) + extent(b);
        const double reads = extent(a) * extent(b);
        if (extent(a) > most.held) most = {extent(a), met / reads, reads_in_body(access) / reads};
      }
    return most;
  }
  double reads_in_body(const AccessView& access) const {
    double reads = 1;
    for (size_t l = 0; l < std::min(view_.loops.size(), shape_.tensorized); ++l)
      if (slides(access, l)) reads *= extent(l);
    return reads;
  }
  bool slides(const AccessView& access, size_t l) const {
    return shape_.in_body(view_, l) && &view_.loops[l] != shape_.vector && view_.loops[l].extent > 1 &&
           touches(access, view_.loops[l]);
  }

  // Of the body. A vector that is a column goes on in the next iteration.
  double conflict_of(const AccessView& access, bool of_columns) const {
    constexpr int64_t kLeastOfColumn = 8;
    std::vector<Walk> walks;
    for (size_t l = 0; l < std::min(view_.loops.size(), shape_.tensorized); ++l) {
      const bool down = of_columns && &view_.loops[l] == shape_.vector;
      if (down || slides(access, l))
        walks.push_back(
            {byte_stride(access, view_.loops[l]), std::max(view_.loops[l].extent, down ? kLeastOfColumn : 1)});
    }
    return lines_of_a_set(walks);
  }

  // Elements side by side that the body reads one by one, and how many of them one register holds, for products with
  // its lanes. An intrinsic's statement takes a group of them for one.
  struct Neighbours {
    double all = 1, held = 1;
  };
  Neighbours neighbours(const AccessView& access) const {
    Neighbours most;
    const size_t end = std::min(view_.loops.size(), shape_.tensorized);
    if (machine_.lane_products == 0 || (!shape_.vector && end == view_.loops.size())) return most;
    int64_t bytes = access.element_bytes;
    for (size_t l = view_.loops.size(); l-- > end;)
      if (byte_stride(access, view_.loops[l]) == bytes) bytes *= view_.loops[l].extent;
    for (size_t l = 0; l < end; ++l)
      if (shape_.in_body(view_, l) && byte_stride(access, view_.loops[l]) == bytes && extent(l) > most.all)
        most = {extent(l), std::clamp(kLaneProductBytes / static_cast<double>(bytes), 1.0, extent(l))};
    return most;
  }

  // The innermost loop that leaves the access alone brings the same data again.
  void read_reuse(const AccessView& access, AccessFacts& a) const {
    a.bytes = footprint(access, view_.ranges(0)) * view_.enclosing;
    for (size_t l = view_.loops.size(); l-- > 0;) {
      if (shape_.in_body(view_, l) || view_.loops[l].extent == 1 || touches(access, view_.loops[l])) continue;
      a.reuse = extent(l);
      a.distance = bytes_below(l + 1);
      return;
    }
  }

  double bytes_below(size_t depth, double line = kCacheLineBytes) const {
    const std::vector<int64_t> ranges = view_.ranges(depth);
    double bytes = 0;
    for (const AccessView& access : view_.accesses) bytes += footprint(access, ranges, line);
    return bytes;
  }

  void read_memory() {
    size_t reduction = view_.loops.size(), task = 0;
    for (size_t l = 0; l < view_.loops.size(); ++l) {
      const LoopView& loop = view_.loops[l];
      if (loop.reduction && loop.extent > 1 && !shape_.in_body(view_, l)) reduction = std::min(reduction, l);
      if (runs_concurrently(loop.annotation)) task = l + 1;
    }
    f_.inner_bytes = bytes_below(shape_.inner == kNowhere ? 0 : shape_.inner);
    f_.reduction_bytes = bytes_below(reduction);
    f_.task_bytes = bytes_below(task);
    f_.bytes = bytes_below(0);
    f_.pages = bytes_below(reduction, kPage) / kPage;
    const int64_t l3 = machine_.l3_bytes > 0 ? machine_.l3_bytes : 4 * machine_.l2_bytes;
    Machine caches = machine_;
    if (of_tiles())  // of any core that has them
      caches.l1_bytes = std::max(caches.l1_bytes, kTileL1), caches.l2_bytes = std::max(caches.l2_bytes, kTileL2);
    int threads = machine_.threads;
    const StageView share = share_of_a_thread(view_, threads);
    int one = 1;  // parts of a fused loop, one after the other: whether threads keep step nobody knows
    const StageView all = share_of_a_thread(view_, one);
    const schedule::Cache last{static_cast<double>(l3)};
    f_.moved = {traffic(view_, l1_of(caches)), threads * traffic(share, l2_of(caches)), traffic(all, last)};
    f_.asked = threads * lines_before_streams(share, l2_of(caches));
    for (size_t a = 0; a < view_.accesses.size(); ++a)
      if (!view_.accesses[a].store && is_from_root(view_.accesses[a]))
        f_.shared += std::max(0.0, threads * touched(share, share.accesses[a]) - touched(view_, view_.accesses[a]));
    f_.translations = page_translations(view_);
  }

  const StageView& view_;
  const StageNest& stage_;
  const schedule::LoopNest& nest_;
  const Machine& machine_;
  const Shape shape_;
  std::vector<CutAxis> cut_;  // root axes
  StageFacts f_;
};

double bytes_of(const StageNest& stage) {
  double bytes = 0;
  for (const ir::Buffer& buffer : stage.buffers) {
    double all = buffer.element().bytes();
    for (const ir::Expr& extent : buffer.shape())
      all *= static_cast<double>(ir::as_int(extent).value_or(schedule::kAssumedExtent));
    bytes += all;
  }
  return bytes;
}

}  // namespace

NestFacts facts_of(const schedule::Schedule& s, const std::vector<StageView>& views, const Machine& machine) {
  const schedule::LoopNest& nest = s.nest();
  NestFacts facts;
  for (const StageView& view : views) {
    const StageNest& stage = nest.stage(view.stage);
    facts.stages.push_back(StageReader(view, nest, machine).run());
    if (stage.output) continue;
    double bytes = view.element_bytes;
    for (int d = 0; d < stage.data_rank; ++d) bytes *= static_cast<double>(view.root_extents[static_cast<size_t>(d)]);
    facts.scratch_bytes += bytes;
  }
  facts.bytes = facts.scratch_bytes;
  for (int i = 0; i < nest.size(); ++i)
    if (nest.stage(i).output || nest.stage(i).is_placeholder()) facts.bytes += bytes_of(nest.stage(i));
  facts.hash = hash_of(nest, views);
  return facts;
}

}  // namespace tw::autotune
