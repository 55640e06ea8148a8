#include "schedule/ring.h"

#include <algorithm>

#include "src/ir/async_copies.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

namespace {

ir::Stmt if_any(const Ring& ring, const ir::Expr& iteration, const RingPart& part, const ir::Bounds& ranges) {
  const ir::Expr exists = ir::simplify(iteration < ring.trips, ranges);
  if (ir::is_int(exists, 0)) return ir::seq({});
  return ir::is_int(exists, 1) ? part(iteration) : ir::if_then(exists, part(iteration));
}

ir::Stmt commit(const Ring& ring) { return ring.later ? ir::sync(ir::SyncOp::kCommit) : ir::seq({}); }

ir::Stmt meet(const Ring& ring) { return ir::sync(ring.in_cluster ? ir::SyncOp::kCluster : ir::SyncOp::kBlock); }

ir::AsyncCall on_barriers(const Ring& ring, const ir::Buffer& barriers, ir::AsyncOp op, const ir::Expr& turn) {
  ir::AsyncCall call;
  call.op = op;
  call.slots = ring.slots;
  call.turn = turn;
  call.ring = {barriers, {ir::Expr(0)}, !!turn, true};
  return call;
}

}  // namespace

ir::Stmt by_one(const ir::Stmt& stmt) { return ir::loop(ir::Var("one"), 1, stmt, ir::ForKind::kCooperative); }

ir::Stmt with_barriers(const Ring& ring, const ir::Stmt& all, bool again) {
  if (!ring.full) return all;
  std::vector<ir::Stmt> made = {ir::async_stmt(on_barriers(ring, ring.full, ir::AsyncOp::kInit, {}))};
  if (ring.free) {
    ir::AsyncCall call = on_barriers(ring, ring.free, ir::AsyncOp::kInit, {});
    call.arrivals = ring.readers;
    made.push_back(ir::async_stmt(call));
  }
  const ir::Stmt begin = by_one(ir::seq(std::move(made)));
  if (ring.in_cluster) return ir::seq({begin, meet(ring), all, meet(ring)});
  if (!again) return ir::seq({begin, meet(ring), all});
  return ir::seq({begin, meet(ring), all, meet(ring),
                  by_one(ir::async_stmt(on_barriers(ring, ring.full, ir::AsyncOp::kEnd, {})))});
}

ir::Stmt first_parts(const Ring& ring, const RingPart& part, bool again, const ir::Bounds& known) {
  const ir::Var slot("slot");
  ir::Bounds ranges = known;
  ranges[slot.id()] = {0, ring.slots - 2};
  const ir::Expr which = ring.slots == 2 ? ir::Expr(0) : ir::Expr(slot);
  ir::Stmt all = ir::seq({if_any(ring, which, part, ranges), commit(ring)});
  if (ring.slots > 2) all = ir::loop(slot, ring.slots - 1, all);
  return again ? ir::seq({meet(ring), all}) : all;
}

ir::Stmt ring_iteration(const Ring& ring, const RingPart& part, const ir::Expr& turn, const ir::Stmt& rest) {
  std::vector<ir::Stmt> all;
  if (ring.later) all.push_back(ir::sync(ir::SyncOp::kWait, ring.slots - 2));
  all.push_back(ring.fence);
  all.push_back(meet(ring));
  all.push_back(if_any(ring, turn + ir::Expr(ring.slots - 1), part, {}));
  all.push_back(commit(ring));
  all.push_back(rest);
  return ir::seq(std::move(all));
}

ir::Stmt iteration_behind(const Ring& ring, const RingPart& part, const ir::Expr& turn) {
  return ir::seq({meet(ring), if_any(ring, turn + ir::Expr(ring.slots - 1), part, {})});
}

ir::Stmt wait_for_turn(const Ring& ring, const ir::Expr& turn) {
  return ring.full ? ir::async_stmt(on_barriers(ring, ring.full, ir::AsyncOp::kWait, turn)) : ir::seq({});
}

ir::Stmt say_read(const Ring& ring, const ir::Expr& turn) {
  ir::AsyncCall call = on_barriers(ring, ring.free, ir::AsyncOp::kArrive, turn);
  call.in_cluster = ring.in_cluster;
  return ir::async_stmt(call);
}

ir::Stmt filled(const Ring& ring, const RingPart& part) {
  const ir::Var turn("turn");
  const ir::Expr before = ir::Expr(turn) - ir::Expr(ring.slots);
  const ir::Stmt wait = ir::async_stmt(on_barriers(ring, ring.free, ir::AsyncOp::kWait, before));
  return ir::loop(turn, ring.trips, ir::seq({wait, part(turn)}));
}

ir::Stmt arriving(const ir::Stmt& stmt, const std::vector<ir::Buffer>& buffers, ir::Arrival arrival) {
  return ir::rewrite(
      stmt,
      [&](const ir::Stmt& s) {
        const auto* st = ir::as<ir::Store>(s);
        if (st == nullptr || std::ranges::find(buffers, st->buffer) == buffers.end()) return s;
        return ir::store(st->buffer, st->at, st->value, st->pred, arrival);
      },
      [](const ir::Expr& e) { return e; });
}

}  // namespace tw::schedule
