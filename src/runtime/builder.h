// Builds candidates, of this machine in worker processes (tw-worker-build), so that a compiler that crashes or hangs
// takes no tuner with it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/runtime/messages.h"

namespace tw::runtime {

enum class BuildStatus : uint8_t {
  kOk,
  kFailed,   // refused with a message
  kCrashed,  // the compiler ended: an abort, a signal, no memory
  kTimeout,
  kLost,  // the worker was lost, not through the candidate, three times; or cancelled
};
std::string_view to_string(BuildStatus);

struct BuildResult {
  BuildStatus status = BuildStatus::kLost;
  std::string message;
  double seconds = 0;  // as the caller waited
  double llvm_s = 0, link_s = 0;
  std::string unfit = {};  // of kFailed: the status of what is not worth a run (cuda/image.h)
  bool ok() const { return status == BuildStatus::kOk; }
};

// Thread-safe.
class Builder {
 public:
  virtual ~Builder() = default;
  // The shared object is at the request's out_path then.
  virtual BuildResult build(const BuildRequest&, double timeout_s) = 0;
  virtual int slots() const = 0;  // builds that it takes at once, at least one
  // From any thread: ends the builds in flight, which return kLost, and all later ones at once.
  virtual void cancel() = 0;
};

// As many workers as there are callers at once, kept between builds.
class LocalBuilder final : public Builder {
 public:
  LocalBuilder();  // throws tw::Error when tw-worker-build is missing
  ~LocalBuilder() override;
  BuildResult build(const BuildRequest&, double timeout_s) override;
  int slots() const override;  // one for each core
  void cancel() override;

 private:
  struct Worker;
  std::unique_ptr<Worker> borrow();
  BuildResult attempt(const BuildRequest&, double timeout_s, bool& lost);
  BuildResult converse(Worker&, const BuildRequest&, double timeout_s, bool& lost);

  std::string program_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
  std::vector<Worker*> busy_;
  std::atomic<bool> cancelled_{false};
};

// The inside of tw-worker-build: `build` answers each request until the other side hangs up. Returns the exit code of
// main.
int serve_builds(int argc, char** argv, const std::function<BuildReply(const BuildRequest&)>& build);

}  // namespace tw::runtime
