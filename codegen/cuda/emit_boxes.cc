// Copies of boxes: the tensor maps that they need, and their statements.
#include <algorithm>

#include "codegen/cuda/emitter.h"
#include "src/ir/equal.h"
#include "src/ir/interval.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/target/cuda.h"

namespace tw::codegen {

using ir::AsyncCall;
using ir::AsyncOp;
using ir::Expr;
using runtime::cuda::Formula;
using runtime::cuda::OperandKind;

namespace {

constexpr int64_t kAligned = 16;
constexpr int64_t kWarp = 32;  // threads, of which one arrives for all

bool alike(const AsyncCall& a, const AsyncCall& b) {
  return a.from.buffer == b.from.buffer && a.swizzle == b.swizzle &&
         std::ranges::equal(a.axes, b.axes, [](const ir::BoxAxis& x, const ir::BoxAxis& y) {
           return x.box == y.box && ir::equal(x.extent, y.extent) && ir::equal(x.stride, y.stride);
         });
}

}  // namespace

int64_t CudaEmitter::alignment_of(const ir::Buffer& shared) const {
  const auto found = boxes_.find(shared.id());
  return found == boxes_.end() ? kAligned : found->second;
}

// Boxes of one kind of one array have a map in common.
void CudaEmitter::plan_boxes(const ir::Program& program, const DeviceLaunch& launch, const ir::Stmt& body,
                             runtime::cuda::Launch& out) {
  maps_.clear();
  boxes_.clear();
  ir::Substitution lets;
  for (const auto& [var, value] : launch.lets) lets[var.id()] = value;
  const auto formula = [&](const Expr& e) {
    return Formula::of(lets.empty() ? e : ir::substitute(e, lets), program.scalars).value_or_throw();
  };
  ir::walk(body, [&](const ir::Stmt& s) {
    const auto call = ir::async_call(s);
    if (!call || call->op != AsyncOp::kLoad) return true;
    TW_CHECK(ir::is_int(call->from.at[0], 0), "a box of a tensor that does not begin where its array does");
    int64_t& aligned = boxes_[call->to.buffer.id()];
    aligned = std::max(aligned, ir::box_alignment(call->swizzle));
    if (std::ranges::any_of(maps_, [&](const Boxes& b) { return alike(b.load, *call); })) return true;
    maps_.push_back({*call, names_.fresh(call->from.buffer.name() + "_map")});
    const auto is_it = [&](const ir::Param& p) { return p.buffer == call->from.buffer; };
    const auto param = std::ranges::find_if(program.params, is_it);
    const auto scratch = std::ranges::find(scratch_, call->from.buffer);
    runtime::cuda::TensorMap map;
    map.of = param != program.params.end()
                 ? runtime::cuda::Operand{OperandKind::kArgument, static_cast<size_t>(param - program.params.begin())}
                 : runtime::cuda::Operand{OperandKind::kScratch, static_cast<size_t>(scratch - scratch_.begin())};
    map.element_bytes = call->from.buffer.element().bytes();
    map.swizzle = call->swizzle;
    for (const ir::BoxAxis& axis : call->axes) {
      map.extents.push_back(formula(axis.extent));
      map.strides.push_back(formula(axis.stride));
      map.box.push_back(axis.box);
    }
    if (param != program.params.end()) {
      int& argument = plans_.back().alignment[map.of.number];
      argument = std::max<int>(argument, kAligned);
    }
    out.maps.push_back(std::move(map));
    return true;
  });
  if (!maps_.empty() && target::cuda::capability_of(target_.arch).major < 9)
    throw Error({ErrorKind::kTarget,
                 "build: " + program.name + ": boxes of " + maps_[0].load.from.buffer.name() +
                     " are copied by tma, which devices have from sm_90 on, not " + target_.arch,
                 {},
                 {"pipeline(.., by=\"cp.async\"), or build for sm_90a"}});
  if (!maps_.empty()) instruction("tensor_map");
}

std::string CudaEmitter::map_parameter(size_t number) const {
  return "const __grid_constant__ TensorMap " + maps_[number].name;
}

void CudaEmitter::emit_async(const AsyncCall& call) {
  const Expr slots = call.slots;
  const auto simple = [&](const Expr& e) { return ir::simplify(e, bounds_); };
  // Turns before the first have the places and parities of those two rounds later.
  const auto from_zero = [&](const Expr& turn, const Expr& round) {
    return ir::interval_of(simple(turn), bounds_).lo < 0 ? turn + round * 2 : turn;
  };
  Expr at = call.ring.at[0];
  if (call.turn) at = simple(at + floormod(from_zero(call.turn, slots), slots));
  std::vector<Expr> values = {at};
  if (call.op == AsyncOp::kLoad) values.push_back(call.to.at[0]);
  if (call.op == AsyncOp::kWait) values.push_back(simple(floormod(floordiv(from_zero(call.turn, slots), slots), 2)));
  for (auto axis = call.axes.rbegin(); axis != call.axes.rend(); ++axis) values.push_back(axis->at);
  begin_statement(values);
  const std::string barrier = "&" + access(call.ring.buffer, {at});
  switch (call.op) {
    case AsyncOp::kInit:
      return line(instruction("mbarrier_init") + "(" + barrier + ", " + std::to_string(call.slots) + ", " +
                  std::to_string(std::max<int64_t>(1, call.arrivals / kWarp)) + ");");
    case AsyncOp::kEnd:
      return line(instruction("mbarrier_inval") + "(" + barrier + ", " + std::to_string(call.slots) + ");");
    case AsyncOp::kExpect:
      return line(instruction("mbarrier_expect") + "(" + barrier + ", " + std::to_string(call.bytes) + ");");
    case AsyncOp::kArrive:
      if (call.in_cluster)
        return line(instruction("mbarrier_arrive_cluster") + "(" + barrier + ", " + std::to_string(in_cluster_) + ");");
      return line(instruction("mbarrier_arrive") + "(" + barrier + ");");
    case AsyncOp::kWait:
      return line(instruction(in_cluster_ > 1 ? "mbarrier_wait_cluster" : "mbarrier_wait") + "(" + barrier + ", " +
                  argument(values[1]) + ");");
    case AsyncOp::kLoad:
      break;
  }
  const auto map = std::ranges::find_if(maps_, [&](const Boxes& b) { return alike(b.load, call); });
  std::string text =
      instruction((call.in_cluster ? "tma_multicast_" : "tma_load_") + std::to_string(call.axes.size()) + "d") + "(&" +
      access(call.to.buffer, {values[1]}) + ", &" + map->name;
  for (size_t i = 2; i < values.size(); ++i) text += ", " + argument(values[i]);
  const std::string to_all = ", " + std::to_string((1 << in_cluster_) - 1);
  line(text + ", " + barrier + (call.in_cluster ? to_all : "") + ");");
}

}  // namespace tw::codegen
