// A kernel of somebody else's in a process of its own, as its caller has it (kernel_service.h).
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "src/runtime/kernel_calls.h"
#include "src/runtime/local_runner.h"
#include "src/runtime/shared_memory.h"

namespace tw::runtime {

class KernelProcess {
 public:
  explicit KernelProcess(WorkerCommand);
  ~KernelProcess();

  // Before all calls, once: starts it. Throws tw::Error: kBuild or kTarget where the object is not one that runs here.
  void load(const LoadKernel&);

  const KernelSummary& summary() const { return summary_; }

  // The memory of a call, by the numbers that its arrays name. What the process has seen before is not sent again.
  using Memories = std::vector<std::pair<uint64_t, const SharedMemory*>>;
  // Returns the seconds of each repeat, where those were asked for. Throws tw::Error: what the kernel refuses, or
  // (kTune) that it crashed, or did not return in time; then it is gone.
  std::vector<double> call(const CallKernel&, const Memories&, double timeout_s);
  // Memory that no later call has; waits for none that runs. The process keeps it until then.
  void forget(uint64_t memory);
  // From any thread: what is under way ends, and the kernel is gone, or never comes.
  void end();

 private:
  KernelAnswer ask(const KernelRequest&, double timeout_s, int descriptor = -1);

  std::shared_ptr<support::Subprocess> process();
  std::vector<uint64_t> take_forgotten();

  const WorkerCommand command_;
  std::mutex one_at_a_time_;
  std::mutex mutex_;                              // of the three below
  std::vector<uint64_t> forgotten_;               // since the last call
  std::shared_ptr<support::Subprocess> process_;  // null before it is loaded, and once it is gone
  bool ended_ = false;
  KernelSummary summary_;
  std::set<uint64_t> shared_;
};

}  // namespace tw::runtime
