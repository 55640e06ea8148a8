#include "src/ir/async_copies.h"

#include <algorithm>

namespace tw::ir {

namespace {

struct Name {
  std::string_view symbol;
  AsyncOp op;
  size_t args;  // without those of a load's dimensions
  bool in_cluster = false;
};
constexpr Name kNames[] = {{"mbarrier.init", AsyncOp::kInit, 2},
                           {"mbarrier.inval", AsyncOp::kEnd, 2},
                           {"mbarrier.expect", AsyncOp::kExpect, 4},
                           {"mbarrier.wait", AsyncOp::kWait, 3},
                           {"mbarrier.arrive", AsyncOp::kArrive, 3},
                           {"tma.load", AsyncOp::kLoad, 6},
                           {"mbarrier.arrive.cluster", AsyncOp::kArrive, 3, true},
                           {"tma.multicast", AsyncOp::kLoad, 6, true}};
constexpr size_t kOfAxis = 4;
constexpr int64_t kLanes = 32;  // of a warp

const Name* name_of(std::string_view symbol) {
  const auto* found = std::ranges::find(kNames, symbol, &Name::symbol);
  return found == std::end(kNames) ? nullptr : found;
}

const CallExtern* call_in(const Stmt& s) {
  const auto* e = as<Evaluate>(s);
  const auto* c = e ? as<CallExtern>(e->value) : nullptr;
  return c && is_async(c->symbol) ? c : nullptr;
}

std::string ring_fault(const Expr& arg, const Expr& slots) {
  const auto* ring = as<Address>(arg);
  if (!ring || ring->buffer.scope() != Scope::kShared || ring->buffer.element() != Type::u(64) || !ring->written)
    return "a ring of uint64 in shared memory expected, not " + to_string(arg);
  const auto count = as_int(slots);
  return count && *count > 0 ? "" : "a number of barriers from 1 on expected, not " + to_string(slots);
}

std::string box_fault(const CallExtern& c) {
  const auto *to = as<Address>(c.args[0]), *from = as<Address>(c.args[1]);
  if (!to || to->buffer.scope() != Scope::kShared || to->read || !to->written)
    return "out of shared memory expected, not " + to_string(c.args[0]);
  if (!from || from->buffer.scope() > Scope::kGlobal || !from->read || from->written)
    return "in of memory of the device expected, not " + to_string(c.args[1]);
  const Type type = to->buffer.element();
  if (type != from->buffer.element() || type.is_packed())
    return "whole elements of one type expected, not " + to_string(type) + " and " + to_string(from->buffer.element());
  const size_t axes = (c.args.size() - 6) / kOfAxis;
  if ((c.args.size() - 6) % kOfAxis != 0 || axes < 1 || axes > static_cast<size_t>(kMostBoxAxes))
    return "one to five dimensions of four numbers each expected";
  for (size_t d = 0; d < axes; ++d)
    if (const auto box = as_int(c.args[6 + d * kOfAxis + 1]); !box || *box < 1)
      return "boxes of constant sizes expected";
  if (!is_int(c.args.back(), 1)) return "neighbours in the last dimension expected";
  const auto swizzle = as_int(c.args[5]);
  if (!swizzle || std::ranges::find(kSwizzles, *swizzle) == std::end(kSwizzles))
    return "a swizzle of 0, 32, 64 or 128 bytes expected, not " + to_string(c.args[5]);
  const int64_t row = *as_int(c.args[c.args.size() - 3]) * type.bytes();
  return *swizzle == 0 || *swizzle == row ? ""
                                          : "rows of " + std::to_string(*swizzle) + " bytes expected, not " +
                                                std::to_string(row) + ": as many as are swizzled";
}

}  // namespace

bool is_async(std::string_view symbol) { return name_of(symbol) != nullptr; }
bool is_async(const Stmt& s) { return call_in(s) != nullptr; }
bool is_wait(const Stmt& s) {
  const CallExtern* c = call_in(s);
  return c && name_of(c->symbol)->op == AsyncOp::kWait;
}

bool reaches_cluster(std::string_view symbol) {
  const Name* name = name_of(symbol);
  return name && name->in_cluster;
}
bool reaches_cluster(const Stmt& s) {
  const CallExtern* c = call_in(s);
  return c && reaches_cluster(c->symbol);
}

std::string async_fault(const CallExtern& c) {
  const Name& name = *name_of(c.symbol);
  const bool load = name.op == AsyncOp::kLoad;
  const bool counts = name.op == AsyncOp::kInit && c.args.size() == name.args + 1;
  if (c.args.size() < name.args || (c.args.size() > name.args && !load && !counts))
    return std::to_string(name.args) + " arguments expected, not " + std::to_string(c.args.size());
  const size_t ring = load ? 2 : 0;
  for (size_t i = 0; i < c.args.size(); ++i)
    if (!(i == ring || (load && i < 2)) && c.args[i].type() != Type::index())
      return "an index expected, not " + to_string(c.args[i]);
  if (std::string fault = ring_fault(c.args[ring], c.args[ring + 1]); !fault.empty()) return fault;
  if (name.op == AsyncOp::kExpect && !as_int(c.args[3])) return "a number of bytes expected";
  if (counts)
    if (const auto threads = as_int(c.args[2]); !threads || *threads < 1 || *threads % kLanes != 0)
      return "a number of threads, of whole warps, expected, not " + to_string(c.args[2]);
  return load ? box_fault(c) : "";
}

AsyncCall async_call(const CallExtern& c) {
  AsyncCall out;
  out.op = name_of(c.symbol)->op;
  out.in_cluster = name_of(c.symbol)->in_cluster;
  const size_t ring = out.op == AsyncOp::kLoad ? 2 : 0;
  out.ring = *as<Address>(c.args[ring]);
  out.slots = *as_int(c.args[ring + 1]);
  if (out.op != AsyncOp::kInit && out.op != AsyncOp::kEnd) out.turn = c.args[ring + 2];
  if (out.op == AsyncOp::kExpect) out.bytes = *as_int(c.args[3]);
  if (out.op == AsyncOp::kInit && c.args.size() == 3) out.arrivals = *as_int(c.args[2]);
  if (out.op != AsyncOp::kLoad) return out;
  out.to = *as<Address>(c.args[0]);
  out.from = *as<Address>(c.args[1]);
  out.swizzle = *as_int(c.args[5]);
  for (size_t i = 6; i < c.args.size(); i += kOfAxis)
    out.axes.push_back({c.args[i], *as_int(c.args[i + 1]), c.args[i + 2], c.args[i + 3]});
  return out;
}

std::optional<AsyncCall> async_call(const Stmt& s) {
  const CallExtern* c = call_in(s);
  return c ? std::optional(async_call(*c)) : std::nullopt;
}

Stmt async_stmt(const AsyncCall& call) {
  const auto address = [](const Address& a) { return address_of(a.buffer, a.at, a.read, a.written); };
  std::vector<Expr> args;
  if (call.op == AsyncOp::kLoad) args = {address(call.to), address(call.from)};
  args.push_back(address(call.ring));
  args.emplace_back(call.slots);
  if (call.turn) args.push_back(call.turn);
  if (call.op == AsyncOp::kExpect) args.emplace_back(call.bytes);
  if (call.op == AsyncOp::kInit && call.arrivals > 0) args.emplace_back(call.arrivals);
  if (call.op == AsyncOp::kLoad) args.emplace_back(call.swizzle);
  for (const BoxAxis& axis : call.axes) args.insert(args.end(), {axis.at, Expr(axis.box), axis.extent, axis.stride});
  const auto* name =
      std::ranges::find_if(kNames, [&](const Name& n) { return n.op == call.op && n.in_cluster == call.in_cluster; });
  return evaluate(call_extern(Type::i(32), std::string(name->symbol), std::move(args)));
}

int64_t elements_of(const AsyncCall& load) {
  int64_t count = 1;
  for (const BoxAxis& axis : load.axes) count *= axis.box;
  return count;
}

int64_t box_alignment(int64_t swizzle) { return std::max<int64_t>(128, 8 * swizzle); }

int64_t swizzled_address(int64_t swizzle, int64_t byte) {
  const int64_t parts = swizzle / kBoxUnit;
  return parts < 2 ? byte : byte ^ (byte / 128 % parts) * kBoxUnit;
}

}  // namespace tw::ir
