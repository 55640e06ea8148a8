#include "src/runtime/cuda/failures.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <unordered_set>

namespace tw::runtime::cuda {

namespace {

// The driver is shutting down; the device is unavailable, none, or no longer that one; its context was destroyed; its
// memory or its links have errors that cannot be corrected, or that it contains; the system is not ready; the service
// that shares the device is gone; nobody knows, as where a card has fallen off its bus.
constexpr Code kLost[] = {4, kUnavailable, kNoDevice, 101, 201, 214, 220, 226, 709, 802, 805, 806, 807, 810, 999};

// An address that is illegal, misaligned or of another space, an assertion, a stack, an instruction or a program
// counter that is none, and what the device does not say.
constexpr Code kOfKernels[] = {kIllegalAddress, 710, 714, 715, kMisaligned, 717, 718, kLaunchFailed};

// An image that is none, none for the device, text that is none or newer, an image of another kind.
constexpr Code kOfCode[] = {200, kNoBinary, 218, kNewerText, 300};

bool is_one_of(const auto& codes, Code code) {
  return std::find(std::begin(codes), std::end(codes), code) != std::end(codes);
}

constexpr size_t kCounted = 16;
std::atomic<const std::string*> last[kCounted];

std::vector<std::string> of_kernels(const std::string& device, const std::string& kernel) {
  return {kernel.empty() ? "a kernel that ran on " + device + " before is at fault"
                         : kernel + " was launched last on " + device + ": its fault, or that of one before it",
          "the device serves this process no more: end this process, and call the kernel with target=\"interp\", "
          "which checks every access"};
}

std::string last_kernel_on(int ordinal) {
  const std::string* name = ordinal >= 0 && ordinal < static_cast<int>(kCounted) ? last[ordinal].load() : nullptr;
  return name ? *name : "";
}

}  // namespace

bool is_lost(Code code) { return is_one_of(kLost, code); }

void check(const GpuDevice& device, Code code, const std::string& who, const std::string& what,
           std::vector<std::string> notes) {
  if (code == 0) return;
  const std::string there = "cuda:" + std::to_string(device.ordinal);
  if (is_lost(code)) notes = {there + " is lost or broken, whatever ran there: nvidia-smi shows what the driver sees"};
  if (is_one_of(kOfKernels, code)) notes = of_kernels(there, last_kernel_on(device.ordinal));
  throw Error({is_lost(code) ? ErrorKind::kTarget : ErrorKind::kArgument,
               who + ": " + what + " failed: " + text_of(*device.driver, code),
               {},
               std::move(notes)});
}

std::vector<std::string> notes_of_stream(Code code, const GpuDevice& device) {
  if (code != kInvalidHandle) return {};
  return {"the stream may be of another device, or gone: the arrays are on cuda:" + std::to_string(device.ordinal)};
}

std::string why_not_loaded(const Driver& driver, Code code) {
  int version = 0;
  if (!is_one_of(kOfCode, code) || driver.driver_version(&version) != 0) return "";
  return "the driver (CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) +
         ") may be older than the compiler: tw doctor shows both";
}

const std::string* interned(const std::string& kernel) {
  static std::mutex mutex;
  static auto* const names = new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return &*names->insert(kernel).first;
}

void note_launched(int ordinal, const std::string* interned_name) {
  last[ordinal].store(interned_name, std::memory_order_relaxed);
}

}  // namespace tw::runtime::cuda
