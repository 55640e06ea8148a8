// Loops, guards, init and update, allocations.
//
//   C reduces over k, leaves i, k, j.o, j.i; P attached at k; j split unevenly:
//
//     for i:
//       for j.o, j.i: if j.o*f + j.i < n: C[i, j] = identity          // data loops inside the outermost reduction loop
//       for k:
//         alloc P: ... P ...
//         for j.o, j.i: if j.o*f + j.i < n: C[i, j] = C[i, j] op x
//
// A condition stands directly inside the innermost loop that it mentions.
//
//   C reduces over k, vectorized k.i of L; data loops inside stay as above:
//
//     for i:
//       alloc C.lanes[L]: for k.i: C.lanes[k.i] = identity
//       for k.o, k.i: C.lanes[k.i] = k.o*L + k.i < n ? C.lanes[k.i] op x : C.lanes[k.i]
//       join the lanes (te/lane_joins.h); C[i] = init op C.lanes[0]
//
// What threads share of a sum: thread_sums.h; products of a warp: warp_tile.h.
#include "schedule/emit.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "schedule/box_copies.h"
#include "schedule/cluster_of.h"
#include "schedule/conditions.h"
#include "schedule/group_operands.h"
#include "schedule/meetings.h"
#include "schedule/pad.h"
#include "schedule/ring.h"
#include "schedule/roles_of.h"
#include "schedule/tiles_of_block.h"
#include "src/ir/group_products.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/statements.h"

namespace tw::schedule {

namespace {

constexpr int64_t kMostInBatch = 16;  // iterations of a loop that are written out

class Emitter {
 public:
  Emitter(const LoopNest& nest, const Placement& placed, const NestBounds& all, std::vector<Slide> slides,
          const IndexMaps& layouts, const Arguments& arguments, const std::vector<BoundIntrin>& intrins)
      : nest_(nest),
        placed_(placed),
        all_(all),
        kept_(nest, placed, all, std::move(slides), layouts, arguments),
        launches_(nest, placed, all),
        intrins_(intrins),
        attached_(nest.size()) {
    for (int i = 0; i < nest.size(); ++i) {
      if (!placed.live(i)) continue;
      if (placed.parent[i] == kNone) {
        roots_.push_back(i);
      } else {
        attached_[placed.parent[i]].push_back(i);
      }
    }
  }

  ir::Stmt program() {
    ir::Stmt rest = ir::seq({});
    for (size_t i = roots_.size(); i-- > 0;) rest = produce(roots_[i], rest, false);
    return rest;
  }

 private:
  // The stage, then `rest`, which reads it.
  ir::Stmt produce(int i, ir::Stmt rest, bool in_vector) {
    const ir::Stmt stage = emit_stage(i, in_vector);
    return allocated(
        i, ir::seq({placed_.launch[i] == i ? launches_.around(i, by_roles(i, stage)) : stage, std::move(rest)}));
  }

  ir::Stmt allocated(int i, ir::Stmt both) const { return allocated(kept_.buffers(i), std::move(both)); }

  static ir::Stmt allocated(const std::vector<ir::Buffer>& buffers, ir::Stmt both) {
    for (const ir::Buffer& buffer : buffers) {
      if (buffer.scope() == Scope::kArgument) continue;
      if (is_private(buffer.scope()) && has_parallel_loop(both)) {
        // Threads that share values find them in memory, not in one thread's registers.
        ir::Buffer shared(buffer.name(), buffer.element(), buffer.shape(), Scope::kGlobal, buffer.strides());
        both = ir::allocate(shared, ir::replace_buffers(both, {{buffer.id(), shared}}));
      } else {
        both = ir::allocate(buffer, both);
      }
    }
    return both;
  }

  static bool has_parallel_loop(const ir::Stmt& stmt) {
    bool found = false;
    ir::walk(stmt, [&](const ir::Stmt& s) {
      const auto* loop = ir::as<ir::For>(s);
      found |= loop && loop->kind == ir::ForKind::kParallel;
      return !found;
    });
    return found;
  }

  ir::Stmt emit_stage(int i, bool in_vector) {
    if (const te::Extern* written = nest_.stage(i).op->external()) return by_user(i, *written);
    Emission stage{i, nest_.stage(i), all_.stages[i], {}, 0, in_vector, defined_part(nest_, placed_, all_, i)};
    for (int d = 0; d < stage.nest.data_rank; ++d)
      if (stage.bounds.extent[d] == 0) return ir::seq({});
    stage.first_reduction = static_cast<int>(stage.nest.leaves.size());
    for (int position = stage.first_reduction; position-- > 0;)
      if (stage.nest.axes[stage.nest.leaves[position]].reduction) stage.first_reduction = position;
    stage.partial =
        partial_results(stage.nest, stage.bounds, stage.first_reduction, kept_.buffers(i), placed_.launch[i] != kNone);
    stage.sums = thread_sums(stage.nest, stage.bounds, stage.first_reduction, launches_.indices(i), kept_.buffers(i));
    stage.band = launches_.band(i);
    int innermost = kNone;
    for (int inside : attached_[i]) innermost = std::max(innermost, placed_.level[inside]);
    for (const Condition& condition : stage.conditions) innermost = std::max(innermost, condition.level - 1);
    if (intrins_[i].product)
      stage.warp = warp_tile(stage.nest, stage.bounds, stage.first_reduction, intrins_[i], launches_.indices(i),
                             kept_.buffers(i)[0], innermost);
    find_conditions(nest_, placed_, all_, kept_.slide(i), launches_, innermost, stage);
    return ir::seq({kept_.padding(i), guarded(stage, 0, inside(stage, 0, in_vector))});
  }

