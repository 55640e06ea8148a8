// What can be said of arguments where they are, without bringing them to the host: by kernels of an object that comes
// with the request.
//
//   tw_check_2(got, expected, tolerances, wrong)   of an output, argument 2: how many elements of each part may differ
//   tw_check_0(words, digests)                     of an input: a digest of each part
//
// Small arguments have none, and what a kernel cannot do, as where memory is short, the host does: it says nothing
// then, and has no memory that a candidate's scratch needs. Where an output may be wrong the host looks, and finds the
// words.
#pragma once

#include <map>
#include <optional>

#include "src/runtime/device.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {

constexpr int64_t kCheckParts = 1 << 15;           // a thread's each
constexpr size_t kLeastChecked = size_t{1} << 20;  // bytes of an argument
std::string check_kernel(size_t argument);         // its name
bool is_checked_on_device(const ArgSpec&);         // whether there is a kernel of it

class DeviceChecks {
 public:
  DeviceChecks(const RunRequest&, Device&);  // both outlive it
  ~DeviceChecks();
  DeviceChecks(const DeviceChecks&) = delete;
  DeviceChecks& operator=(const DeviceChecks&) = delete;

  // Whether each element is certainly as expected, by the rule of compare.h.
  bool agrees(size_t argument, const DeviceMemory& output, const void* expected);
  std::optional<uint64_t> digest(size_t argument, const DeviceMemory& input);

 private:
  struct Check {
    Device::Launch kernel;
    std::unique_ptr<DeviceMemory> parts, expected, tolerances;
  };
  Check* check_of(size_t argument, size_t bytes_of_part);
  bool run(Check&, std::vector<void*> addresses);
  void give_way();  // to a candidate that needs the memory

  const RunRequest& request_;
  Device& device_;
  bool loaded_ = false, gone_ = false, running_ = false;
  std::map<size_t, Check> checks_;  // by argument
};

}  // namespace tw::runtime
