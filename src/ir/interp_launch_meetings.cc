// Where the threads of a launch wait for each other, who goes on, and what it says of those who do not meet.

#include <algorithm>

#include "src/ir/interp_launch_run.h"

namespace tw::ir::interp {

void Launch::arrive(const Barriers::Turn& turn) {
  if (known_.empty()) known_.resize(team_.size());
  Barriers::Knowledge& mine = known_[index_of(*running_)];
  mine.tasks.resize(team_.size());
  mine.tasks[index_of(*running_)] = s_.tasks.now();
  mine.seen = s_.seen;
  if (s_.barriers.arrive(turn, static_cast<int64_t>(index_of(*running_)), mine)) last_to_arrive_ = true;
  running_->task = s_.tasks.begin_part();
  parts_[running_->task] = member(rounds_.back().cluster, static_cast<int64_t>(index_of(*running_)));
}

// Those go on before the thread ends what it should have ended before.
void Launch::let_go_on() {
  if (!std::exchange(last_to_arrive_, false)) return;
  running_->lets_go_on = true;
  running_->fiber->wait();
}

void Launch::hold_registers(int64_t count) {
  Thread& mine = *running_;
  int64_t& spare = spare_[index_of(mine) / static_cast<size_t>(threads_.count())];
  while (count - mine.registers > spare) {
    mine.takes = count - mine.registers;
    mine.fiber->wait();
  }
  spare -= count - mine.registers;
  mine.registers = count;
}

void Launch::know(const Barriers::Turn& turn) {
  const Barriers::Knowledge& done = s_.barriers.of_arrivals(turn);
  if (done.tasks.empty()) return;
  Barriers::Knowledge& mine = known_[index_of(*running_)];
  mine.seen = s_.seen;
  mine.add(done);
  s_.seen = mine.seen;
}

bool Launch::precedes(uint32_t task) const {
  if (known_.empty()) return false;
  const size_t thread = thread_of(task).number, me = index_of(*running_);
  return thread == me || (thread < known_[me].tasks.size() && known_[me].tasks[thread] >= task);
}

std::string Launch::name(uint32_t task) const {
  const Member at = thread_of(task);
  const std::string block = blocks_.name(at.block), thread = threads_.name(at.thread);
  return block + (block.empty() || thread.empty() ? "" : ", ") + thread;
}

std::string Launch::missing_order(uint32_t a, uint32_t b) const {
  if (thread_of(a).block == thread_of(b).block && !s_.tasks.elsewhere) return "no barrier stands between the two";
  return s_.tasks.elsewhere ? "no barrier of the cluster stands between the two"
                            : "nothing orders the blocks of a launch";
}

std::vector<Launch::Thread*> Launch::may_go_on(const std::vector<int64_t>& order) {
  std::vector<Thread*> out, later;
  for (const int64_t n : order) {
    Thread& thread = team_[static_cast<size_t>(n)];
    const int64_t spare = spare_[static_cast<size_t>(n / threads_.count())];
    if ((thread.turn && s_.barriers.is_over(*thread.turn)) || (thread.takes > 0 && thread.takes <= spare))
      out.push_back(&thread);
    if (thread.lets_go_on) later.push_back(&thread);
  }
  if (out.empty()) out = std::move(later);
  return out.empty() ? meet_in_warps(order) : out;
}

std::vector<Launch::Thread*> Launch::meet_in_warps(const std::vector<int64_t>& order) {
  std::vector<bool> have(team_.size());
  for (size_t first = 0; first < team_.size(); first = end_of_warp(first)) {
    const auto waits = [](const Thread& t) { return t.call != nullptr; };
    const std::span<Thread> warp = together_from(first, kLanesOfWarp);
    const auto one = std::ranges::find_if(warp, waits);
    if (one == warp.end()) continue;
    const size_t count = one->call->lanes(), begin = begin_of_group(first, count);
    const std::span<Thread> those = together_from(begin, count);
    if (std::ranges::any_of(those, &Thread::waits_for_others)) continue;
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

bool Launch::other_warps_meet(std::span<const Thread> those, size_t count) {
  return std::ranges::any_of(those, [&](const Thread& t) { return t.call && t.call->lanes() < count; });
}

bool Launch::have_met() const {
  const auto stuck = std::ranges::find_if(team_, &Thread::waits_for_others);
  if (stuck != team_.end()) fail_to_meet(team_);
  const auto apart = std::ranges::find_if(team_, [&](const Thread& t) { return !met(t, team_[0]); });
  if (apart != team_.end()) fail_to_meet(team_);
  return team_[0].barrier != 0;
}

bool Launch::met(const Thread& a, const Thread& b) const {
  if (a.barrier != b.barrier || call_of(a) != call_of(b) || !a.turn != !b.turn || a.takes != b.takes) return false;
  if (a.barrier == 0 && !a.call && !a.waits_for_others()) return true;
  return std::all_of(a.state.loops.begin() + outside_body(), a.state.loops.end(),
                     [&](const ForNode* loop) { return a.state.slots[loop->slot].i == b.state.slots[loop->slot].i; });
}

std::string Launch::place(const Thread& thread) const {
  std::string out;
  for (auto at = thread.state.loops.begin() + outside_body(); at != thread.state.loops.end(); ++at) {
    const ForNode& loop = **at;
    out += (out.empty() ? "" : ", ") + loop.name + " = " + std::to_string(thread.state.slots[loop.slot].i);
  }
  return out;
}

std::string Launch::waits_at(const Thread& thread) const {
  if (thread.turn) return "wait for " + name_of(*thread.turn);
  if (thread.takes > 0) return "wait for " + std::to_string(thread.takes) + " registers each";
  if (thread.barrier == 0 && !thread.call) return "have ended";
  const std::string at = place(thread);
  return "wait at " +
         (thread.call ? "call " + std::to_string(thread.call->number) + " of warps"
                      : "barrier " + std::to_string(thread.barrier)) +
         " of the launch" + (at.empty() ? "" : ", " + at);
}

std::string Launch::why_nobody_goes_on(const Thread& stuck) const {
  if (stuck.turn) return s_.barriers.why_not_over(*stuck.turn);
  const int64_t spare = spare_[index_of(stuck) / static_cast<size_t>(threads_.count())];
  return "threads take registers of which the block has " + std::to_string(spare) + " left";
}

void Launch::fail_to_meet(std::span<const Thread> those) const {
  const auto call = std::ranges::find_if(those, [](const Thread& t) { return t.call != nullptr; });
  Fault fault{ErrorKind::kInternal, "interpret: a barrier where not all threads of the block meet", {}};
  if (call != those.end())
    fault.what = "interpret: " + std::string(call->call->name) + " where not all " +
                 std::to_string(call->call->lanes()) +
                 (call->call->lanes() > kLanesOfWarp ? " lanes of four warps meet" : " lanes of a warp meet");
  auto stuck = std::ranges::find_if(those, [](const Thread& t) { return t.takes > 0; });
  if (stuck == those.end()) stuck = std::ranges::find_if(those, &Thread::waits_for_others);
  if (stuck != those.end()) fault.what = "interpret: nobody goes on: " + why_nobody_goes_on(*stuck);
  std::vector<const Thread*> first;  // of those at one place
  for (const Thread& thread : those)
    if (std::ranges::none_of(first, [&](const Thread* other) { return met(thread, *other); })) first.push_back(&thread);
  for (const Thread* one : first) {
    const auto many = std::ranges::count_if(those, [&](const Thread& t) { return met(t, *one); });
    const Member who = member(rounds_.back().cluster, one - team_.data());
    const std::string block = cluster_ > 1 ? blocks_.name(who.block) + ", " : "";
    fault.notes.push_back(std::to_string(many) + " of " + std::to_string(those.size()) + " threads, " + block +
                          threads_.name(who.thread) + " the first, " + waits_at(*one));
  }
  throw fault;
}

}  // namespace tw::ir::interp
