// A schedule by rules: decent on any CPU and for any extents, never clever. Of a device only the first row holds
// (rule_device.h).
//
//   cheap elementwise producers     inlined
//   elementwise stages              outer loops fused and parallel, the innermost split and vectorised
//   reductions                      a register tile: for jo, io parallel: for k: for ii unrolled: for ji vectorised
//   elementwise after a reduction   the tile of the reduction is computed inside the tile of its reader
//
// Every Step is tried; one that is refused is left out, and if the whole is refused the plain loops remain. A schedule
// never changes the meaning, so the worst that can happen here is a slow kernel.
#include "schedule/rule_schedule.h"

#include <algorithm>
#include <unordered_map>

#include "schedule/body_view.h"
#include "schedule/loop_nest.h"
#include "schedule/nest_view.h"
#include "schedule/rule_device.h"
#include "src/ir/register_lanes.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"

namespace tw::schedule {

namespace {

constexpr int64_t kInlineNodes = 64;  // a body larger than this is not repeated in its readers
constexpr double kExpensive = 10;     // operations that a call counts as from which on it is worth a trip to memory
constexpr double kParallelWork = 100'000;  // operations below which threads cost more than they give
constexpr int64_t kChunkVectors = 64;      // vectors that one thread takes at a time from a flat elementwise stage
constexpr int64_t kRows = 6;               // of a register tile
constexpr int64_t kScalarRows = 8;         // independent sums where nothing can be vectorised

int64_t assumed(const Axis& axis) { return axis.extent.value_or(kAssumedExtent); }

// A tile of a reduction: i and j are positions of data axes; i is -1 when there is only one.
struct RegisterTile {
  int i = -1, j = -1;
  int64_t rows = 1, columns = 1;
  bool vector = false;
};

class RuleScheduler {
 public:
  RuleScheduler(const std::vector<te::Tensor>& outputs, const Target& target) : s_(outputs), target_(target) {}

  Schedule run() {
    inline_producers();
    if (target_.abilities.device) return bind_by_rules(std::move(s_));
    std::vector<std::string> names;
    for (int i = 0; i < s_.nest().size(); ++i)
      if (stage(i).op->compute() && stage(i).attach.kind == AttachKind::kRoot) names.push_back(stage(i).name);
    for (const std::string& name : names) {
      if (fused_.contains(name)) continue;
      if (const std::string reader = epilogue_of(name); !reader.empty())
        schedule_with_epilogue(name, reader);
      else if (at(name).is_reduction())
        schedule_reduction(name);
      else if (!is_epilogue(name))
        schedule_elementwise(name);
    }
    return std::move(s_);
  }

 private:
  const StageNest& stage(int i) const { return s_.nest().stage(i); }
  const StageNest& at(const std::string& name) const { return stage(s_.nest().find_stage(name)); }
  template <class K>
  bool step(K k) {
    return s_.try_apply(Step(std::move(k))).ok();
  }

  // As extents may be assumed, more than 64 bits count.
  static double product(const StageNest& st, int axes) {
    double product = 1;
    for (int d = 0; d < axes; ++d) product *= static_cast<double>(assumed(st.axes[static_cast<size_t>(d)]));
    return product;
  }
  static double elements(const StageNest& st) { return product(st, st.data_rank); }
  double work(const StageNest& st) const {
    return static_cast<double>(cost_.at(st.buffer().id())) * product(st, st.data_rank + st.reduce_rank);
  }

  void inline_producers();
  bool worth_inlining(int i) const;
  std::string epilogue_of(const std::string& name) const;
  bool is_epilogue(const std::string& name) const;
  bool reads_in_place(const StageNest& reader, const StageNest& read) const;
  RegisterTile choose_tile(const StageNest& st) const;
  std::string split(const std::string& name, const std::string& axis, int64_t extent, int64_t factor,
                    std::string* outer);
  static bool whole_bytes(const StageNest& st);
  void parallelise(const std::string& name, std::vector<std::string> outer, double work);
  void schedule_elementwise(const std::string& name);
  void schedule_reduction(const std::string& name);
  void schedule_with_epilogue(const std::string& name, const std::string& reader);
  std::vector<std::string> tile_stage(const std::string& name, const RegisterTile& tile);
  std::vector<std::string> outer_axes(const StageNest& st, const RegisterTile& tile) const;

