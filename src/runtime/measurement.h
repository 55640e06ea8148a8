// The protocol of a measurement, on any device: a candidate is loaded, gets its arguments, runs, and only when what it
// wrote is right, and nothing else was written, it is timed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/runtime/device.h"
#include "src/runtime/device_checks.h"
#include "src/runtime/timing.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {

// An input that is in its place before the candidate is; no memory: it is not.
struct Uploaded {
  std::unique_ptr<DeviceMemory> memory;
  uint64_t digest = 0;
};

class Measurement {
 public:
  // Both outlive it. The request is sound. `uploaded`: by argument, or none at all.
  Measurement(const RunRequest&, Device&, std::vector<Uploaded> uploaded = {});

  // Each after the one before was true; where one is false, the result says why.
  bool load();     // the candidate's code runs from here on
  bool prepare();  // arguments, packed where it wants that
  bool check_first_run();
  void finish();  // the time; without a reference the outputs

  const RunResult& result() const { return result_; }

 private:
  bool fail(RunStatus status, std::string detail);
  std::string place(size_t i) const;
  const void* input(size_t i) const;
  bool prepare(size_t i);
  bool read_off_sizes();
  bool pack(size_t i, const std::string& packer);
  void poison(uint8_t byte);
  void move_arguments();
  double timed_runs(int runs);
  bool zones_are_whole();
  bool inputs_are_unchanged();
  bool outputs_are_right(uint8_t poisoned_with);
  bool check_output(size_t i, uint8_t poisoned_with);
  bool is_unchanged(size_t i);  // of an input
  void time();
  void keep_outputs();
  bool adaptive() const { return request_.number == 0 && request_.repeat == 0; }
  bool lags() const;
  void refuse_too_fast();
  double warm_up();
  Timing repeated(double one);

  const RunRequest& request_;
  Device& device_;
  DeviceChecks on_device_;
  const std::vector<size_t> offsets_;  // of the arguments in the request's blobs
  std::vector<Uploaded> uploaded_;
  Device::Launch launch_;
  KernelSpecs specs_;
  struct Argument {
    std::unique_ptr<DeviceMemory> memory;
    bool packed = false;
    uint64_t digest = 0;                   // of an input, before the first run
    std::optional<uint64_t> digest_there;  // the device's own, in its place
  };
  std::vector<Argument> arguments_;
  std::vector<int64_t> sizes_;    // that a kernel of any size takes
  std::vector<void*> addresses_;  // of the arguments, then of the sizes
  double first_s_ = 0;
  RunResult result_{.status = RunStatus::kOk, .seconds = 0, .spread = 0, .runs = 0, .detail = {}};
};

}  // namespace tw::runtime
