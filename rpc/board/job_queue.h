// What a board has to do, one after the other on a thread of its own: tasks are prepared, jobs are run.
//
// A result is kept by the name of its job, and a task by its own: who lost its connection and asks again has nothing
// run again. What is asked twice while it waits or runs is done once. Functions are for any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "rpc/board/heat.h"
#include "rpc/check/checks.h"
#include "rpc/wire/messages.h"

namespace tw::rpc {

class JobQueue {
 public:
  static constexpr size_t kMostWaiting = 16;
  static constexpr size_t kResultsKept = 256;

  // Told by the queue's thread.
  struct Events {
    std::function<void(const Digest& name, double seconds)> begins;  // of a task or a job, which may take so long
    std::function<void(const Digest& task)> ready;
    std::function<void(const JobResult&)> done;
    std::function<void(const Digest& name, const Error&)> refused;  // a task or a job
  };
  using MakeRunner = std::function<std::unique_ptr<runtime::Runner>()>;
  using MakeHeat = std::function<Heat(std::function<bool(double seconds)> sleep)>;

  JobQueue(MakeRunner, MakeHeat, Events);
  ~JobQueue();  // what is under way is cancelled

  // Before what follows, it looks at the clock.
  void begin_session();
  // Throw tw::Error (kRpc) where too many wait.
  void prepare(const Digest& task, Checks);
  void run(const Job&, Blob object);
  // Of these nothing is heard any more.
  void cancel(const Digest& name);
  void cancel_waiting();
  void cancel_all();

  struct Lost {
    uint32_t in_a_row = 0;  // workers, up to now
    std::string reason = {};
  };
  Lost lost_workers() const;
  double busy_s() const;  // what is under way may take so long from now on; 0: nothing is

 private:
  struct Work {
    Digest name;
    std::optional<Checks> checks;  // of a task
    Job job = {};
    Blob object = {};
  };
  using Task = std::shared_ptr<const runtime::RunRequest>;

  void add(Work);
  void serve(const std::stop_token&);
  void look_at_clock();
  // What is then to be told.
  std::function<void()> do_work(const Work&);
  std::function<void()> prepare_now(const Digest& task, const Checks&);
  std::function<void()> run_now(const Job&, const Blob& object);
  std::function<void()> refused(const Digest&, const Error&);
  JobResult measured(const Job&, const Blob& object, const runtime::RunRequest& task);
  void announce(const Digest& name, double seconds);
  bool sleep(double seconds);
  bool cancelled() const;
  Task task(const Digest&);
  void keep(const Digest&, Task);
  std::optional<JobResult> result(const Digest&) const;
  void keep(const JobResult&);
  void count_loss(const runtime::RunResult&);

  const MakeRunner make_runner_;
  const Events events_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable_any wake_;
  std::deque<Work> waiting_;
  std::optional<Digest> current_;
  bool cancelled_ = false;  // the current
  bool session_begins_ = false;
  double busy_until_ = 0;
  std::unique_ptr<runtime::Runner> runner_;
  std::list<std::pair<Digest, Task>> tasks_;  // the last used first
  std::deque<Digest> results_by_age_;
  std::unordered_map<Digest, JobResult> results_;
  Lost lost_;

  Heat heat_;            // the thread's
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tw::rpc
