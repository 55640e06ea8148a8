#include "rpc/board/job_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "rpc/wire/rpc_error.h"
#include "src/runtime/run_result.h"
#include "src/runtime/timing.h"

namespace tw::rpc {

using runtime::RunRequest;
using runtime::RunResult;
using runtime::RunStatus;

namespace {

constexpr size_t kTasksKept = 8;
constexpr double kMostTaskBytes = 1 << 30;  // of several tasks' inputs and references
constexpr double kStartS = 5;               // besides what a deadline of the candidate says

double bytes_of(const RunRequest& request) {
  return static_cast<double>(request.inputs.size()) +
         static_cast<double>(request.reference ? request.reference->size() : 0);
}

}  // namespace

JobQueue::JobQueue(MakeRunner make_runner, MakeHeat make_heat, Events events)
    : make_runner_(std::move(make_runner)),
      events_(std::move(events)),
      runner_(make_runner_()),
      heat_(make_heat([this](double seconds) { return sleep(seconds); })),
      thread_([this](const std::stop_token& token) { serve(token); }) {}

JobQueue::~JobQueue() {
  thread_.request_stop();
  cancel_all();
}

// ----------------------------------------------------------------------------------------------------------- asked

void JobQueue::begin_session() {
  const std::lock_guard lock(mutex_);
  session_begins_ = true;
}

void JobQueue::prepare(const Digest& name, Checks checks) { add({.name = name, .checks = std::move(checks)}); }

void JobQueue::run(const Job& job, Blob object) {
  add({.name = job.name, .checks = {}, .job = job, .object = std::move(object)});
}

void JobQueue::add(Work work) {
  const std::lock_guard lock(mutex_);
  if (current_ == work.name && !cancelled_) return;
  if (std::ranges::any_of(waiting_, [&](const Work& w) { return w.name == work.name; })) return;
  if (waiting_.size() >= kMostWaiting)
    throw rpc_error(std::to_string(kMostWaiting) + " jobs wait on this board, and more are not taken",
                    {"send the next when one is done"});
  waiting_.push_back(std::move(work));
  wake_.notify_all();
}

void JobQueue::cancel(const Digest& name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const Work& w) { return w.name == name; });
  if (current_ != name) return;
  cancelled_ = true;
  runner_->cancel();
  wake_.notify_all();
}

void JobQueue::cancel_waiting() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

void JobQueue::cancel_all() {
  cancel_waiting();
  std::optional<Digest> current;
  {
    const std::lock_guard lock(mutex_);
    current = current_;
  }
  if (current) cancel(*current);
}

JobQueue::Lost JobQueue::lost_workers() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

double JobQueue::busy_s() const {
  const std::lock_guard lock(mutex_);
  return current_ ? std::max(0.0, busy_until_ - runtime::seconds_now()) : 0;
}

// ---------------------------------------------------------------------------------------------------------- done

void JobQueue::serve(const std::stop_token& token) {
  for (;;) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, token, [&] { return !waiting_.empty(); }) || token.stop_requested()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
      current_ = work.name;
      cancelled_ = false;
    }
    const std::function<void()> tell = do_work(work);
    bool cancelled = false;
    {
      const std::lock_guard lock(mutex_);
      current_.reset();
      cancelled = std::exchange(cancelled_, false);
      if (cancelled) runner_ = make_runner_();  // a Runner that was cancelled stays so
    }
    if (!cancelled) tell();  // who asks from here on is told again
  }
}

void JobQueue::look_at_clock() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(session_begins_, false)) return;
  }
  heat_.begin_session();
}

std::function<void()> JobQueue::do_work(const Work& work) try {
  look_at_clock();
  return work.checks ? prepare_now(work.name, *work.checks) : run_now(work.job, work.object);
} catch (const Error& error) {
  return refused(work.name, error);
} catch (const std::exception& error) {
  return refused(work.name, Error(Diagnostic{ErrorKind::kTune, error.what(), {}, {}}));
}

