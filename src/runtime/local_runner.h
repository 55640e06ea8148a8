// Measures candidates on this machine, each in a process of its own (tw-worker's child, run_worker.h) that may crash,
// hang or corrupt itself.
//
// What ends a run is judged as follows. The candidate's own: a signal that it raised (SEGV, ILL, FPE, ABRT, SYS for
// what the sandbox forbids, XFSZ for a limit), an exit without a result, and a deadline that passes (SIGTERM, then
// SIGKILL to the group). Not the candidate's: a SIGKILL, SIGTERM, SIGINT or SIGHUP that we did not send; the run is
// repeated twice and is then kDeviceLost. The deadline runs from when the candidate is loaded, and anew from when its
// first output was right. Where it is known what is given up at, a first run of several times that is cut short:
// kBeaten, with that as its bound and no run that counts.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/support/subprocess.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {

// The program that serves runs (run_worker.h).
struct WorkerCommand {
  std::string path;
  std::vector<std::string> args = {"--serve"};
  bool confined = false;  // its policy, which tells what SIGSYS means
  // Candidates run on a device, whose driver reserves addresses and writes files as it likes: there are no limits. A
  // lost device is a lost worker.
  bool on_device = false;
};

class LocalRunner final : public Runner {
 public:
  LocalRunner();  // throws tw::Error when tw-worker is missing or measuring is forbidden
  explicit LocalRunner(WorkerCommand);
  ~LocalRunner() override;
  // One run at a time; a second caller waits. Throws tw::Error when a worker cannot begin.
  RunResult run(const RunRequest&) override;
  MachineDescription machine() const override { return this_machine(); }
  // From any thread: ends the run in flight, which returns kDeviceLost, and all later ones at once.
  void cancel() override;

 private:
  RunResult attempt(const RunRequest&, bool& lost);
  support::Command command_for(const RunRequest&) const;
  std::unique_ptr<support::Subprocess> begin(const support::Command&);
  RunResult converse(support::Subprocess&, const RunRequest&, bool& lost, bool& lives_on);

  const WorkerCommand worker_;
  std::mutex one_run_;
  // Ready for the next run; under one_run_. It has served some, except one that confines itself, which takes longer to
  // do so than to be started: while the last result is on its way and the next request comes.
  std::unique_ptr<support::Subprocess> idle_;
  support::Command idle_command_;
  int served_ = 0;
  std::mutex current_mutex_;
  support::Subprocess* current_ = nullptr;
  std::atomic<bool> cancelled_{false};
};

}  // namespace tw::runtime
