#include "schedule/prefetch.h"

#include <algorithm>

#include "schedule/layout.h"
#include "schedule/refuse.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "tensorwright/machine.h"

namespace tw::schedule {

namespace {

// Whether `reader` is the stage, or computed inside its loops at or below `level`.
bool stands_at(const Placement& placed, int reader, int stage, int level) {
  if (reader == stage) return true;
  for (; placed.parent[reader] != kNone; reader = placed.parent[reader])
    if (placed.parent[reader] == stage) return placed.level[reader] >= level;
  return false;
}

// Of the loops of the stage `of` that stand around the loop at `level` of `stage`, or are it, the innermost one; kNone
// where there is none.
int innermost_around(const Placement& placed, int stage, int level, int of) {
  if (stage == of) return level;
  for (; placed.parent[stage] != kNone; stage = placed.parent[stage])
    if (placed.parent[stage] == of) return placed.level[stage];
  return kNone;
}

std::vector<int> readers_at(const Placement& placed, int source, int stage, int level) {
  std::vector<int> readers;
  for (int reader : placed.readers[source])
    if (stands_at(placed, reader, stage, level)) readers.push_back(reader);
  return readers;
}

// Of each dimension how many elements lie in one line of the cache, the dimensions inside it being whole.
std::vector<int64_t> elements_a_line(const ir::Buffer& buffer) {
  std::vector<int64_t> of(buffer.rank(), 1);
  int64_t left = std::max<int64_t>(kCacheLineBytes / buffer.element().bytes(), 1);
  for (size_t d = buffer.rank(); d-- > 0;) {
    of[d] = left;
    const std::optional<int64_t> extent = ir::as_int(buffer.shape()[d]);
    if (!extent || *extent < 1 || left % *extent != 0) break;
    left /= *extent;
  }
  return of;
}

// Where the stage `of` writes what it computes of an element of `stage`, which is computed in its loops, or is it: in
// the stage's axes. Empty where an element is not read at the indices of `of`.
std::vector<ir::Expr> written_at(const LoopNest& nest, const Placement& placed, int stage, int of) {
  const std::vector<Axis>& own = nest.stage(of).axes;
  const auto rank = static_cast<size_t>(nest.stage(of).data_rank);
  std::vector<ir::Expr> at(rank);
  if (stage == of) {
    for (size_t d = 0; d < rank; ++d) at[d] = own[d].var;
    return at;
  }
  for (const Read& read : placed.reads[of]) {
    if (read.source != stage) continue;
    const std::vector<ir::Expr>& indices = ir::as<ir::Load>(read.load)->at;
    for (size_t d = 0; d < rank; ++d)
      for (size_t i = 0; i < indices.size(); ++i)
        if (ir::equal(indices[i], own[d].var)) at[d] = nest.stage(stage).axes[i].var;
    if (std::ranges::all_of(at, [](const ir::Expr& index) { return !!index; })) return at;
  }
  return {};
}

}  // namespace

AxisId from_of(const LoopNest& nest, const PrefetchNote& note) {
  return note.from.empty() ? note.axis : nest.stage(nest.find_stage(note.of)).find_axis(note.from);
}

Status check_prefetches(const LoopNest& nest, const Placement& placed, const std::vector<Step>& steps) {
  for (int i = 0; i < nest.size(); ++i) {
    if (!placed.live(i)) continue;
    const StageNest& stage = nest.stage(i);
    for (const PrefetchNote& note : stage.prefetches) {
      auto wrong = [&](const std::string& rule, const std::string& why) {
        return blame(refuse(Prefetch::kName, rule) << describe(stage) << why, steps, note.step);
      };
      int source = nest.find_stage(note.source), level = stage.position(note.axis);
      const std::string& axis = stage.axes[note.axis].name;
      const int of = nest.find_stage(note.of);
      const StageNest& other = nest.stage(of);
      const AxisId from = from_of(nest, note);
      if (level == kNone)
        return wrong("axis must be a loop of stage " + stage.name + ", not " + axis,
                     "it was split or fused afterwards");
      if (from == kNone || other.position(from) == kNone)
        return wrong("from must be a loop of stage " + other.name + ", not " + note.from,
                     "it was split or fused afterwards");
      if (other.position(from) > innermost_around(placed, i, level, of)) {
        std::string rule = "from must be a loop around " + axis + ", or ";
        rule.append(axis).append(" itself, not ").append(note.from).append(" of ").append(other.name);
        return wrong(rule, "only loops within it share out what its iterations read");
      }
      if (stage.axes[note.axis].annotation == Annotation::kVectorized)
        return wrong("axis must not be vectorized, as " + axis + " is",
                     "its iterations run all at once; prefetch at a loop around it");
      if (other.axes[from].annotation == Annotation::kVectorized)
        return wrong("from must not be vectorized, as " + note.from + " is", "its iterations run all at once");
      bool whole = nest.stage(source).is_placeholder() || (placed.live(source) && placed.parent[source] == kNone);
      if (!whole)
        return wrong("source must lie in memory whole, which " + note.source + " does not",
                     "it is inlined, or computed where it is read and in the cache already");
      if (source == i || source == of) {
        if (nest.stage(source).nontemporal != kNone)
          return wrong("source must not be stored past the caches, as " + note.source + " is",
                       "its lines would be fetched for nothing");
        if (written_at(nest, placed, i, source).empty())
          return wrong(
              note.source + " must read " + stage.name + " at its own indices, for its lines to be fetched there",
              "which of them it writes with these elements is not known; prefetch in loops of " + note.source);
        continue;
      }
      if (readers_at(placed, source, i, level).empty())
        return wrong("source must be read inside the loop " + axis + "; " + note.source + " is not",
                     "what is not read need not be fetched");
    }
  }
  return Unit{};
}

ir::Stmt prefetch(const LoopNest& nest, const Placement& placed, const NestBounds& all, const PrefetchSite& site,
                  const std::vector<ir::Buffer>& from) {
  Placement there = placed;
  there.parent[site.source] = site.stage;
  there.level[site.source] = site.level;
  const bool written = site.source == site.stage || site.source == site.of;
  const auto& layout = nest.stage(site.source).layout;  // lines follow the dimensions of the memory
  const auto in_memory = [&](const std::vector<ir::Expr>& at) {
    return ir::load(from[0], layout ? place(*layout, at) : at);
  };
  if (written) {  // as if the stage read these elements
    there.readers[site.source] = {site.stage};
    there.reads[site.stage] = {{site.source, in_memory(written_at(nest, placed, site.stage, site.source)), {}}};
  } else {
    there.readers[site.source] = readers_at(placed, site.source, site.stage, site.level);
    for (int reader : there.readers[site.source])
      for (Read& read : there.reads[reader])
        if (layout && read.source == site.source) read.load = in_memory(ir::as<ir::Load>(read.load)->at);
  }
  const StageBounds& around = all.stages[site.of];
  ir::Substitution ahead;
  if (const ir::Var& var = around.loop[site.from])
    ahead[var.id()] = ir::min(ir::Expr(var) + ir::Expr(site.offset), around.extent[site.from].expr() - ir::Expr(1));
  std::vector<ir::Stmt> fetches;
  for (const ir::Buffer& buffer : from) {
    std::vector<ir::Expr> at;
    Region region{std::vector<ir::Expr>(buffer.rank(), 0), {}, {}, {}, {}};
    for (const ir::Expr& dimension : buffer.shape()) region.extent.emplace_back(dimension);
    infer_region(nest, there, all, site.source, region);
    std::vector<std::pair<ir::Var, ir::Expr>> loops;
    ir::Bounds ranges = all.ranges;
    const std::vector<int64_t> line = elements_a_line(buffer);
    for (size_t d = 0; d < buffer.rank(); ++d) {
      ir::Var step("p" + std::to_string(d));
      loops.emplace_back(step, ceil_div(region.extent[d], line[d]).expr());
      ir::Expr value = ir::substitute(region.lo[d], ahead) + ir::Expr(step) * ir::Expr(line[d]);
      ranges[step.id()] = {0, ir::interval_of(loops.back().second - ir::Expr(1), all.ranges).hi};
      at.push_back(ir::simplify(ir::max(ir::min(value, buffer.shape()[d] - ir::Expr(1)), ir::Expr(0)), ranges));
    }
    const ir::Fn into = site.second ? ir::Fn::kPrefetchL2 : ir::Fn::kPrefetch;
    ir::Stmt fetch = ir::evaluate(ir::call(into, {ir::address_of(buffer, at, !written, written)}));
    for (size_t d = loops.size(); d-- > 0;)
      if (!ir::is_int(loops[d].second, 1)) fetch = ir::loop(loops[d].first, loops[d].second, fetch);
    fetches.push_back(fetch);
  }
  return ir::seq(std::move(fetches));
}

}  // namespace tw::schedule