  // ------------------------------------------------------------------------------------------------------ conditions

  ir::Stmt guarded(const Emission& stage, int level, ir::Stmt body, bool init = false) const {
    const bool meet = placed_.launch[stage.id] != kNone && meetings_.in(body);
    ir::Expr all, of_each;
    for (const Condition& condition : stage.conditions) {
      if (condition.level != level || (init && !condition.data)) continue;
      const bool each = launches_.differs(condition.holds) || runs_on(stage.id);
      ir::Expr& to = meet && each ? of_each : all;
      to = both(to, condition.holds);
    }
    if (of_each) body = meetings_.guarded(of_each, body);
    return all ? ir::if_then(all, std::move(body)) : body;
  }

  // Whether a ring that runs on over tiles, or that others or other blocks fill, is in the stage's loops, so that it
  // has all of its turns.
  bool runs_on(int stage) const {
    for (int i = 0; i < nest_.size(); ++i) {
      if (kept_.slide(i).kind != SlideKind::kRing) continue;
      if (!kept_.slide(i).tiles && !has_roles(i) && !cluster_of(nest_, placed_, all_, placed_.launch[i])) continue;
      for (int at = placed_.parent[i]; at != kNone; at = placed_.parent[at])
        if (at == stage) return true;
    }
    return false;
  }

  // ------------------------------------------------------------------------------------------------------ loops

  // What stands inside the first `level` loops of the stage.
  ir::Stmt inside(const Emission& stage, int level, bool in_vector) {
    if (level == stage.band.begin) return shared_out(stage, in_vector);
    if (stage.warp.product && level == stage.warp.level) return by_warp(stage);
    if (level != intrins_[stage.id].level) return by_loops(stage, level, in_vector);
    const ir::Stmt at_once = by_intrin(stage, in_vector);
    const ir::Expr whole = both(intrins_[stage.id].whole_data, intrins_[stage.id].whole_reduction);
    return whole ? ir::if_then(whole, at_once, by_loops(stage, level, in_vector)) : at_once;
  }

  ir::Stmt by_loops(const Emission& stage, int level, bool in_vector) {
    bool innermost = level == static_cast<int>(stage.nest.leaves.size());
    ir::Stmt body = innermost ? element(stage) : open_loop(stage, level, in_vector);
    if (level == stage.warp.batch) body = as_batch(body, batches_under_way(stage));
    if (level == stage.first_reduction && stage.warp.product) {
      body = across_lanes_of_warp(stage, level, body);
    } else if (level == stage.first_reduction && stage.sums.shares()) {
      body = across_threads(stage, level, body);
    } else if (level == stage.first_reduction && stage.partial.position != kNone) {
      body = across_lanes(stage, level, body, in_vector);
    } else if (level == stage.first_reduction && stage.nest.is_reduction()) {
      const BoundIntrin& intrin = intrins_[stage.id];
      const bool at_once = intrin.level != kNone && level < intrin.level;
      body = ir::seq({init_part(stage, level, in_vector, at_once), body});
    }
    return body;
  }

  // What the user wrote of an extern stage; everything that it touches is kept whole.
  ir::Stmt by_user(int i, const te::Extern& written) const {
    ir::BufferMap buffers;
    for (int source = 0; source <= i; ++source)
      for (size_t output = 0; output < kept_.buffers(source).size(); ++output)
        buffers[nest_.stage(source).buffers[output].id()] = kept_.buffers(source)[output];
    return te::statement(written, buffers);
  }

  // The statement that stands for all loops from here on.
  ir::Stmt by_intrin(const Emission& stage, bool in_vector) {
    const BoundIntrin& intrin = intrins_[stage.id];
    if (intrin.does.body) return relocated(stage, intrin.does.body);
    ir::Stmt update = relocated(stage, intrin.does.update);
    const bool begins = stage.nest.is_reduction() && stage.first_reduction >= intrin.level;
    return begins ? ir::seq({init_part(stage, intrin.level, in_vector, true), update}) : update;
  }

  // `statement`, which stands for the loops from the intrinsic's level on.
  ir::Stmt relocated(const Emission& stage, const ir::Stmt& statement) const {
    ir::Substitution values;
    for (const TileStride& stride : intrins_[stage.id].strides)
      values[stride.var.id()] = kept_.apart(stride.tensor, stride.factor);
    for (const TileOffset& offset : intrins_[stage.id].offsets)
      values[offset.var.id()] = kept_.offset(offset.tensor, offset.base);
    return kept_.relocated(values.empty() ? statement : ir::substitute(statement, values));
  }

