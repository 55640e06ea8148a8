// Each element of an operand is read by two lanes, of different warps, so that whoever writes it without a barrier in
// between meets one who is not himself.

#include "src/ir/interp_group_calls.h"

#include <optional>

#include "src/ir/async_copies.h"
#include "src/ir/group_products.h"
#include "src/ir/interp_index.h"
#include "src/ir/interp_launch.h"
#include "src/ir/interp_warp.h"
#include "src/ir/tf32.h"

namespace tw::ir::interp {

namespace {

[[noreturn]] void fail(const std::string& what, std::vector<std::string> notes = {}) {
  throw Fault{ErrorKind::kInternal, "interpret: " + what, std::move(notes)};
}

struct GroupCode final : ExprCode {
  GroupCall call;
  int number = 0;
  std::optional<Subscripts> sums, left, right;

  Value eval(State& s) const override {
    if (!s.meeting) fail("a call of a group of warps outside of a launch");
    switch (call.op) {
      case GroupOp::kFence:
        ++s.fences;
        break;
      case GroupOp::kAsyncFence:
        for (const Stored& stored : s.stored) stored.memory->fenced(stored, s.tasks);
        s.stored.clear();
        break;
      case GroupOp::kCommit:
        s.sums.commit();
        break;
      case GroupOp::kWait:
        s.sums.wait(call.count, s.tasks);
        break;
      case GroupOp::kGiveRegisters:
      case GroupOp::kTakeRegisters:
        s.meeting->hold_registers(call.count);
        break;
      case GroupOp::kProduct:
        multiply(s);
    }
    return {};
  }

  void multiply(State& s) const {
    const WarpProduct& product = *call.product;
    Memory& to = *s.memories[sums->memory()];
    LaneCall lane{product.name, number, &product};
    lane.terms_along_lines = {call.left.along_lines, call.right.along_lines};
    lane.offsets[0] = sums->offset(s);
    const auto count = static_cast<size_t>(elements_of(product, Fragment::kSum));
    if (lane.offsets[0] + static_cast<int64_t>(count) > to.span())
      fail(std::string(product.name) + ": " + to.name() + " has no room for " + std::to_string(count) + " sums");
    const std::vector<Value>* under_way = s.sums.under_way(to, lane.offsets[0], count);
    for (size_t i = 0; i < count; ++i) {
      const int64_t at = lane.offsets[0] + static_cast<int64_t>(i);
      if (!under_way) to.expect_fenced_register(at, s.fences, product.name);
      lane.fragments[0].push_back(under_way ? (*under_way)[i] : to.load(at, s.tasks));
    }
    std::vector<Element> sources;
    read(s, *left, call.left, Fragment::kLeft, lane, sources);
    read(s, *right, call.right, Fragment::kRight, lane, sources);
    s.meeting->meet(lane);
    s.sums.begin(to, lane.offsets[0], std::move(lane.fragments[0]), s.tasks);
    s.sums.reads(std::move(sources));
  }

  void read(State& s, const Subscripts& at, const GroupOperand& operand, Fragment which, LaneCall& lane,
            std::vector<Element>& sources) const {
    const WarpProduct& product = *call.product;
    Memory& memory = *s.memories[at.memory()];
    const auto f = static_cast<size_t>(which);
    const int64_t bytes = product.operand.bytes(), begin = at.offset(s) * bytes;
    lane.offsets[f] = begin;
    const GroupLines lines = lines_of(product, operand, which);
    const auto wrong = [&](const std::string& rule) {
      fail(std::string(product.name) + " of an operand from " + memory.element(begin / bytes) + " on", {rule});
    };
    if (begin % kBoxUnit != 0) wrong("it begins at a multiple of 16 bytes");
    if (begin / operand.line % kLinesOfAtom != 0) wrong("it begins at a line that is a multiple of eight");
    if (begin % operand.line + lines.elements * bytes > operand.line) wrong("it leaves its lines");
    const int64_t last = begin / operand.line + (lines.panels - 1) * operand.apart + lines.count;
    if (last * operand.line > memory.span() * bytes) wrong("it leaves its buffer");
    constexpr int64_t kReaders = kLanesOfGroup / 2;
    const int64_t of_step = lines.elements * lines.panels;
    for (int64_t n = s.thread % kReaders; n < lines.count * of_step; n += kReaders) {
      const int64_t element = n % of_step, line = n / of_step + element / lines.elements * operand.apart;
      const int64_t byte = begin + line * operand.line + element % lines.elements * bytes;
      const int64_t place = swizzled_address(operand.line, byte) / bytes;
      memory.expect_fenced(place, product.name, s.tasks);
      const Value value = memory.load(place, s.tasks);
      const auto x = static_cast<float>(value.f);
      if (product.operand.bits == 32 && x == x && to_tf32(x) != x)
        fail(std::string(product.name) + " reads " + memory.element(place), {"it is not rounded to 11 bits"});
      lane.fragments[f].push_back(value);
      sources.push_back({&memory, place});
    }
  }
};

}  // namespace

ExprPtr group_code(Preparation& preparation, const CallExtern& c) {
  auto code = std::make_shared<GroupCode>();
  code->call = group_call(c);
  code->number = ++preparation.warp_calls;
  if (!code->call.product) return code;
  code->sums.emplace(preparation, code->call.sums.buffer, code->call.sums.at);
  code->left.emplace(preparation, code->call.left.at.buffer, code->call.left.at.at);
  code->right.emplace(preparation, code->call.right.at.buffer, code->call.right.at.at);
  return code;
}

}  // namespace tw::ir::interp
