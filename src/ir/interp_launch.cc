// Statements of launches, made ready to run.

#include "src/ir/interp_launch.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "src/ir/fields.h"
#include "src/ir/group_products.h"
#include "src/ir/interp_launch_run.h"
#include "src/ir/walk.h"

namespace tw::ir::interp {

namespace {

struct BarrierCode final : StmtCode {
  int number;
  bool of_cluster;
  BarrierCode(int n, bool cluster) : number(n), of_cluster(cluster) {}
  void run(State& s) const override { s.meeting->wait(number, of_cluster); }
};

struct CommitCode final : StmtCode {
  void run(State& s) const override { s.copies.commit(); }
};

struct WaitCode final : StmtCode {
  int64_t count;
  explicit WaitCode(int64_t n) : count(n) {}
  void run(State& s) const override { s.copies.wait(count, s.tasks); }
};

// How deep the trees are that a thread runs through.
class Depth {
 public:
  template <class Node>
  size_t of(const Node& node) {
    if (auto it = known_.find(node.get()); it != known_.end()) return it->second;
    size_t deepest = 0;
    for_each_child(*node, [&](const auto& child) { deepest = std::max(deepest, of(child)); });
    return known_[node.get()] = deepest + 1;
  }

 private:
  std::unordered_map<const void*, size_t> known_;
};

// slot[(k + 2) % 3, i], slot[(k + 2) % 3 * 128 + i]: how many slots there are, and the factor of their number. Where
// slots are counted by two loops, slot[(i + 1) % 2 * 2 + k % 2], nothing: either may be a part of a slot.
struct SlotTerm {
  int64_t slots, factor;
};
std::optional<SlotTerm> slot_term(const Expr& e) {
  if (const auto* r = as<Ramp>(e)) return slot_term(r->base);
  const auto* b = as<Binary>(e);
  if (!b) return {};
  if (b->op == BinOp::kFloorMod) {
    const auto slots = as_int(b->b);
    return slots ? std::optional<SlotTerm>({*slots, 1}) : std::nullopt;
  }
  if (b->op == BinOp::kMul) {
    const auto factor = as_int(b->b);
    auto term = factor ? slot_term(b->a) : std::nullopt;
    if (term) term->factor *= *factor;
    return term;
  }
  if (b->op != BinOp::kAdd && b->op != BinOp::kSub) return {};
  const auto left = slot_term(b->a), right = b->op == BinOp::kAdd ? slot_term(b->b) : std::nullopt;
  if (left && right) return {};
  return left ? left : right;
}

// Elements of a slot, where copies go round all of the memory; 0 where they do not.
int64_t elements_of_slot(const Store& copy) {
  int64_t span = 1;
  for (const Expr& extent : copy.buffer.shape()) {
    const auto known = as_int(extent);
    if (!known) return 0;
    span *= *known;
  }
  const auto term = slot_term(copy.at[0]);
  if (!term || term->slots < 2 || !copy.buffer.strides().empty()) return 0;
  const int64_t whole = copy.at.size() == 1 ? span : *as_int(copy.buffer.shape()[0]);
  return term->slots * term->factor == whole ? span / term->slots : 0;
}

}  // namespace

StmtPtr launch_code(Preparation& preparation, const For& outermost) {
  auto code = std::make_unique<LaunchCode>();
  Stmt body;
  for (const For* f = &outermost; f && is_device_index(f->kind); f = as<For>(body)) {
    auto& indices = is_block(f->kind) ? code->blocks : code->threads;
    indices.push_back({{f->var.name(), preparation.slot_of(f->var, 1)}, f->kind, preparation.expr(f->extent)});
    body = f->body;
  }
  walk(body, [&](const Stmt& s) {
    const auto* a = as<Allocate>(s);
    if (!a) return true;
    const size_t memory = preparation.memory_of(a->buffer);
    (a->buffer.scope() == Scope::kShared ? code->shared : code->local).push_back(memory);
    if (a->buffer.scope() == Scope::kLocal) preparation.own_memory_of_threads(memory);
    return true;
  });
  walk(body, [&](const Stmt& s) {
    const auto* copy = as<Store>(s);
    if (!copy || copy->arrival == Arrival::kNow) return true;
    if (const int64_t slot = elements_of_slot(*copy))
      code->rings.emplace_back(preparation.memory_of(copy->buffer), slot);
    return true;
  });
  walk(body, [&](const Stmt& s) {
    const auto call = group_call(s);
    if (!call || !call->product) return true;
    code->roles.emplace_back(preparation.memory_of(call->sums.buffer), Memory::Role::kSums);
    for (const GroupOperand* operand : {&call->left, &call->right})
      code->roles.emplace_back(preparation.memory_of(operand->at.buffer), Memory::Role::kOperand);
    return true;
  });
  preparation.barriers = preparation.warp_calls = 0;
  code->body = preparation.stmt(body);
  code->has_meetings = preparation.barriers > 0 || preparation.warp_calls > 0;
  code->stack_bytes = (size_t{128} << 10) + (size_t{2} << 10) * Depth().of(body);
  return code;
}

StmtPtr sync_code(Preparation& preparation, const Sync& sync) {
  if (sync.op == SyncOp::kCommit) return std::make_unique<CommitCode>();
  if (sync.op == SyncOp::kWait) return std::make_unique<WaitCode>(sync.count);
  return std::make_unique<BarrierCode>(++preparation.barriers, sync.op == SyncOp::kCluster);
}

}  // namespace tw::ir::interp