  // The stages that are computed inside the loop at `level`, producers first.
  std::vector<int> attached_at(const Emission& stage, int level) const {
    std::vector<int> here;
    for (int i : attached_[stage.id])
      if (placed_.level[i] == level) here.push_back(i);
    return here;
  }

  ir::Stmt open_loop(const Emission& stage, int level, bool in_vector) {
    const AxisId leaf = stage.nest.leaves[level];
    const std::vector<int> here = attached_at(stage, level);
    const ir::Stmt body = one_iteration(stage, level, here, in_vector);
    ir::Stmt loop = with_pragmas(stage, leaf, loop_around(stage, leaf, body, in_vector));
    for (size_t i = here.size(); i-- > 0;) loop = around_slide(here[i], loop);
    loop = around_rings(stage, level, loop);
    if (leaf == stage.nest.persistent.tiles)
      for (const std::vector<int>& rings : std::exchange(over_tiles_, {})) loop = around_ring(rings, false, loop);
    return loop;
  }

  // Of the loop at `level`; the stages `here` are computed in it.
  ir::Stmt one_iteration(const Emission& stage, int level, const std::vector<int>& here, bool in_vector) {
    const AxisId leaf = stage.nest.leaves[level];
    if (stage.nest.axes[leaf].annotation == Annotation::kVectorized && stage.bounds.loop[leaf]) in_vector = true;
    bool slides = std::any_of(here.begin(), here.end(), [&](int i) { return kept_.slide(i).kind != SlideKind::kNone; });
    ir::Stmt body = inside(stage, level + 1, in_vector);
    // What a later iteration finds is computed also where this one computes nothing of the stage itself.
    if (slides) body = guarded(stage, level + 1, body);
    if (placed_.launch[stage.id] != kNone) {
      body = with_producers(stage, level, here, body, in_vector);
    } else {
      for (size_t i = here.size(); i-- > 0;) body = with_producer(here[i], body, in_vector);
    }
    if (!slides) body = guarded(stage, level + 1, body);
    return ir::seq({prefetches(stage, level), body});
  }

  // ------------------------------------------------------------------------------------------------------ devices

  // The same in a launch. What a block shares is made side by side first, where nothing else here has to be there
  // before.
  ir::Stmt with_producers(const Emission& stage, int level, std::vector<int> here, ir::Stmt body, bool in_vector) {
    const std::vector<int> rings = rings_at(stage, level);
    std::erase_if(here, [&](int i) { return std::ranges::find(rings, i) != rings.end(); });
    body = with_others(stage, level, std::move(here), body, in_vector);
    if (rings.empty()) return body;
    const Ring ring = ring_of(rings);
    const ir::Expr turn = kept_.slide(rings[0]).turn();
    if (ring.free) return ir::seq({wait_for_turn(ring, turn), body, read_by_role(stage, ring, kept_.slide(rings[0]))});
    if (level + 1 == stage.warp.batch && batches_under_way(stage) > 0)
      return ir::seq({wait_for_turn(ring, turn), body, iteration_behind(ring, part_of(rings), turn)});
    return ir::seq({wait_for_turn(ring, turn), ring_iteration(ring, part_of(rings), turn, body)});
  }

  ir::Stmt with_others(const Emission& stage, int level, std::vector<int> here, ir::Stmt body, bool in_vector) {
    const auto first = std::stable_partition(here.begin(), here.end(), [&](int i) {
      return placed_.scope[i] == Scope::kShared &&
             std::none_of(here.begin(), here.end(), [&](int other) { return needs(i, other); });
    });
    const bool again = launches_.repeats(stage.id, level);
    for (auto i = here.end(); i != first; --i) body = produced({*(i - 1)}, body, again, in_vector);
    return first == here.begin() ? body : produced({here.begin(), first}, body, again, in_vector);
  }

  // Products of four warps, of nothing but boxes, go on while the next ones begin: whose slot is filled again is then
  // the batch before.
  int64_t batches_under_way(const Emission& stage) const {
    const int level = stage.warp.batch - 1;
    if (level < stage.first_reduction) return 0;
    const std::vector<int> rings = rings_at(stage, level);
    const bool alone = !rings.empty() && attached_at(stage, level).size() == rings.size();
    if (alone && has_roles(rings[0]) && !has_known_trips(rings[0])) return 0;
    return alone && std::ranges::all_of(rings, [&](int i) { return kept_.slide(i).boxes; }) ? 1 : 0;
  }

  std::vector<int> rings_at(const Emission& stage, int level) const {
    std::vector<int> rings = attached_at(stage, level);
    std::erase_if(rings, [&](int i) { return kept_.slide(i).kind != SlideKind::kRing; });
    return rings;
  }

