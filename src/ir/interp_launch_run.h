// Launches in the interpreter.
//
//   round 1   thread 0 |---->  thread 1 |---->  ..  thread n-1 |---->    each runs up to the barrier where it waits,
//   barrier   all are there: in the same iteration of the loops around   or to its end
//   round 2   thread 0 |---->  ..
//
// A product of a warp, or a load of one, is where its lanes wait for each other within a round: they go on when all are
// there. That orders nothing else that they do, so that a thread is one task from barrier to barrier.
//
// Whoever is the last to arrive at a turn lets those go on first who wait for it: what it leaves undone is met with.
//
// Each thread is a fiber with variables and local memory of its own. One order of the threads shows all that is wrong
// in any: the first two accesses that race do so whoever is first (Tasks), and a program without races does the same in
// every order. Where a launch has no barrier its threads run to their ends one after the other, without fibers.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/ir/interp_launch.h"
#include "src/ir/interp_launch_points.h"
#include "src/ir/interp_warp.h"
#include "src/support/fiber.h"

namespace tw::ir::interp {

struct LaunchCode final : StmtCode {
  std::vector<LaunchIndex> blocks, threads;  // outermost first
  StmtPtr body;
  bool has_meetings = false;
  std::vector<size_t> shared, local;  // memories
  std::vector<std::pair<size_t, Memory::Role>> roles;
  std::vector<std::pair<size_t, int64_t>> rings;  // memories, and the elements of a slot
  size_t stack_bytes = 0;                         // for a thread

  void run(State&) const override;
};

class Launch final : public ThreadNames, public TaskOrder, public Meeting {
 public:
  Launch(const LaunchCode& code, State& s);
  ~Launch() override;

  void run();

  void wait(int barrier, bool of_cluster) override {
    running_->barrier = barrier;
    running_->barrier_of_cluster = of_cluster;
    running_->fiber->wait();
  }
  void meet(LaneCall& call) override {
    running_->call = &call;
    running_->fiber->wait();
  }
  void wait_for(const Barriers::Turn& turn) override {
    running_->turn = &turn;
    running_->fiber->wait();
  }

  void arrive(const Barriers::Turn& turn) override;
  void let_go_on() override;
  void hold_registers(int64_t count) override;
  void know(const Barriers::Turn& turn) override;
  bool precedes(uint32_t task) const override;

  size_t blocks() const override { return static_cast<size_t>(cluster_); }
  Memory& memory_of(size_t block, size_t memory) override {
    const auto at = std::ranges::find(code_.shared, memory) - code_.shared.begin();
    return memory_of_block(static_cast<int64_t>(block), static_cast<size_t>(at));
  }
  void reach(std::optional<size_t> block) override {
    s_.tasks.elsewhere = block && *block != index_of(*running_) / static_cast<size_t>(threads_.count());
    reached_ = s_.tasks.now();
  }

  std::string name(uint32_t task) const override;
  std::string missing_order(uint32_t a, uint32_t b) const override;

 private:
  // What the threads of a block do between two barriers.
  struct Round {
    uint32_t before;  // the last task before
    int64_t cluster;
  };
  struct Member {
    int64_t block, thread;
    size_t number;  // among all of the cluster
  };
  struct Thread {
    ThreadState state;  // while it does not run
    std::deque<Memory> local;
    std::unique_ptr<support::Fiber> fiber;
    int barrier = 0;  // where it waits; 0: it has ended, or waits for its warp
    bool barrier_of_cluster = false;
    LaneCall* call = nullptr;
    const Barriers::Turn* turn = nullptr;
    bool lets_go_on = false;  // others go on first: nothing else keeps it
    int64_t registers = 0;    // that it holds
    int64_t takes = 0;        // that it waits for
    uint32_t task = 0;        // that runs, of the round
    bool waits_for_others() const { return turn || takes > 0; }
  };

  std::vector<int64_t> in_order(int64_t n, uint64_t turn) const;

  // Of the cluster, a block after the other.
  int64_t count_of_team() const { return cluster_ * threads_.count(); }
  Member member(int64_t cluster, int64_t number) const {
    return {blocks_.of_cluster(cluster, number / threads_.count()), number % threads_.count(),
            static_cast<size_t>(number)};
  }
  // Of the first block they are where all blocks of other launches have theirs.
  Memory& memory_of_block(int64_t block, size_t shared) {
    if (block == 0) return *first_[shared];
    return others_[static_cast<size_t>(block - 1)][shared];
  }

  const std::vector<int64_t>& begin_round(int64_t cluster);
  Member thread_of(uint32_t task) const;
  void run_through(int64_t block);
  void run_by_rounds(int64_t cluster);
  void make_team();
  void begin(Thread& thread, const Member& who);
  void run_body();

  std::vector<Thread*> may_go_on(const std::vector<int64_t>& order);
  // Those that waited for the others of their warp, or of their four warps, and do no longer.
  std::vector<Thread*> meet_in_warps(const std::vector<int64_t>& order);

  // Of so many threads of a block that meet, the first, and those that there are.
  size_t begin_of_group(size_t thread, size_t count) const {
    const size_t block = begin_of_block(thread);
    return block + (thread - block) / count * count;
  }
  size_t begin_of_block(size_t thread) const {
    const auto threads = static_cast<size_t>(threads_.count());
    return thread / threads * threads;
  }
  size_t end_of_warp(size_t first) const {
    return std::min(first + kLanesOfWarp, begin_of_block(first) + static_cast<size_t>(threads_.count()));
  }
  std::span<Thread> together_from(size_t first, size_t count) {
    const size_t end = begin_of_block(first) + static_cast<size_t>(threads_.count());
    return std::span(team_).subspan(first, std::min(count, end - first));
  }
  size_t index_of(const Thread& thread) const { return static_cast<size_t>(&thread - team_.data()); }

  // Whether one of several warps is at a call of its own, from which it goes on to where the others are.
  static bool other_warps_meet(std::span<const Thread> those, size_t count);

  // A mistake leaves the thread's state where it is found, to name the place.
  void resume(Thread& thread);

  // Whether there is another round.
  bool have_met() const;

  static int call_of(const Thread& thread) { return thread.call ? thread.call->number : 0; }

  // At one barrier or call of a warp, with equal loops of the body around it; or both at the end.
  bool met(const Thread& a, const Thread& b) const;

  std::ptrdiff_t outside_body() const { return std::ssize(s_.loops) + std::ssize(code_.threads); }

  // "k = 1, s = 0": the loops of the body.
  std::string place(const Thread& thread) const;
  std::string waits_at(const Thread& thread) const;
  std::string why_nobody_goes_on(const Thread& stuck) const;
  [[noreturn]] void fail_to_meet(std::span<const Thread> those) const;

  const LaunchCode& code_;
  State& s_;
  Points blocks_, threads_;
  const int64_t cluster_;                   // blocks that run at once
  std::vector<Memory*> first_;              // what threads of the first of them share
  std::vector<std::deque<Memory>> others_;  // and of each other one
  uint32_t reached_ = 0;                    // the last task that touched what another has
  std::vector<Round> rounds_;
  std::vector<int64_t> order_;                  // of the threads in the last of them
  std::unordered_map<uint32_t, Member> parts_;  // further tasks of threads that arrive at turns
  std::vector<Barriers::Knowledge> known_;      // to each thread, since the last barrier; empty: nobody has arrived
  std::vector<Thread> team_;
  std::vector<int64_t> spare_;  // registers of each block of the cluster that no thread holds
  bool last_to_arrive_ = false;
  Thread* running_ = nullptr;
};

}  // namespace tw::ir::interp