  Schedule s_;
  const Target& target_;
  std::unordered_map<uint64_t, int64_t> cost_;  // nodes of a stage's body with inlined producers expanded, by buffer
  std::unordered_map<std::string, bool> fused_;
};

bool is_expensive(const ir::Expr& body) {
  bool expensive = false;
  ir::walk(body, [&](const ir::Expr& e) {
    const auto* call = ir::as<ir::Call>(e);
    expensive = expensive || (call && cost_of_call(call->fn) >= kExpensive);
    return !expensive;
  });
  return expensive;
}

// An elementwise producer whose repetition costs less than a trip through memory.
bool RuleScheduler::worth_inlining(int i) const {
  const StageNest& st = stage(i);
  if (st.is_placeholder() || st.output || st.is_reduction()) return false;
  if (cost_.at(st.buffer().id()) > kInlineNodes) return false;
  if (!std::any_of(st.bodies.begin(), st.bodies.end(), is_expensive)) return true;
  const std::vector<int> readers = readers_of(s_.nest(), i);
  return readers.size() == 1 && !stage(readers[0]).is_reduction() && elements(stage(readers[0])) <= elements(st);
}

void RuleScheduler::inline_producers() {
  std::unordered_map<uint64_t, bool> inlined;
  for (int i = 0; i < s_.nest().size(); ++i) {
    const StageNest& st = stage(i);
    if (st.is_placeholder()) continue;
    int64_t nodes = 0;
    for (const ir::Expr& body : st.bodies)
      ir::walk(body, [&](const ir::Expr& e) {
        const auto* load = ir::as<ir::Load>(e);
        nodes += load && inlined.contains(load->buffer.id()) ? cost_.at(load->buffer.id()) : 1;
        return true;
      });
    const uint64_t buffer = st.buffer().id();  // the Step replaces the stage
    cost_[buffer] = nodes;
    if (worth_inlining(i) && step(ComputeInline{st.name})) inlined[buffer] = true;
  }
}

bool RuleScheduler::reads_in_place(const StageNest& reader, const StageNest& read) const {
  if (reader.is_reduction() || reader.data_rank != read.data_rank) return false;
  bool in_place = true;
  for (const ir::Expr& body : reader.bodies)
    ir::walk(body, [&](const ir::Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      if (!load || load->buffer.id() != read.buffer().id()) return true;
      for (size_t d = 0; d < load->at.size(); ++d) {
        const auto* var = ir::as<ir::VarRef>(load->at[d]);
        in_place = in_place && var && var->var == reader.axes[d].var;
      }
      return true;
    });
  return in_place;
}

// The only reader of a reduction, through inlined stages, when each reads an element where it makes its own.
std::string RuleScheduler::epilogue_of(const std::string& name) const {
  int i = s_.nest().find_stage(name);
  if (!stage(i).is_reduction() || stage(i).output || stage(i).data_rank == 0) return "";
  for (;;) {
    const std::vector<int> readers = readers_of(s_.nest(), i);
    if (readers.size() != 1 || !reads_in_place(stage(readers[0]), stage(i))) return "";
    i = readers[0];
    if (stage(i).attach.kind == AttachKind::kRoot) return stage(i).name;
  }
}

bool RuleScheduler::is_epilogue(const std::string& name) const {
  for (int i = 0; i < s_.nest().size(); ++i)
    if (!stage(i).is_placeholder() && epilogue_of(stage(i).name) == name) return true;
  return false;
}

// The last data axis is vectorised when some load runs along it, or when rows of the tile share what has to be
// gathered.
RegisterTile RuleScheduler::choose_tile(const StageNest& st) const {
  RegisterTile tile;
  for (int d = st.data_rank - 1; d >= 0; --d) {
    if (assumed(st.axes[static_cast<size_t>(d)]) <= 1) continue;
    if (tile.j < 0)
      tile.j = d;
    else if (tile.i < 0)
      tile.i = d;
  }
  if (tile.j < 0) return tile;
  const Axis& j = st.axes[static_cast<size_t>(tile.j)];
  bool contiguous = false, strided = false;
  for (const ir::Expr& body : st.bodies)
    ir::walk(body, [&](const ir::Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      if (!load) return true;
      if (contiguous_along(*load, j.var)) contiguous = true;
      for (const ir::Expr& at : load->at)
        strided = strided || (ir::uses_var(at, j.var) && !contiguous_along(*load, j.var));
      return true;
    });
  const int64_t rows = tile.i < 0 ? 1 : assumed(st.axes[static_cast<size_t>(tile.i)]);
  tile.vector = contiguous || !strided || rows >= 4;
  const int64_t lanes = ir::register_lanes(target_, st.op->dtype());
  const int64_t vectors = target_.abilities.vector_registers >= 32 ? 4 : 2;
  tile.columns = tile.vector ? std::min(assumed(j), lanes * vectors) : std::min(assumed(j), kScalarRows);
  tile.rows = tile.vector ? std::min(rows, kRows) : 1;
  return tile;
}

// Splits unless one part would have all; gives the inner axis and names the outer (empty when there is none).
std::string RuleScheduler::split(const std::string& name, const std::string& axis, int64_t extent, int64_t factor,
                                 std::string* outer) {
  outer->clear();
  if (factor >= extent || !step(Split{name, axis, Factor(factor), {}, ir::Tail::kAuto})) return axis;
  *outer = axis + ".o";
  return axis + ".i";
}

// Whether threads that share rows, or even parts of them, share no byte.
bool RuleScheduler::whole_bytes(const StageNest& st) {
  if (!st.op->dtype().is_packed() || st.data_rank == 1) return true;
  const Extent& last = st.axes[static_cast<size_t>(st.data_rank - 1)].extent;
  return last.known() && last.value() % 2 == 0;
}

void RuleScheduler::parallelise(const std::string& name, std::vector<std::string> outer, double work) {
  if (outer.empty() || work < kParallelWork || !whole_bytes(at(name))) return;
  std::string axis = outer[0];
  if (outer.size() > 1) {
    if (step(Fuse{name, outer})) {
      axis.clear();
      for (const std::string& part : outer) axis += (axis.empty() ? "" : "*") + part;
    }
  }
  step(Parallel{name, axis});
}

void RuleScheduler::schedule_elementwise(const std::string& name) {
  const StageNest st = at(name);
  if (elements(st) <= 1) return;
  const int64_t lanes = ir::register_lanes(target_, st.op->dtype());
  const Axis& last = st.axes[static_cast<size_t>(st.data_rank - 1)];
  std::vector<std::string> outer;
  for (int d = 0; d + 1 < st.data_rank; ++d) outer.push_back(st.axes[static_cast<size_t>(d)].name);
  std::string chunk, vectors;
  std::string inner = last.name;
  int64_t extent = assumed(last);
  if (outer.empty() && work(st) >= kParallelWork) {
    inner = split(name, inner, extent, lanes * kChunkVectors, &chunk);
    if (!chunk.empty()) extent = lanes * kChunkVectors;
  }
  inner = split(name, inner, extent, lanes, &vectors);
  if (extent > 1) step(Vectorize{name, inner});
  if (!chunk.empty()) outer.push_back(chunk);
  parallelise(name, outer, work(st));
}

std::vector<std::string> RuleScheduler::outer_axes(const StageNest& st, const RegisterTile& tile) const {
  std::vector<std::string> names;
  for (int d = 0; d < st.data_rank; ++d)
    if (d != tile.i && d != tile.j) names.push_back(st.axes[static_cast<size_t>(d)].name);
  return names;
}

// Splits, orders and annotates a stage by a tile; the reduction axes come between the loops over tiles, which it gives
// from the outside in, and the tile.
std::vector<std::string> RuleScheduler::tile_stage(const std::string& name, const RegisterTile& tile) {
  const StageNest st = at(name);
  std::vector<std::string> loops = outer_axes(st, tile);
  std::string i_outer, j_outer, i_inner, j_inner;
  const auto& axis = [&](int d) -> const Axis& { return st.axes[static_cast<size_t>(d)]; };
  if (tile.j >= 0) j_inner = split(name, axis(tile.j).name, assumed(axis(tile.j)), tile.columns, &j_outer);
  if (tile.i >= 0) i_inner = split(name, axis(tile.i).name, assumed(axis(tile.i)), tile.rows, &i_outer);
  for (const std::string& loop : {j_outer, i_outer})
    if (!loop.empty()) loops.push_back(loop);
  std::vector<std::string> order = loops;
  for (int d = 0; d < st.reduce_rank; ++d) order.push_back(axis(st.data_rank + d).name);
  for (const std::string& loop : {i_inner, j_inner})
    if (!loop.empty()) order.push_back(loop);
  if (order.size() > 1) step(Reorder{name, order});
  if (!i_inner.empty()) step(Unroll{name, i_inner});
  if (!j_inner.empty() && tile.vector) step(Vectorize{name, j_inner});
  if (!j_inner.empty() && !tile.vector) step(Unroll{name, j_inner});
  return loops;
}

void RuleScheduler::schedule_reduction(const std::string& name) {
  const StageNest st = at(name);
  if (elements(st) <= 1) return;
  parallelise(name, tile_stage(name, choose_tile(st)), work(st));
}

void RuleScheduler::schedule_with_epilogue(const std::string& name, const std::string& reader) {
  const StageNest st = at(name);
  fused_[reader] = true;
  const RegisterTile tile = choose_tile(st);
  std::vector<std::string> loops = tile_stage(reader, tile);
  tile_stage(name, tile);
  if (!loops.empty()) step(ComputeAt{name, reader, loops.back()});
  if (loops.size() > 1) loops.pop_back();  // the loop that the tile of the reduction stands in keeps its name
  parallelise(reader, loops, work(st));
}

}  // namespace

Schedule rule_schedule(const std::vector<te::Tensor>& outputs, const Target& target) {
  return support::with_deep_stack([&] {
    Schedule chosen = RuleScheduler(outputs, target).run();
    return chosen.check().ok() ? chosen : Schedule(outputs);
  });
}

}  // namespace tw::schedule