  Ring ring_of(const std::vector<int>& stages) {
    const Slide& slide = kept_.slide(stages[0]);
    const bool later = std::ranges::any_of(stages, [&](int i) { return kept_.slide(i).arrival != ir::Arrival::kNow; });
    const bool boxes = std::ranges::any_of(stages, [&](int i) { return kept_.slide(i).boxes; });
    const bool fenced = std::ranges::any_of(
        stages, [&](int i) { return !kept_.slide(i).boxes && is_group_operand(nest_, placed_, i); });
    Ring ring;
    ring.slots = slide.slots;
    ring.trips = !!slide.tiles ? slide.turns : slide.trips;
    ring.later = later;
    if (boxes) ring.full = barriers_of(stages[0], "full");
    ring.fence = fenced ? fence_of_stores() : ir::seq({});
    const std::optional<ClusterOf> cluster = cluster_of(nest_, placed_, all_, placed_.launch[stages[0]]);
    ring.in_cluster =
        cluster && std::ranges::any_of(stages, [&](int i) {
          return kept_.slide(i).boxes && part_of_box(*cluster, nest_, all_, i, box_of(nest_, placed_, all_, i));
        });
    if (!has_roles(stages[0])) return ring;
    ring.free = barriers_of(stages[0], "free");
    ring.readers = kThreadsOfRole * launches_.role(placed_.launch[stages[0]])->extent.value();
    if (ring.in_cluster) ring.readers *= cluster->blocks;
    return ring;
  }

  // Of the ring that this stage is the first of.
  ir::Buffer barriers_of(int stage, const std::string& which) const {
    ir::Buffer& known = barriers_[{stage, which}];
    if (!known)
      known = ir::Buffer(buffer_name(nest_.stage(stage), 0) + "." + which, ir::Type::u(64), {kept_.slide(stage).slots},
                         Scope::kShared);
    return known;
  }

  RingPart part_of(const std::vector<int>& stages) {
    return [this, stages](const ir::Expr& of) {
      std::vector<ir::Stmt> all;
      std::vector<int> boxes;
      std::ranges::copy_if(stages, std::back_inserter(boxes), [&](int i) { return kept_.slide(i).boxes; });
      if (!boxes.empty()) {
        all.push_back(by_one(begins(boxes, barriers_of(stages[0], "full"), of)));
        meetings_.add(all.back());
      }
      for (int i : stages) {
        if (kept_.slide(i).boxes) continue;
        all.push_back(arriving(iteration(i, of), kept_.buffers(i), kept_.slide(i).arrival));
        meetings_.add(all.back());
      }
      return ir::seq(std::move(all));
    };
  }

  ir::Stmt begins(const std::vector<int>& boxes, const ir::Buffer& full, const ir::Expr& of) const {
    return begin_turn(nest_, placed_, all_, kept_, boxes, full, of);
  }

  bool has_roles(int stage) const { return stage_with_roles(nest_, placed_, placed_.launch[stage]) != kNone; }
  bool has_known_trips(int ring) const { return ir::as_int(kept_.slide(ring).trips).value_or(0) >= 1; }

  // What an iteration has read, or, where its products go on, what the one before has.
  ir::Stmt read_by_role(const Emission& stage, const Ring& ring, const Slide& slide) {
    const bool goes_on = batches_under_way(stage) > 0;
    const ir::Stmt read = say_read(ring, goes_on ? slide.turn() - ir::Expr(1) : slide.turn());
    const ir::Stmt out = goes_on ? ir::if_then(ir::Expr(slide.loop) > ir::Expr(0), read) : read;
    meetings_.add(out);
    return out;
  }

  // The launch, where some of its threads copy for others.
  ir::Stmt by_roles(int root, const ir::Stmt& computed) {
    if (of_roles_.empty()) return computed;
    const std::vector<int> rings = std::exchange(of_roles_, {});
    const DeviceIndex index = *launches_.role(root);
    const Ring ring = ring_of(rings);
    const RoleRegisters registers =
        registers_of(nest_.stage(stage_with_roles(nest_, placed_, root)).roles, index.extent.value());
    const auto with_registers = [&](ir::GroupOp op, int64_t count, const ir::Stmt& does) {
      ir::GroupCall call;
      call.op = op;
      call.count = count;
      return registers.move ? ir::seq({ir::group_stmt(call), does}) : does;
    };
    const ir::Stmt copies = filled(ring, [&](const ir::Expr& of) { return begins(rings, ring.full, of); });
    const auto lane = std::ranges::find(launches_.indices(root), Annotation::kThreadX, &DeviceIndex::kind);
    const ir::Stmt by_first = ir::if_then(eq(ir::Expr(lane->var), ir::Expr(0)), copies);
    ir::Stmt all = ir::if_then(ir::Expr(index.var) < index.extent.expr(),
                               with_registers(ir::GroupOp::kTakeRegisters, registers.consumer, computed),
                               with_registers(ir::GroupOp::kGiveRegisters, registers.producer, by_first));
    all = allocated({ring.full, ring.free}, with_barriers(ring, all, false));
    for (size_t i = rings.size(); i-- > 0;) all = allocated(rings[i], all);
    return all;
  }

  // The loop, with the first parts of its rings and the memory that holds them.
  ir::Stmt around_rings(const Emission& stage, int level, ir::Stmt loop) {
    const std::vector<int> rings = rings_at(stage, level);
    if (rings.empty()) return loop;
    if (level + 1 == stage.warp.batch && batches_under_way(stage) > 0) loop = ir::seq({loop, wait_for_batches(0)});
    if (has_roles(stage.id)) return filled_by_role(stage, level, rings, loop);
    if (!kept_.slide(rings[0]).tiles) return around_ring(rings, launches_.repeats(stage.id, level - 1), loop);
    over_tiles_.insert(rings);
    return loop;
  }

