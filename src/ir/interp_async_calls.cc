#include "src/ir/interp_async_calls.h"

#include <optional>

#include "src/ir/async_copies.h"
#include "src/ir/interp_index.h"
#include "src/ir/interp_launch.h"

namespace tw::ir::interp {

namespace {

[[noreturn]] void fail(const std::string& what, std::vector<std::string> notes = {}) {
  throw Fault{ErrorKind::kInternal, "interpret: " + what, std::move(notes)};
}

struct AsyncCode final : ExprCode {
  struct Axis {
    ExprPtr at, extent, stride;
    int64_t box;
  };
  AsyncOp op;
  int64_t slots, bytes, arrivals, swizzle;
  bool in_cluster = false;
  std::optional<Subscripts> ring, to, from;
  ExprPtr turn;
  std::vector<Expr> kept;  // what is prepared is known by its address
  std::vector<Axis> axes;
  int64_t element_bytes = 1;

  Value eval(State& s) const override {
    if (!s.meeting) fail("a copy of a box outside of a launch");
    Memory& memory = *s.memories[ring->memory()];
    const int64_t first = ring->offset(s);
    if (first + slots > memory.span()) fail(memory.name() + " has no room for " + std::to_string(slots) + " barriers");
    if (op == AsyncOp::kInit || op == AsyncOp::kEnd) {
      for (int64_t i = 0; i < slots; ++i) {
        memory.store(first + i, Value{}, s.tasks);
        const Barriers::Turn barrier{&memory, first + i, slots, i};
        op == AsyncOp::kInit ? s.barriers.init(barrier, arrivals) : s.barriers.end(barrier);
      }
      return {};
    }
    const int64_t number = turn->eval(s).i;
    if (in_cluster) return in_all_blocks(s, first, number);
    if (op == AsyncOp::kWait && number < 0 && number >= -slots) return {};
    if (number < 0) fail("turn " + std::to_string(number) + " of " + memory.name() + ", which begin with 0");
    const Barriers::Turn now{&memory, first + number % slots, slots, number};
    memory.load(now.at, s.tasks);
    if (op == AsyncOp::kExpect) s.barriers.expect(now, bytes, s.seen);
    if (op == AsyncOp::kLoad) s.barriers.copy(now, box(s, *s.memories[to->memory()]), s.tasks);
    if (op == AsyncOp::kArrive) {
      s.meeting->arrive(now);
      s.meeting->let_go_on();
    }
    if (op != AsyncOp::kWait) return {};
    while (!s.barriers.is_over(now)) s.meeting->wait_for(now);
    s.barriers.see(now, s.seen);
    s.meeting->know(now);
    return {};
  }

  // The same place and barrier of each block.
  Value in_all_blocks(State& s, int64_t first, int64_t number) const {
    if (number < 0) fail("turn " + std::to_string(number) + " of the barriers of a cluster, which begin with 0");
    for (size_t block = 0; block < s.meeting->blocks(); ++block) {
      s.meeting->reach(block);
      Memory& theirs = s.meeting->memory_of(block, ring->memory());
      const Barriers::Turn now{&theirs, first + number % slots, slots, number};
      if (now.at >= theirs.span()) fail(theirs.name() + " of another block of the cluster is not there yet");
      theirs.load(now.at, s.tasks);
      if (op == AsyncOp::kArrive) s.meeting->arrive(now);
      if (op == AsyncOp::kLoad) s.barriers.copy(now, box(s, s.meeting->memory_of(block, to->memory())), s.tasks);
    }
    s.meeting->reach(std::nullopt);
    s.meeting->let_go_on();
    return {};
  }

  Barriers::Box box(State& s, Memory& target) const {
    Memory& source = *s.memories[from->memory()];
    const int64_t begin = to->offset(s), base = from->offset(s), unit = box_alignment(swizzle);
    if (begin * element_bytes % unit != 0)
      fail("a box at " + target.element(begin), {"a box begins at a multiple of " + std::to_string(unit) + " bytes"});
    struct Range {
      int64_t at, box, extent, stride;
    };
    std::vector<Range> ranges;
    int64_t count = 1;
    for (const Axis& axis : axes) {
      ranges.push_back({axis.at->eval(s).i, axis.box, axis.extent->eval(s).i, axis.stride->eval(s).i});
      count *= axis.box;
    }
    check(ranges);
    if (begin + count > target.span()) fail("a box at " + target.element(begin) + " leaves its buffer");
    Barriers::Box out;
    out.bytes = count * element_bytes;
    for (int64_t n = 0; n < count; ++n) {
      int64_t rest = n, offset = base;
      bool inside = true;
      for (size_t d = ranges.size(); d-- > 0; rest /= ranges[d].box) {
        const int64_t at = ranges[d].at + rest % ranges[d].box;
        inside = inside && at >= 0 && at < ranges[d].extent;
        offset += at * ranges[d].stride;
      }
      if (inside && (offset < 0 || offset >= source.span())) fail("a box reads outside of " + source.name());
      const int64_t place = swizzled_address(swizzle, (begin + n) * element_bytes) / element_bytes;
      out.elements.push_back({{&target, place}, inside ? source.load(offset, s.tasks) : Value{}});
      if (inside) out.sources.push_back({&source, offset});
    }
    return out;
  }

  template <class Ranges>
  void check(const Ranges& ranges) const {
    for (const auto& r : ranges)
      if (r.box > kMostOfBox)
        fail("a box of " + std::to_string(r.box) + " elements along a dimension", {"at most 256"});
    if (ranges.back().box * element_bytes % kBoxUnit != 0)
      fail("a box whose rows have " + std::to_string(ranges.back().box * element_bytes) + " bytes",
           {"a multiple of 16 bytes is copied"});
    for (size_t d = 0; d + 1 < ranges.size(); ++d)
      if (ranges[d].stride * element_bytes % kBoxUnit != 0)
        throw Fault{
            ErrorKind::kArgument,
            "interpret: a box of rows that are " + std::to_string(ranges[d].stride * element_bytes) + " bytes apart",
            {"a multiple of 16 bytes is what a device takes"}};
  }
};

}  // namespace

ExprPtr async_code(Preparation& preparation, const CallExtern& c) {
  ++preparation.warp_calls;  // threads may wait for each other
  const AsyncCall call = async_call(c);
  auto code = std::make_shared<AsyncCode>();
  const auto expr = [&](const Expr& e) {
    code->kept.push_back(e);
    return preparation.expr(e);
  };
  code->op = call.op;
  code->slots = call.slots;
  code->bytes = call.bytes;
  code->arrivals = call.arrivals;
  code->swizzle = call.swizzle;
  code->in_cluster = call.in_cluster;
  code->ring.emplace(preparation, call.ring.buffer, call.ring.at);
  if (call.turn) code->turn = expr(call.turn);
  if (call.op != AsyncOp::kLoad) return code;
  code->to.emplace(preparation, call.to.buffer, call.to.at);
  code->from.emplace(preparation, call.from.buffer, call.from.at);
  code->element_bytes = call.to.buffer.element().bytes();
  for (const BoxAxis& axis : call.axes)
    code->axes.push_back({expr(axis.at), expr(axis.extent), expr(axis.stride), axis.box});
  return code;
}

}  // namespace tw::ir::interp
