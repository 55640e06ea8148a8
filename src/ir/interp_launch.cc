// Launches in the interpreter.
//
//   round 1   thread 0 |---->  thread 1 |---->  ..  thread n-1 |---->    each runs up to the barrier where it waits,
//   barrier   all are there: in the same iteration of the loops around   or to its end
//   round 2   thread 0 |---->  ..
//
// A product of a warp, or a load of one, is where its lanes wait for each other within a round: they go on when all are
// there. That orders nothing else that they do, so that a thread is one task from barrier to barrier.
//
// Each thread is a fiber with variables and local memory of its own. One order of the threads shows all that is wrong
// in any: the first two accesses that race do so whoever is first (Tasks), and a program without races does the same in
// every order. Where a launch has no barrier its threads run to their ends one after the other, without fibers.

#include "src/ir/interp_launch.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "src/ir/fields.h"
#include "src/ir/group_products.h"
#include "src/ir/interp_warp.h"
#include "src/ir/walk.h"
#include "src/support/fiber.h"
#include "src/support/rng.h"

namespace tw::ir::interp {

namespace {

constexpr int64_t kMostThreads = 1024;  // of a block, on every device that there is

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

struct Index {
  ForNode loop;
  ForKind kind;
  ExprPtr extent;
};

struct LaunchCode final : StmtCode {
  std::vector<Index> blocks, threads;  // outermost first
  StmtPtr body;
  bool has_meetings = false;
  std::vector<size_t> shared, local;  // memories
  std::vector<std::pair<size_t, Memory::Role>> roles;
  size_t stack_bytes = 0;  // for a thread

  void run(State&) const override;
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

// Of several indices, the points and their numbers: x counts fastest.
class Points {
 public:
  Points(const std::vector<Index>& indices, State& s) : indices_(indices) {
    for (const Index& index : indices) {
      s.forget();
      extents_[axis(index)] = index.extent->eval(s).i;
    }
    for (const int64_t extent : extents_)
      if (__builtin_mul_overflow(count_, extent, &count_)) count_ = std::numeric_limits<int64_t>::max();
  }

  int64_t count() const { return count_; }
  // Of blocks: how many are a cluster, and the number of one of a cluster.
  int64_t in_cluster() const {
    int64_t blocks = 1;
    for (const Index& index : indices_)
      if (is_cluster(index.kind)) blocks *= extents_[axis(index)];
    return blocks;
  }
  int64_t of_cluster(int64_t cluster, int64_t which) const {
    int64_t below = 1, blocks = 1;
    for (const Index& index : indices_) {
      if (!is_cluster(index.kind)) continue;
      blocks = extents_[axis(index)];
      for (size_t d = 0; d < axis(index); ++d) below *= extents_[d];
    }
    return cluster / below * below * blocks + which * below + cluster % below;
  }
  int64_t at(const Index& index, int64_t number) const {
    for (size_t d = 0; d < axis(index); ++d) number /= extents_[d];
    return number % extents_[axis(index)];
  }
  void enter(int64_t number, ThreadState& s) const {
    for (const Index& index : indices_) {
      s.slots[index.loop.slot].i = at(index, number);
      s.loops.push_back(&index.loop);
    }
  }
  void leave(ThreadState& s) const { s.loops.resize(s.loops.size() - indices_.size()); }
  std::string name(int64_t number) const {
    std::string out;
    for (const Index& index : indices_)
      out += (out.empty() ? "" : ", ") + index.loop.name + " = " + std::to_string(at(index, number));
    return out;
  }

 private:
  static size_t axis(const Index& index) { return static_cast<size_t>(dimension_of(index.kind)); }