  ir::Stmt filled_by_role(const Emission& stage, int level, const std::vector<int>& rings, const ir::Stmt& loop) {
    of_roles_ = rings;
    const Slide& slide = kept_.slide(rings[0]);
    if (level + 1 != stage.warp.batch || batches_under_way(stage) == 0) return loop;
    const ir::Expr last = ir::substitute(slide.turn(), {{slide.loop.id(), slide.trips - ir::Expr(1)}});
    const ir::Stmt read = say_read(ring_of(rings), ir::simplify(last, all_.ranges));
    meetings_.add(read);
    return ir::seq({loop, read});
  }

  ir::Stmt around_ring(const std::vector<int>& rings, bool again, ir::Stmt loop) {
    const Ring ring = ring_of(rings);
    loop = ir::seq({first_parts(ring, part_of(rings), again && !ring.full, all_.ranges), loop});
    if (ring.full) {
      loop = with_barriers(ring, loop, again);
      meetings_.add(ir::as<ir::Seq>(loop)->stmts.front());
      if (again) meetings_.add(ir::as<ir::Seq>(loop)->stmts.back());
      loop = ir::allocate(ring.full, loop);
    }
    for (size_t i = rings.size(); i-- > 0;) loop = allocated(rings[i], loop);
    return loop;
  }

  // Whether the stage, or one that is computed inside of it, reads `source`.
  bool needs(int stage, int source) const {
    const auto reads = [&](const Read& read) { return read.source == source; };
    return std::any_of(placed_.reads[stage].begin(), placed_.reads[stage].end(), reads) ||
           std::any_of(attached_[stage].begin(), attached_[stage].end(), [&](int i) { return needs(i, source); });
  }

  // Stages that do not read each other, all shared or a single one, then `rest`. Nobody reads what threads share before
  // all of it is there, or writes it `again` before all have read it.
  ir::Stmt produced(const std::vector<int>& stages, const ir::Stmt& rest, bool again, bool in_vector) {
    const bool shared = placed_.scope[stages[0]] == Scope::kShared;
    const ir::Stmt meet = shared ? ir::sync(ir::SyncOp::kBlock) : ir::seq({});
    std::vector<ir::Stmt> all;
    if (again) all.push_back(meet);
    for (int i : stages) {
      all.push_back(emit_stage(i, in_vector));
      if (placed_.together[i] != Team::kNone) meetings_.add(all.back());
    }
    if (shared && std::ranges::any_of(stages, [&](int i) { return is_group_operand(nest_, placed_, i); }))
      all.push_back(fence_of_stores());
    all.push_back(meet);
    all.push_back(rest);
    ir::Stmt whole = ir::seq(std::move(all));
    for (size_t i = stages.size(); i-- > 0;) whole = allocated(stages[i], whole);
    return whole;
  }

  // Between what threads store and a barrier behind which the device reads it by itself.
  ir::Stmt fence_of_stores() {
    ir::GroupCall fence;
    fence.op = ir::GroupOp::kAsyncFence;
    const ir::Stmt out = ir::group_stmt(fence);
    meetings_.add(out);
    return out;
  }

  // The loops that the threads of a block share, as one.
  ir::Stmt shared_out(const Emission& stage, bool in_vector) {
    const Band& band = stage.band;
    if (band.begin == band.end) return shared(stage, by_loops(stage, band.begin, in_vector));
    const int last = band.end - 1;
    ir::Stmt body = one_iteration(stage, last, attached_at(stage, last), in_vector);
    for (int level = last; level > band.begin; --level) body = guarded(stage, level, body);
    return shared(stage, body);
  }

  ir::Stmt shared(const Emission& stage, const ir::Stmt& body) const {
    return cooperative(stage.nest, stage.bounds, stage.band, all_.ranges, body);
  }

  // The reduction's loops over what each thread has of it: first the identity, and in the end the sum of all, joined
  // with what the reduction begins with.
  ir::Stmt across_threads(const Emission& stage, int level, const ir::Stmt& update) const {
    const auto& reduce = *ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
    const ThreadSums& parts = stage.sums;
    const int innermost = static_cast<int>(stage.nest.leaves.size());
    const ir::Stmt identity = te::store_all(parts.own, parts.at, ir::identity_of(reduce));
    std::vector<ir::Expr> result = sums(parts);
    if (!reduce.init.empty()) result = ir::combine(reduce, rewrite(stage, reduce.init), result);
    ir::Stmt end = stored(stage, result);
    if (placed_.scope[stage.id] != Scope::kLocal) end = ir::if_then(is_first(parts), end);
    const bool again = launches_.repeats(stage.id, level - 1) || !ir::is_int(parts.at[0], 0);
    end = ir::seq({joined(parts, reduce, again), end});
    const ir::Stmt all = ir::seq({ir::refresh(init_loops(stage, level, innermost, identity, false)), update,
                                  ir::refresh(init_loops(stage, level, innermost, end, false))});
    return allocated(parts.parts, allocated(parts.own, all));
  }

