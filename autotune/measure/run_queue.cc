#include "autotune/measure/run_queue.h"

#include <algorithm>

namespace tw::autotune {

namespace {

constexpr int kMostLost = 3;

}  // namespace

RunQueue::RunQueue(Measurer& measurer, int slots) : measurer_(measurer) {
  for (int s = 0; s < std::max(1, slots); ++s) slots_.emplace_back([this] { serve_slot(); });
}

RunQueue::~RunQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

void RunQueue::add(Built built, double give_up_above, Arrived arrived) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(built), give_up_above, std::move(arrived)});
  }
  changed_.notify_all();
}

void RunQueue::wait(const std::function<bool()>& enough) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return thrown_ || measurer_.stopped() || enough(); });
  if (thrown_) std::rethrow_exception(thrown_);
}

// False: it has to run again.
bool RunQueue::done(Run& run) {
  if (!run.built.ok()) return true;
  measurer_.run(run.built, run.give_up_above);
  return run.built.trial.status != to_string(runtime::RunStatus::kDeviceLost) || ++run.lost == kMostLost;
}

void RunQueue::serve_slot() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    Run run = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    bool again = false;
    std::exception_ptr thrown;
    try {
      again = !done(run);
      if (!again && !measurer_.stopped()) run.arrived(std::move(run.built));
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    if (again) waiting_.push_back(std::move(run));
    if (thrown && !thrown_) thrown_ = thrown;
    if (thrown_ || measurer_.stopped()) waiting_.clear();
    changed_.notify_all();
  }
}

}  // namespace tw::autotune