  const std::vector<Index>& indices_;
  std::array<int64_t, 3> extents_{1, 1, 1};
  int64_t count_ = 1;
};

class Launch final : public ThreadNames, public TaskOrder, public Meeting {
 public:
  Launch(const LaunchCode& code, State& s)
      : code_(code),
        s_(s),
        blocks_(code.blocks, s),
        threads_(code.threads, s),
        cluster_(code.has_meetings ? blocks_.in_cluster() : 1) {
    if (threads_.count() > kMostThreads)
      throw Fault{ErrorKind::kInternal,
                  "interpret: a block of " + std::to_string(threads_.count()) + " threads",
                  {"a block has at most " + std::to_string(kMostThreads)}};
    s_.tasks.names = this;
    s_.tasks.order = this;
    s_.tasks.seen = &s_.seen;
    s_.tasks.fences = &s_.fences;
    s_.tasks.stored = &s_.stored;
    for (const auto& [memory, role] : code.roles) s_.memories[memory]->set_role(role);
    for (const size_t m : code.shared) first_.push_back(s_.memories[m]);
    for (int64_t block = 1; block < cluster_; ++block) {
      std::deque<Memory>& own = others_.emplace_back();
      for (const Memory* memory : first_) own.push_back(memory->another());
    }
    s_.meeting = this;
    s_.threads = threads_.count();
  }
  ~Launch() override {
    s_.tasks.names = nullptr;
    s_.tasks.order = nullptr;
    s_.tasks.seen = nullptr;
    s_.tasks.fences = nullptr;
    s_.tasks.stored = nullptr;
    s_.meeting = nullptr;
  }

  void run() {
    if (blocks_.count() == 0 || threads_.count() == 0) return;
    s_.tasks.begin_loop();
    for (const int64_t cluster : in_order(blocks_.count() / cluster_, 0)) {
      s_.tasks.begin_iteration();
      for (int64_t block = 0; block < cluster_; ++block) {
        for (size_t m = 0; m < code_.shared.size(); ++m) memory_of_block(block, m).begin_block();
      }
      s_.barriers.begin_block();
      s_.tasks.met = s_.tasks.now();
      blocks_.enter(blocks_.of_cluster(cluster, 0), s_);
      if (code_.has_meetings) {
        run_by_rounds(cluster);
      } else {
        run_through(cluster);
      }
      blocks_.leave(s_);
    }
    s_.tasks.end_loop();
  }

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

  void arrive(const Barriers::Turn& turn) override {
    if (known_.empty()) known_.resize(team_.size());
    Barriers::Knowledge& mine = known_[index_of(*running_)];
    mine.tasks.resize(team_.size());
    mine.tasks[index_of(*running_)] = s_.tasks.now();
    mine.seen = s_.seen;
    s_.barriers.arrive(turn, static_cast<int64_t>(index_of(*running_)), mine);
    running_->task = s_.tasks.begin_part();
    parts_[running_->task] = member(rounds_.back().cluster, static_cast<int64_t>(index_of(*running_)));
  }
  void know(const Barriers::Turn& turn) override {
    const Barriers::Knowledge& done = s_.barriers.of_arrivals(turn);
    if (done.tasks.empty()) return;
    Barriers::Knowledge& mine = known_[index_of(*running_)];
    mine.seen = s_.seen;
    mine.add(done);
    s_.seen = mine.seen;
  }
  bool precedes(uint32_t task) const override {
    if (known_.empty()) return false;
    const size_t thread = thread_of(task).number, me = index_of(*running_);
    return thread == me || (thread < known_[me].tasks.size() && known_[me].tasks[thread] >= task);
  }

  size_t blocks() const override { return static_cast<size_t>(cluster_); }
  Memory& memory_of(size_t block, size_t memory) override {
    const auto at = std::ranges::find(code_.shared, memory) - code_.shared.begin();
    return memory_of_block(static_cast<int64_t>(block), static_cast<size_t>(at));
  }
  void reach(std::optional<size_t> block) override {
    s_.tasks.elsewhere = block && *block != index_of(*running_) / static_cast<size_t>(threads_.count());
    reached_ = s_.tasks.now();
  }