  // Products of a warp; where the whole reduction is one, with the sums around it.
  ir::Stmt by_warp(const Emission& stage) const {
    const WarpOperands& operands = stage.warp.loops;
    const bool of_group = stage.warp.batch != kNone;
    const std::vector<ir::Expr> loads = rewrite(stage, {operands.left, operands.right}, !of_group);
    ir::Stmt product = ir::refresh(multiplied(stage.warp, all_.ranges, loads[0], loads[1]));
    const int level = stage.warp.level;
    if (stage.warp.batch == level) product = as_batch(product, batches_under_way(stage));
    return stage.first_reduction >= level ? across_lanes_of_warp(stage, level, product) : product;
  }

  // The reduction's loops over what each lane of a warp has of it: first the identity, and in the end the sums where
  // they belong, joined with what the reduction begins with.
  ir::Stmt across_lanes_of_warp(const Emission& stage, int level, const ir::Stmt& update) const {
    const auto& reduce = *ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
    const int inside = intrins_[stage.id].level;
    const ir::Stmt end = finished(stage.warp, all_.ranges, subscripts(stage), stage.stored, [&](const ir::Expr& sum) {
      if (reduce.init.empty()) return stored(stage, {sum});
      return stored(stage, ir::combine(reduce, rewrite(stage, reduce.init), {sum}));
    });
    const ir::Stmt begin = begun(stage.warp, ir::identity_of(reduce)[0]);
    return ir::allocate(stage.warp.sums, ir::seq({ir::refresh(init_loops(stage, level, inside, begin, false)), update,
                                                  ir::refresh(init_loops(stage, level, inside, end, false))}));
  }

  // ------------------------------------------------------------------------------------------------------ slides

  // One iteration, with what it needs of a stage that is computed in it.
  ir::Stmt with_producer(int i, const ir::Stmt& body, bool in_vector) {
    const Slide& slide = kept_.slide(i);
    if (slide.kind == SlideKind::kNone) return produce(i, body, in_vector);
    if (slide.kind == SlideKind::kRolling) return ir::seq({emit_stage(i, in_vector), body});
    ir::Expr next = ir::Expr(slide.loop) + ir::Expr(1);
    return ir::seq({ir::if_then(next < slide.trips, iteration(i, next)), body});
  }

  // The loop, with the memory that outlives its iterations.
  ir::Stmt around_slide(int i, const ir::Stmt& loop) {
    const Slide& slide = kept_.slide(i);
    if (slide.kind == SlideKind::kNone || slide.kind == SlideKind::kRing) return loop;
    if (slide.kind == SlideKind::kRolling) return allocated(i, loop);
    ir::Stmt first = iteration(i, 0);
    if (!ir::as_int(slide.trips)) first = ir::if_then(slide.trips > ir::Expr(0), first);
    return allocated(i, ir::seq({first, loop}));
  }

  ir::Stmt iteration(int i, const ir::Expr& of) {
    return ir::refresh(ir::simplify(ir::substitute(emit_stage(i, false), kept_.slide(i).in_turn(of)), all_.ranges));
  }

  ir::Stmt prefetches(const Emission& stage, int level) const {
    std::vector<ir::Stmt> all;
    for (const PrefetchNote& note : stage.nest.prefetches) {
      if (note.axis != stage.nest.leaves[level] || stage.in_vector) continue;
      int source = nest_.find_stage(note.source);
      all.push_back(prefetch(nest_, placed_, all_, {stage.id, level, source, note.offset}, kept_.buffers(source)));
    }
    return ir::seq(std::move(all));
  }

  ir::Stmt loop_around(const Emission& stage, AxisId leaf, const ir::Stmt& body, bool in_vector) const {
    const ir::Var& var = stage.bounds.loop[leaf];
    if (stage.bounds.extent[leaf] == 0) return ir::seq({});
    if (!var || is_bound(stage.nest.axes[leaf].annotation)) return body;
    ir::ForKind how = kind(stage.nest.axes[leaf].annotation, in_vector);
    if (how == ir::ForKind::kSerial && is_of_batch(stage, leaf)) how = ir::ForKind::kUnrolled;
    const ir::Expr extent = leaf == stage.nest.persistent.tiles ? tiles_of_block(stage.nest, stage.bounds)
                                                                : stage.bounds.extent[leaf].expr();
    return ir::loop(var, extent, body, how, tail_of(stage, leaf));
  }

  // Products that are under way at once stand one after the other, or an assembler waits for each.
  static bool is_of_batch(const Emission& stage, AxisId leaf) {
    return stage.warp.batch != kNone && stage.nest.position(leaf) >= stage.warp.batch &&
           stage.bounds.extent[leaf].value_or(kMostInBatch + 1) <= kMostInBatch;
  }

  // Inside a vectorized loop of another stage everything is scalars' work.
  static ir::ForKind kind(Annotation annotation, bool in_vector) {
    switch (annotation) {
      case Annotation::kNone:
        return ir::ForKind::kSerial;
      case Annotation::kUnrolled:
      case Annotation::kVirtual:
        return ir::ForKind::kUnrolled;
      case Annotation::kVectorized:
        return in_vector ? ir::ForKind::kSerial : ir::ForKind::kVectorized;
      case Annotation::kParallel:
        return in_vector ? ir::ForKind::kSerial : ir::ForKind::kParallel;
      default:
        TW_CHECK(false, "a loop of the device's where it stands");
    }
    return ir::ForKind::kSerial;
  }

