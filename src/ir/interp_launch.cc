// Statements of launches, made ready to run.

#include "src/ir/interp_launch.h"

#include <algorithm>
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
