// Rings that threads of their own fill (roles_of.h), while those that are bound compute.
#include <algorithm>
#include <utility>

#include "schedule/emitter.h"
#include "schedule/roles_of.h"
#include "src/ir/group_products.h"
#include "src/ir/simplify.h"

namespace tw::schedule {

// The launch, where some of its threads copy for others.
ir::Stmt Emitter::by_roles(int root, const ir::Stmt& computed) {
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

ir::Stmt Emitter::filled_by_role(const Emission& stage, int level, const std::vector<int>& rings,
                                 const ir::Stmt& loop) {
  of_roles_ = rings;
  const Slide& slide = kept_.slide(rings[0]);
  if (level + 1 != stage.warp.batch || batches_under_way(stage) == 0) return loop;
  const ir::Expr last = ir::substitute(slide.turn(), {{slide.loop.id(), slide.trips - ir::Expr(1)}});
  const ir::Stmt read = say_read(ring_of(rings), ir::simplify(last, all_.ranges));
  meetings_.add(read);
  return ir::seq({loop, read});
}

// What an iteration has read, or, where its products go on, what the one before has.
ir::Stmt Emitter::read_by_role(const Emission& stage, const Ring& ring, const Slide& slide) {
  const bool goes_on = batches_under_way(stage) > 0;
  const ir::Stmt read = say_read(ring, goes_on ? slide.turn() - ir::Expr(1) : slide.turn());
  const ir::Stmt out = goes_on ? ir::if_then(ir::Expr(slide.loop) > ir::Expr(0), read) : read;
  meetings_.add(out);
  return out;
}

}  // namespace tw::schedule