  // The tail of the last uneven split that the loop came from.
  static Tail tail_of(const Emission& stage, AxisId leaf) {
    Tail tail = Tail::kNone;
    for (const Relation& relation : stage.nest.relations) {
      const auto* split = std::get_if<SplitRelation>(&relation);
      if (!split || !is_uneven(stage.bounds, *split) || is_shifted(stage.nest, stage.bounds, *split)) continue;
      if (split->parent == stage.nest.persistent.whole) continue;
      auto leaves = leaves_from(stage.nest, split->parent);
      if (std::find(leaves.begin(), leaves.end(), leaf) == leaves.end()) continue;
      tail = split->tail;
      if (tail == Tail::kPad) tail = Tail::kAuto;  // nobody knows that it came out even
      if (tail != Tail::kShiftInward) continue;
      const bool fewer_than_one_part = stage.bounds.extent[split->parent].known();
      tail = fewer_than_one_part ? Tail::kGuard : Tail::kAuto;
    }
    return tail;
  }

  ir::Stmt with_pragmas(const Emission& stage, AxisId leaf, ir::Stmt loop) const {
    if (placed_.launch[stage.id] != kNone && meetings_.in(loop))
      return loop;  // its statements are known by their place
    int64_t limit = 0;
    bool explicitly = true;
    for (const PragmaNote& note : stage.nest.pragmas) {
      if (note.axis != leaf) continue;
      if (note.key == "auto_unroll_max_step") limit = note.value;
      if (note.key == "unroll_explicit") explicitly = note.value != 0;
    }
    return limit > 0 && explicitly ? auto_unroll(loop, limit) : loop;
  }

  // ------------------------------------------------------------------------------------------------------ elements

  std::vector<ir::Expr> subscripts(const Emission& stage) const {
    const std::vector<ir::Expr>& at = kept_.whole(stage.id) ? stage.bounds.index : stage.bounds.value;
    return kept_.position(stage.id, {at.begin(), at.begin() + stage.nest.data_rank});
  }

  ir::Stmt element(const Emission& stage) {
    const auto* reduce = ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
    if (stage.nest.op->scan()) return states(stage);
    if (!reduce) return stored(stage, rewrite(stage, placed_.bodies[stage.id]));
    const bool lanes = stage.partial.position != kNone, threads = stage.sums.shares();
    const std::vector<ir::Buffer>& to = threads ? stage.sums.own
                                        : lanes ? stage.partial.buffers
                                                : kept_.buffers(stage.id);
    const std::vector<ir::Expr> at = threads ? stage.sums.at : lanes ? stage.partial.at : subscripts(stage);
    std::vector<ir::Expr> old;
    for (const ir::Buffer& buffer : to) old.push_back(ir::load(buffer, at));
    std::vector<ir::Expr> values = ir::combine(*reduce, old, rewrite(stage, reduce->sources));
    ir::Expr counts = stage.partial.counts;
    if (reduce->where) counts = both(counts, rewrite(stage, {reduce->where})[0]);
    if (counts)  // a select, which has a vector form and keeps the tile in registers
      for (size_t i = 0; i < values.size(); ++i) values[i] = ir::select(counts, values[i], old[i]);
    return te::store_all(to, at, values);
  }

  // Each state where it has an element: the loops are those of the largest.
  ir::Stmt states(const Emission& stage) const {
    const std::vector<ir::Expr> values = rewrite(stage, placed_.bodies[stage.id]), at = subscripts(stage);
    std::vector<ir::Stmt> all;
    for (size_t i = 0; i < values.size(); ++i) {
      const std::vector<ir::Expr>& shape = stage.nest.op->outputs[i].shape;
      ir::Expr inside;
      for (size_t d = 1; d < at.size(); ++d) {
        if (stage.nest.axes[d].extent == Extent(shape[d])) continue;
        const ir::Expr holds = ir::simplify(stage.bounds.index[d] < shape[d], all_.ranges);
        if (!ir::is_int(holds, 1)) inside = both(inside, holds);
      }
      const ir::Stmt one = ir::store(kept_.buffers(stage.id)[i], at, values[i]);
      all.push_back(inside ? ir::if_then(inside, one) : one);
    }
    return ir::seq(std::move(all));
  }

  ir::Stmt stored(const Emission& stage, const std::vector<ir::Expr>& values) const {
    return te::store_all(kept_.buffers(stage.id), subscripts(stage), values);
  }

  // The identity, over the data loops that stand inside the outermost reduction loop. `at_once`: the loops of an
  // intrinsic in the way that it has.
  ir::Stmt init_part(const Emission& stage, int level, bool in_vector, bool at_once) {
    const auto& reduce = *ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
    const ir::Stmt one = stored(stage, reduce.init.empty() ? ir::identity_of(reduce) : rewrite(stage, reduce.init));
    const BoundIntrin& intrin = intrins_[stage.id];
    const int innermost = static_cast<int>(stage.nest.leaves.size());
    if (!at_once) return ir::refresh(init_loops(stage, level, innermost, one, in_vector));
    ir::Stmt body = init_loops(stage, intrin.level, innermost, one, in_vector);
    if (intrin.does.reset) {
      const ir::Stmt reset = relocated(stage, intrin.does.reset);
      body = intrin.whole_data ? ir::if_then(intrin.whole_data, reset, body) : reset;
    } else if (!in_vector) {
      body = in_lanes(body);
    }
    return ir::refresh(init_loops(stage, level, intrin.level, body, in_vector));
  }

