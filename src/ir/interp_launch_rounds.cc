// Which threads run, in which order, from barrier to barrier.

#include <algorithm>
#include <numeric>

#include "src/ir/group_products.h"
#include "src/ir/interp_launch_run.h"
#include "src/support/launch_limits.h"
#include "src/support/rng.h"

namespace tw::ir::interp {

namespace {

// Of threads that give registers back and take more: what each begins with.
int64_t registers_at_launch(int64_t threads) {
  constexpr int64_t kOfBlock = 65536;
  return std::min(kMostRegisters, kOfBlock / threads / kRegistersStep * kRegistersStep);
}

}  // namespace

Launch::Launch(const LaunchCode& code, State& s)
    : code_(code),
      s_(s),
      blocks_(code.blocks, s),
      threads_(code.threads, s),
      cluster_(code.has_meetings ? blocks_.in_cluster() : 1) {
  if (threads_.count() > support::kMostThreadsOfBlock)
    throw Fault{ErrorKind::kInternal,
                "interpret: a block of " + std::to_string(threads_.count()) + " threads",
                {"a block has at most " + std::to_string(support::kMostThreadsOfBlock)}};
  s_.tasks.names = this;
  s_.tasks.order = this;
  s_.tasks.seen = &s_.seen;
  s_.tasks.fences = &s_.fences;
  s_.tasks.stored = &s_.stored;
  for (const auto& [memory, role] : code.roles) s_.memories[memory]->set_role(role);
  for (const auto& [memory, elements] : code.rings) s_.memories[memory]->set_slot(elements);
  for (const size_t m : code.shared) first_.push_back(s_.memories[m]);
  for (int64_t block = 1; block < cluster_; ++block) {
    std::deque<Memory>& own = others_.emplace_back();
    for (const Memory* memory : first_) own.push_back(memory->another());
  }
  s_.meeting = this;
  s_.threads = threads_.count();
}

Launch::~Launch() {
  s_.tasks.names = nullptr;
  s_.tasks.order = nullptr;
  s_.tasks.seen = nullptr;
  s_.tasks.fences = nullptr;
  s_.tasks.stored = nullptr;
  s_.meeting = nullptr;
}

void Launch::run() {
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

std::vector<int64_t> Launch::in_order(int64_t n, uint64_t turn) const {
  std::vector<int64_t> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), int64_t{0});
  if (s_.order == InterpOptions::Order::kDescending) std::ranges::reverse(out);
  support::Rng rng(support::derive_seed(s_.seed, turn));
  for (size_t i = out.size(); i > 1 && s_.order == InterpOptions::Order::kShuffled; --i)
    std::swap(out[i - 1], out[rng.below(i)]);
  return out;
}

const std::vector<int64_t>& Launch::begin_round(int64_t cluster) {
  s_.tasks.begin_loop();
  rounds_.push_back({s_.tasks.begin_iterations(count_of_team()), cluster});
  if (cluster_ == 1 || s_.tasks.now() == s_.tasks.met) known_.clear();
  order_ = in_order(count_of_team(), rounds_.size());
  return order_;
}

Launch::Member Launch::thread_of(uint32_t task) const {
  if (const auto part = parts_.find(task); part != parts_.end()) return part->second;
  const auto next = std::ranges::lower_bound(rounds_, task, {}, &Round::before);
  const auto turn = next - rounds_.begin();
  const Round& round = rounds_[static_cast<size_t>(turn - 1)];
  if (next == rounds_.end()) return member(round.cluster, order_[task - round.before - 1]);
  return member(round.cluster, in_order(count_of_team(), static_cast<uint64_t>(turn))[task - round.before - 1]);
}

void Launch::run_through(int64_t block) {
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

void Launch::run_by_rounds(int64_t cluster) {
  if (team_.empty()) make_team();
  spare_.assign(static_cast<size_t>(cluster_), 0);
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
    for (Thread& thread : team_) thread.state.seen.clear();
    if (team_[0].barrier != 0 && team_[0].barrier_of_cluster) s_.tasks.met = s_.tasks.now();
  } while (have_met());
  s_.barriers.expect_none(s_.tasks);
  if (cluster_ > 1 && reached_ > s_.tasks.met)
    throw Fault{ErrorKind::kInternal,
                "interpret: a block ends to which others of its cluster may still copy or arrive",
                {"a barrier of the cluster stands behind the last of that"}};
}

void Launch::make_team() {
  team_ = std::vector<Thread>(static_cast<size_t>(count_of_team()));
  for (Thread& thread : team_) {
    const auto block = static_cast<int64_t>(index_of(thread)) / threads_.count();
    thread.fiber = std::make_unique<support::Fiber>(code_.stack_bytes);
    thread.state.memories = s_.memories;
    for (const size_t m : code_.local) thread.state.memories[m] = &thread.local.emplace_back(s_.memories[m]->another());
    for (size_t m = 0; m < code_.shared.size(); ++m)
      thread.state.memories[code_.shared[m]] = &memory_of_block(block, m);
  }
}

void Launch::begin(Thread& thread, const Member& who) {
  thread.state.slots = s_.slots;
  thread.state.loops = s_.loops;
  blocks_.leave(thread.state);
  blocks_.enter(who.block, thread.state);
  thread.state.entered.assign(s_.entered.size(), 0);
  thread.state.thread = who.thread;
  thread.state.fences = 0;
  thread.state.stored.clear();
  thread.registers = registers_at_launch(threads_.count());
  threads_.enter(who.thread, thread.state);
  thread.fiber->begin([this] { run_body(); });
}

void Launch::run_body() {
  s_.copies = {};
  s_.sums = {};
  code_.body->run(s_);
  s_.copies.expect_none(s_.tasks);
  s_.sums.expect_none(s_.tasks);
}

void Launch::resume(Thread& thread) {
  running_ = &thread;
  std::swap(static_cast<ThreadState&>(s_), thread.state);
  for (const size_t m : code_.shared) s_.memories[m]->seen_at(s_.entered[m]);
  thread.barrier = 0;
  thread.turn = nullptr;
  thread.lets_go_on = false;
  thread.takes = 0;
  thread.fiber->resume();
  std::swap(static_cast<ThreadState&>(s_), thread.state);
}

void LaunchCode::run(State& s) const { Launch(*this, s).run(); }

}  // namespace tw::ir::interp