std::function<void()> JobQueue::refused(const Digest& name, const Error& error) {
  return [this, name, error] { events_.refused(name, error); };
}

std::function<void()> JobQueue::prepare_now(const Digest& name, const Checks& checks) {
  if (!task(name)) {
    announce(name, seconds_for_request(checks));
    keep(name, std::make_shared<const RunRequest>(request_here(checks, *runner_)));
  }
  return [this, name] { events_.ready(name); };
}

std::function<void()> JobQueue::run_now(const Job& job, const Blob& object) {
  std::optional<JobResult> known = result(job.name);
  if (!known) {
    const Task checked_by = task(job.task);
    if (!checked_by) throw rpc_error("the task of this job is not here", {"send it again"});
    known = measured(job, object, *checked_by);
    keep(*known);
  }
  return [this, known = *known] { events_.done(known); };
}

JobResult JobQueue::measured(const Job& job, const Blob& object, const RunRequest& task) {
  RunRequest request = task;
  request.object = object;
  request.lower_bound_s = job.lower_bound_s;
  request.give_up_above_s = job.give_up_above_s;
  request.candidate = job.candidate;
  const Heat::Timed timed = heat_.timed([&] {
    announce(job.name, kStartS + 2 * request.timeout_s);
    RunResult result = runtime::judged(runner_->run(request));
    if (!cancelled()) count_loss(result);
    return result;
  });
  JobResult result;
  result.name = job.name;
  result.status = timed.throttled ? kThrottled : to_string(timed.result.status);
  result.seconds = timed.throttled ? 0 : timed.result.seconds;
  result.spread = timed.result.spread;
  result.runs = static_cast<uint32_t>(timed.result.runs);
  result.detail = runtime::one_line(timed.throttled ? "the board was too hot each time" : timed.result.detail);
  result.hertz = timed.state.hertz;
  result.celsius = timed.state.celsius;
  result.governor = timed.state.governor;
  return result;
}

void JobQueue::announce(const Digest& name, double seconds) {
  {
    const std::lock_guard lock(mutex_);
    busy_until_ = runtime::seconds_now() + seconds;
    if (cancelled_) return;
  }
  events_.begins(name, seconds);
}

bool JobQueue::sleep(double seconds) {
  std::unique_lock lock(mutex_);
  busy_until_ = runtime::seconds_now() + seconds + kStartS;
  return !wake_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return cancelled_; });
}

bool JobQueue::cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

void JobQueue::count_loss(const RunResult& result) {
  const std::lock_guard lock(mutex_);
  if (result.status == RunStatus::kDeviceLost)
    lost_ = {lost_.in_a_row + 1, runtime::one_line(result.detail)};
  else
    lost_ = {};
}

// ---------------------------------------------------------------------------------------------------------- kept

JobQueue::Task JobQueue::task(const Digest& name) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(tasks_, name, &std::pair<Digest, Task>::first);
  if (found == tasks_.end()) return nullptr;
  tasks_.splice(tasks_.begin(), tasks_, found);
  return found->second;
}

void JobQueue::keep(const Digest& name, Task task) {
  const std::lock_guard lock(mutex_);
  tasks_.emplace_front(name, std::move(task));
  double bytes = 0;
  for (const auto& [_, kept] : tasks_) bytes += bytes_of(*kept);
  for (; tasks_.size() > 1 && (tasks_.size() > kTasksKept || bytes > kMostTaskBytes); tasks_.pop_back())
    bytes -= bytes_of(*tasks_.back().second);
}

std::optional<JobResult> JobQueue::result(const Digest& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = results_.find(name);
  return found == results_.end() ? std::nullopt : std::optional(found->second);
}

void JobQueue::keep(const JobResult& result) {
  const std::lock_guard lock(mutex_);
  if (cancelled_) return;
  if (results_.emplace(result.name, result).second) results_by_age_.push_back(result.name);
  if (results_by_age_.size() <= kResultsKept) return;
  results_.erase(results_by_age_.front());
  results_by_age_.pop_front();
}

}  // namespace tw::rpc