  // ------------------------------------------------------------------------------------------------------ lanes

  // The reduction's loops over partial results: first the identity, and in the end the result, joined with what the
  // reduction begins with.
  ir::Stmt across_lanes(const Emission& stage, int level, const ir::Stmt& update, bool in_vector) const {
    const auto& reduce = *ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
    const PartialResults& partial = stage.partial;
    const int innermost = static_cast<int>(stage.nest.leaves.size());
    const ir::Stmt identity = te::store_all(partial.buffers, partial.at, ir::identity_of(reduce));
    std::vector<ir::Expr> result = first_lane(partial);
    if (!reduce.init.empty()) result = ir::combine(reduce, rewrite(stage, reduce.init), result);
    const ir::Stmt end =
        ir::seq({joined(partial, reduce, kind(Annotation::kVectorized, in_vector)), stored(stage, result)});
    return allocated(partial.buffers,
                     ir::seq({ir::refresh(init_loops(stage, level, innermost, identity, in_vector, partial.position)),
                              update, ir::refresh(init_loops(stage, level, innermost, end, in_vector))}));
  }

  // Data loops from the position `from` up to `to`, and the loop at `lanes`, around `body`.
  ir::Stmt init_loops(const Emission& stage, int from, int to, ir::Stmt body, bool in_vector, int lanes = kNone) const {
    const int shared_from = from < stage.band.begin ? stage.band.begin : kNone;
    if (to == shared_from) body = shared(stage, body);
    for (int position = to; position-- > from;) {
      AxisId leaf = stage.nest.leaves[position];
      body = guarded(stage, position + 1, std::move(body), true);
      const bool in_band = shared_from != kNone && stage.band.holds(position);
      if (!in_band && (!stage.nest.axes[leaf].reduction || position == lanes))
        body = loop_around(stage, leaf, body, in_vector);
      if (position == shared_from) body = shared(stage, body);
    }
    return body;
  }

  // Loops that an intrinsic stands for: the innermost one as lanes, the others unrolled.
  static ir::Stmt in_lanes(const ir::Stmt& s) {
    if (const auto* i = ir::as<ir::If>(s)) return ir::if_then(i->cond, in_lanes(i->then));
    const auto* loop = ir::as<ir::For>(s);
    if (!loop) return s;
    const ir::Stmt body = in_lanes(loop->body);
    bool innermost = true;
    ir::walk(body, [&](const ir::Stmt& inner) { return innermost = innermost && !ir::as<ir::For>(inner); });
    return ir::loop(loop->var, loop->extent, body, innermost ? ir::ForKind::kVectorized : ir::ForKind::kUnrolled,
                    loop->tail);
  }

  // The definition over loop variables, its loads from where the values are kept.
  std::vector<ir::Expr> rewrite(const Emission& stage, std::vector<ir::Expr> bodies, bool swizzled = true) const {
    std::unordered_map<uint64_t, ir::Expr> index;
    for (size_t axis = 0; axis < stage.bounds.index.size(); ++axis)
      index[stage.nest.axes[axis].var.id()] = stage.bounds.index[axis];
    std::unordered_map<uint64_t, int> sources;
    for (const Read& read : placed_.reads[stage.id]) sources[ir::as<ir::Load>(read.load)->buffer.id()] = read.source;
    for (ir::Expr& body : bodies) {
      body = ir::rewrite(body, [&](const ir::Expr& e) {
        if (const auto* var = ir::as<ir::VarRef>(e)) {
          auto found = index.find(var->var.id());
          return found == index.end() ? e : found->second;
        }
        const auto* load = ir::as<ir::Load>(e);
        return load ? kept_.redirected(*load, sources.at(load->buffer.id()), swizzled) : e;
      });
      if (stage.defined) body = where_defined(stage.defined, body);
    }
    return bodies;
  }

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  Storage kept_;
  Launches launches_;
  Meetings meetings_;
  mutable std::map<std::pair<int, std::string>, ir::Buffer> barriers_;  // of rings
  std::vector<int> of_roles_;                                           // rings that threads of their own fill
  std::set<std::vector<int>> over_tiles_;    // rings that begin before the loop over a block's tiles
  const std::vector<BoundIntrin>& intrins_;  // of each stage
  std::vector<std::vector<int>> attached_;   // by parent, producers first
  std::vector<int> roots_;
};

}  // namespace

ir::Stmt emit(const LoopNest& nest, const Placement& placed, const NestBounds& all, const std::vector<Slide>& slides,
              const IndexMaps& layouts, const Arguments& arguments, const std::vector<BoundIntrin>& intrins) {
  return Emitter(nest, placed, all, slides, layouts, arguments, intrins).program();
}

}  // namespace tw::schedule