  std::string name(uint32_t task) const override {
    const Member at = thread_of(task);
    const std::string block = blocks_.name(at.block), thread = threads_.name(at.thread);
    return block + (block.empty() || thread.empty() ? "" : ", ") + thread;
  }
  std::string missing_order(uint32_t a, uint32_t b) const override {
    if (thread_of(a).block == thread_of(b).block && !s_.tasks.elsewhere) return "no barrier stands between the two";
    return s_.tasks.elsewhere ? "no barrier of the cluster stands between the two"
                              : "nothing orders the blocks of a launch";
  }

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
    uint32_t task = 0;  // that runs, of the round
  };

  std::vector<int64_t> in_order(int64_t n, uint64_t turn) const {
    std::vector<int64_t> out(static_cast<size_t>(n));
    std::iota(out.begin(), out.end(), int64_t{0});
    if (s_.order == InterpOptions::Order::kDescending) std::ranges::reverse(out);
    support::Rng rng(support::derive_seed(s_.seed, turn));
    for (size_t i = out.size(); i > 1 && s_.order == InterpOptions::Order::kShuffled; --i)
      std::swap(out[i - 1], out[rng.below(i)]);
    return out;
  }

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

  const std::vector<int64_t>& begin_round(int64_t cluster) {
    s_.tasks.begin_loop();
    rounds_.push_back({s_.tasks.begin_iterations(count_of_team()), cluster});
    if (cluster_ == 1 || s_.tasks.now() == s_.tasks.met) known_.clear();
    order_ = in_order(count_of_team(), rounds_.size());
    return order_;
  }

  Member thread_of(uint32_t task) const {
    if (const auto part = parts_.find(task); part != parts_.end()) return part->second;
    const auto next = std::ranges::lower_bound(rounds_, task, {}, &Round::before);
    const auto turn = next - rounds_.begin();
    const Round& round = rounds_[static_cast<size_t>(turn - 1)];
    if (next == rounds_.end()) return member(round.cluster, order_[task - round.before - 1]);
    return member(round.cluster, in_order(count_of_team(), static_cast<uint64_t>(turn))[task - round.before - 1]);
  }

  void run_through(int64_t block) {
    uint32_t task = s_.tasks.now();
    for (const int64_t thread : begin_round(block)) {
      s_.tasks.resume_iteration(++task);
      s_.thread = thread;
      std::ranges::fill(s_.entered, 0);
      threads_.enter(thread, s_);
      run_body();
      threads_.leave(s_);
    }
    s_.tasks.end_loop();
  }

  void run_by_rounds(int64_t cluster) {
    if (team_.empty()) make_team();
    for (int64_t n = 0; n < count_of_team(); ++n) begin(team_[static_cast<size_t>(n)], member(cluster, n));
    do {
      uint32_t task = s_.tasks.now();
      const std::vector<int64_t>& order = begin_round(cluster);
      for (const int64_t n : order) {
        Thread& thread = team_[static_cast<size_t>(n)];
        s_.tasks.resume_iteration(thread.task = ++task);
        resume(thread);
      }
      for (std::vector<Thread*> on = may_go_on(order); !on.empty(); on = may_go_on(order))
        for (Thread* thread : on) {
          s_.tasks.resume_iteration(thread->task);
          resume(*thread);
        }
      s_.tasks.end_loop();
      s_.barriers.meet();
      for (Thread& thread : team_) {
        thread.state.seen.clear();
        thread.state.stored.clear();
      }
      if (team_[0].barrier != 0 && team_[0].barrier_of_cluster) s_.tasks.met = s_.tasks.now();
    } while (have_met());
    s_.barriers.expect_none(s_.tasks);
    if (cluster_ > 1 && reached_ > s_.tasks.met)
      throw Fault{ErrorKind::kInternal,
                  "interpret: a block ends to which others of its cluster may still copy or arrive",
                  {"a barrier of the cluster stands behind the last of that"}};
  }

