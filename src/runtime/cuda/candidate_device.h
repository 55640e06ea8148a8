// A GPU that candidates are measured on. A candidate is an object of the host's: it holds the images of its functions,
// and code that launches them by way of the context (codegen/device_code.h).
#pragma once

#include <utility>
#include <vector>

#include "src/runtime/cuda/argument_sets.h"
#include "src/runtime/cuda/device.h"
#include "src/runtime/device.h"
#include "src/runtime/linking.h"
#include "src/runtime/run_worker.h"

namespace tw::runtime::cuda {

class KeptUploads;
struct ObjectLaunch;

// Of one thread. Besides DeviceLost its functions throw kArgument, where memory is short.
class CandidateDevice final : public Device {
 public:
  // Has the device's context. Throws kTarget where there is none. `uploads` outlives it.
  CandidateDevice(int ordinal, const Linking&, KeptUploads* uploads = nullptr);
  ~CandidateDevice() override;

  std::unique_ptr<DeviceMemory> allocate(size_t bytes, size_t place) override;
  const void* readable(const void* bytes, size_t count) override;
  std::unique_ptr<DeviceMemory> scratch(size_t bytes) override;
  void when_short(std::function<void()> give_back) override { give_back_ = std::move(give_back); }
  Status load(const Blob& object) override;
  Result<KernelSpecs> specs(const std::string& kernel) const override;
  Result<Launch> find(const std::string& kernel) const override;
  // By events. Many launches are those of a graph, so that what the host needs for each is no part of it; they take the
  // arguments, which are all that was allocated, and copies of them in turn.
  Elapsed time(const Launch&, void* const* addresses, int launches) override;

 private:
  class CapturedCalls;

  void* symbol(const std::string& name) const;  // null: of none of its objects
  static int32_t on_launch(const tw_context*, ObjectLaunch*, const int64_t* sizes, void** operands);
  static int32_t on_map(const tw_context*, void* map, void* array, const int64_t* shape);
  static void* on_alloc(const tw_context*, size_t bytes);
  static void on_release(const tw_context*, void* memory);
  int32_t launch(ObjectLaunch&, const int64_t* sizes, void** operands);
  int32_t refused(Code, const std::string& what);
  int32_t refused(const std::string& why);
  int32_t load(ObjectLaunch&);
  Code run(const Launch&, void* const* addresses, int launches, int32_t& returned);
  const CapturedCalls& captured(const Launch&, int calls);
  Elapsed failed(Code, int32_t returned);

  const GpuDevice& device_;
  const OnDevice current_;  // on this thread, from now on
  const Linking linking_;
  KeptUploads* const uploads_;
  std::function<void()> give_back_;
  Stream stream_ = nullptr, into_ = nullptr;  // its own; where launches go now
  Event begin_ = nullptr, end_ = nullptr;
  std::vector<std::unique_ptr<Image>> images_;
  std::vector<LoadedModule> modules_;
  std::vector<ArgumentMemory> arguments_;
  std::vector<std::unique_ptr<DeviceMemory>> readable_;
  bool only_loads_ = false;  // launches bring their functions there and do not run
  Code code_ = 0;            // of the driver, where it refused
  std::string failure_;
  std::unique_ptr<CapturedCalls> captured_;
};

// Of a worker, whose requests come one after the other: each has the first device, and what they bring is kept there.
MakeDevice devices_in_turn();

}  // namespace tw::runtime::cuda
