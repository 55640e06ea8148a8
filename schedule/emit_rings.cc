// Rings of a launch (ring.h): their barriers, what fills them, and what stands around the loop that they go along.
#include <algorithm>
#include <optional>

#include "schedule/box_copies.h"
#include "schedule/cluster_of.h"
#include "schedule/emitter.h"
#include "schedule/group_operands.h"
#include "schedule/roles_of.h"

namespace tw::schedule {

std::vector<int> Emitter::rings_at(const Emission& stage, int level) const {
  std::vector<int> rings = attached_at(stage, level);
  std::erase_if(rings, [&](int i) { return kept_.slide(i).kind != SlideKind::kRing; });
  return rings;
}

Ring Emitter::ring_of(const std::vector<int>& stages) {
  const Slide& slide = kept_.slide(stages[0]);
  const bool later = std::ranges::any_of(stages, [&](int i) { return kept_.slide(i).arrival != ir::Arrival::kNow; });
  const bool boxes = std::ranges::any_of(stages, [&](int i) { return kept_.slide(i).boxes; });
  const bool fenced =
      std::ranges::any_of(stages, [&](int i) { return !kept_.slide(i).boxes && is_group_operand(nest_, placed_, i); });
  Ring ring;
  ring.slots = slide.slots;
  ring.trips = !!slide.tiles ? slide.turns : slide.trips;
  ring.later = later;
  if (boxes) ring.full = barriers_of(stages[0], "full");
  ring.fence = fenced ? fence_of_stores() : ir::seq({});
  const std::optional<ClusterOf>& cluster = launches_.cluster(stages[0]);
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
ir::Buffer Emitter::barriers_of(int stage, const std::string& which) const {
  ir::Buffer& known = barriers_[{stage, which}];
  if (!known)
    known = ir::Buffer(buffer_name(nest_.stage(stage), 0) + "." + which, ir::Type::u(64), {kept_.slide(stage).slots},
                       Scope::kShared);
  return known;
}

RingPart Emitter::part_of(const std::vector<int>& stages) {
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

ir::Stmt Emitter::begins(const std::vector<int>& boxes, const ir::Buffer& full, const ir::Expr& of) const {
  return begin_turn(nest_, placed_, all_, kept_, launches_.cluster(boxes[0]), boxes, full, of);
}

// Products of four warps, of nothing but boxes, go on while the next ones begin: whose slot is filled again is then
// the batch before.
int64_t Emitter::batches_under_way(const Emission& stage) const {
  const int level = stage.warp.batch - 1;
  if (level < stage.first_reduction) return 0;
  const std::vector<int> rings = rings_at(stage, level);
  const bool alone = !rings.empty() && attached_at(stage, level).size() == rings.size();
  if (alone && has_roles(rings[0]) && !has_known_trips(rings[0])) return 0;
  return alone && std::ranges::all_of(rings, [&](int i) { return kept_.slide(i).boxes; }) ? 1 : 0;
}

bool Emitter::has_roles(int stage) const { return stage_with_roles(nest_, placed_, placed_.launch[stage]) != kNone; }

bool Emitter::has_known_trips(int ring) const { return ir::as_int(kept_.slide(ring).trips).value_or(0) >= 1; }

// The loop, with the first parts of its rings and the memory that holds them.
ir::Stmt Emitter::around_rings(const Emission& stage, int level, ir::Stmt loop) {
  const std::vector<int> rings = rings_at(stage, level);
  if (rings.empty()) return loop;
  if (level + 1 == stage.warp.batch && batches_under_way(stage) > 0) loop = ir::seq({loop, wait_for_batches(0)});
  if (has_roles(stage.id)) return filled_by_role(stage, level, rings, loop);
  if (!kept_.slide(rings[0]).tiles) return around_ring(rings, launches_.repeats(stage.id, level - 1), loop);
  over_tiles_.insert(rings);
  return loop;
}

ir::Stmt Emitter::around_ring(const std::vector<int>& rings, bool again, ir::Stmt loop) {
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

}  // namespace tw::schedule