  std::vector<Thread*> may_go_on(const std::vector<int64_t>& order) {
    std::vector<Thread*> out;
    for (const int64_t n : order) {
      Thread& thread = team_[static_cast<size_t>(n)];
      if (thread.turn && s_.barriers.is_over(*thread.turn)) out.push_back(&thread);
    }
    return out.empty() ? meet_in_warps(order) : out;
  }

  void make_team() {
    team_ = std::vector<Thread>(static_cast<size_t>(count_of_team()));
    for (Thread& thread : team_) {
      const auto block = static_cast<int64_t>(index_of(thread)) / threads_.count();
      thread.fiber = std::make_unique<support::Fiber>(code_.stack_bytes);
      thread.state.memories = s_.memories;
      for (const size_t m : code_.local)
        thread.state.memories[m] = &thread.local.emplace_back(s_.memories[m]->another());
      for (size_t m = 0; m < code_.shared.size(); ++m)
        thread.state.memories[code_.shared[m]] = &memory_of_block(block, m);
    }
  }

  void begin(Thread& thread, const Member& who) {
    thread.state.slots = s_.slots;
    thread.state.loops = s_.loops;
    blocks_.leave(thread.state);
    blocks_.enter(who.block, thread.state);
    thread.state.entered.assign(s_.entered.size(), 0);
    thread.state.thread = who.thread;
    thread.state.fences = 0;
    thread.state.stored.clear();
    threads_.enter(who.thread, thread.state);
    thread.fiber->begin([this] { run_body(); });
  }

  void run_body() {
    s_.copies = {};
    s_.sums = {};
    code_.body->run(s_);
    s_.copies.expect_none(s_.tasks);
    s_.sums.expect_none(s_.tasks);
  }

  // Those that waited for the others of their warp, or of their four warps, and do no longer.
  std::vector<Thread*> meet_in_warps(const std::vector<int64_t>& order) {
    std::vector<bool> have(team_.size());
    for (size_t first = 0; first < team_.size(); first = end_of_warp(first)) {
      const auto waits = [](const Thread& t) { return t.call != nullptr; };
      const std::span<Thread> warp = together_from(first, kLanesOfWarp);
      const auto one = std::ranges::find_if(warp, waits);
      if (one == warp.end()) continue;
      const size_t count = one->call->lanes(), begin = begin_of_group(first, count);
      const std::span<Thread> those = together_from(begin, count);
      if (std::ranges::any_of(those, [](const Thread& t) { return t.turn != nullptr; })) continue;
      if (those.size() < count || !std::ranges::all_of(those, [&](const Thread& t) { return met(t, those[0]); })) {
        if (count > kLanesOfWarp && std::ranges::any_of(those, [&](const Thread& t) { return have[index_of(t)]; }))
          continue;
        if (count > kLanesOfWarp && other_warps_meet(those, count)) continue;
        fail_to_meet(those);
      }
      std::vector<LaneCall*> lanes;
      for (Thread& thread : those) lanes.push_back(std::exchange(thread.call, nullptr));
      interp::together(lanes);
      std::fill_n(have.begin() + static_cast<std::ptrdiff_t>(begin), count, true);
    }
    std::vector<Thread*> out;
    for (const int64_t n : order)
      if (have[static_cast<size_t>(n)]) out.push_back(&team_[static_cast<size_t>(n)]);
    return out;
  }

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
  static bool other_warps_meet(std::span<const Thread> those, size_t count) {
    return std::ranges::any_of(those, [&](const Thread& t) { return t.call && t.call->lanes() < count; });
  }

  // A mistake leaves the thread's state where it is found, to name the place.
  void resume(Thread& thread) {
    running_ = &thread;
    std::swap(static_cast<ThreadState&>(s_), thread.state);
    for (const size_t m : code_.shared) s_.memories[m]->seen_at(s_.entered[m]);
    thread.barrier = 0;
    thread.turn = nullptr;
    thread.fiber->resume();
    std::swap(static_cast<ThreadState&>(s_), thread.state);
  }

