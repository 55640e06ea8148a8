// A program prepared for running: trees of small nodes with variables and buffers resolved to numbers.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/ir/interp.h"
#include "src/ir/interp_async.h"
#include "src/ir/interp_copies.h"
#include "src/ir/interp_group.h"
#include "src/ir/interp_memory.h"
#include "src/ir/interp_value.h"
#include "tensorwright/ir.h"

namespace tw::ir::interp {

struct ForNode {
  std::string name;
  size_t slot;
};

// What each thread of a launch has for itself.
struct ThreadState {
  std::vector<Value> slots;       // of variables; a vector variable has one slot per lane
  std::vector<Memory*> memories;  // by number
  std::vector<uint32_t> entered;  // by number of the memory that a block shares: how often the thread has come there
  std::vector<const ForNode*> loops;  // those that run, outermost first
  int64_t thread = 0;                 // its number in the block
  Copies copies;
  std::vector<const void*> seen;  // of what barriers count, since the last barrier of the block
  GroupSums sums;
  uint32_t fences = 0;         // of registers, so far
  std::vector<Stored> stored;  // to operands of a group's products, since the last fence
};

// Everything that changes while a program runs: of the thread that runs, and what all have in common.
struct State : ThreadState {
  std::deque<Memory> own;  // of all but threads that wait for each other, who have their local memory themselves
  Tasks tasks;
  Barriers barriers;  // of the block
  InterpOptions::Order order = InterpOptions::Order::kAscending;
  uint64_t seed = 0;
  int64_t threads = 1;                // of a block
  struct Meeting* meeting = nullptr;  // of the threads that wait for each other
  int lane = 0;
  // Values of shared nodes are kept while these do not change: `statement` for scalars, `lane_epoch` for vectors.
  uint64_t clock = 1, statement = 1, lane_epoch = 1;
  int64_t steps = 0, max_steps = 0;

  void forget() { statement = lane_epoch = ++clock; }
  void next_lane(int to) {
    lane = to;
    lane_epoch = ++clock;
  }
};

struct ExprCode {
  virtual ~ExprCode() = default;
  virtual Value eval(State&) const = 0;  // of the lane that the state names
};
using ExprPtr = std::shared_ptr<const ExprCode>;

struct StmtCode {
  virtual ~StmtCode() = default;
  virtual void run(State&) const = 0;
};
using StmtPtr = std::unique_ptr<const StmtCode>;

// Resolves names while trees are made.
class Preparation {
 public:
  size_t slot_of(const Var&, int lanes);
  size_t memory_of(const Buffer&);  // the same for all handles of one id
  ExprPtr expr(const Expr&);
  StmtPtr stmt(const Stmt&);
  // Counts how often each node is used, so that shared ones are evaluated once.
  void count_uses(const Stmt&);

  size_t slots() const { return slots_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  void own_memory_of_threads(size_t memory) { of_threads_.insert(memory); }  // nobody else sees it: it has no races
  bool is_of_threads(size_t memory) const { return of_threads_.contains(memory); }
  bool has_parallel() const { return has_parallel_; }
  int barriers = 0, warp_calls = 0;  // of the launch at hand, so far

 private:
  ExprPtr prepare(const Expr&);
  ExprPtr shared(ExprPtr, Type) const;
  ExprPtr subscripts(const Load&, Type);
  void count(const Expr&);

  std::unordered_map<uint64_t, size_t> slot_ids_, memory_ids_;
  std::unordered_map<const ExprNode*, ExprPtr> prepared_;
  std::unordered_map<const ExprNode*, int> uses_;
  std::vector<Buffer> buffers_;
  std::unordered_set<size_t> of_threads_;
  size_t slots_ = 0;
  bool has_parallel_ = false;
};

}  // namespace tw::ir::interp