  // Whether there is another round.
  bool have_met() const {
    const auto stuck = std::ranges::find_if(team_, [](const Thread& t) { return t.turn != nullptr; });
    if (stuck != team_.end()) fail_to_meet(team_);
    const auto apart = std::ranges::find_if(team_, [&](const Thread& t) { return !met(t, team_[0]); });
    if (apart != team_.end()) fail_to_meet(team_);
    return team_[0].barrier != 0;
  }

  static int call_of(const Thread& thread) { return thread.call ? thread.call->number : 0; }

  // At one barrier or call of a warp, with equal loops of the body around it; or both at the end.
  bool met(const Thread& a, const Thread& b) const {
    if (a.barrier != b.barrier || call_of(a) != call_of(b) || !a.turn != !b.turn) return false;
    if (a.barrier == 0 && !a.call && !a.turn) return true;
    return std::all_of(a.state.loops.begin() + outside_body(), a.state.loops.end(),
                       [&](const ForNode* loop) { return a.state.slots[loop->slot].i == b.state.slots[loop->slot].i; });
  }

  std::ptrdiff_t outside_body() const { return std::ssize(s_.loops) + std::ssize(code_.threads); }

  // "k = 1, s = 0": the loops of the body.
  std::string place(const Thread& thread) const {
    std::string out;
    for (auto at = thread.state.loops.begin() + outside_body(); at != thread.state.loops.end(); ++at) {
      const ForNode& loop = **at;
      out += (out.empty() ? "" : ", ") + loop.name + " = " + std::to_string(thread.state.slots[loop.slot].i);
    }
    return out;
  }

  std::string waits_at(const Thread& thread) const {
    if (thread.turn) return "wait for " + name_of(*thread.turn);
    if (thread.barrier == 0 && !thread.call) return "have ended";
    const std::string at = place(thread);
    return "wait at " +
           (thread.call ? "call " + std::to_string(thread.call->number) + " of warps"
                        : "barrier " + std::to_string(thread.barrier)) +
           " of the launch" + (at.empty() ? "" : ", " + at);
  }

  [[noreturn]] void fail_to_meet(std::span<const Thread> those) const {
    const auto call = std::ranges::find_if(those, [](const Thread& t) { return t.call != nullptr; });
    Fault fault{ErrorKind::kInternal, "interpret: a barrier where not all threads of the block meet", {}};
    if (call != those.end())
      fault.what = "interpret: " + std::string(call->call->name) + " where not all " +
                   std::to_string(call->call->lanes()) +
                   (call->call->lanes() > kLanesOfWarp ? " lanes of four warps meet" : " lanes of a warp meet");
    const auto stuck = std::ranges::find_if(those, [](const Thread& t) { return t.turn != nullptr; });
    if (stuck != those.end()) fault.what = "interpret: nobody goes on: " + s_.barriers.why_not_over(*stuck->turn);
    std::vector<const Thread*> first;  // of those at one place
    for (const Thread& thread : those)
      if (std::ranges::none_of(first, [&](const Thread* other) { return met(thread, *other); }))
        first.push_back(&thread);
    for (const Thread* one : first) {
      const auto many = std::ranges::count_if(those, [&](const Thread& t) { return met(t, *one); });
      const Member who = member(rounds_.back().cluster, one - team_.data());
      const std::string block = cluster_ > 1 ? blocks_.name(who.block) + ", " : "";
      fault.notes.push_back(std::to_string(many) + " of " + std::to_string(those.size()) + " threads, " + block +
                            threads_.name(who.thread) + " the first, " + waits_at(*one));
    }
    throw fault;
  }

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
  Thread* running_ = nullptr;
};

void LaunchCode::run(State& s) const { Launch(*this, s).run(); }

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
