#include "src/runtime/cuda/device.h"

#include <map>
#include <memory>
#include <mutex>

#include "src/runtime/cuda/failures.h"
#include "src/target/cuda.h"

namespace tw::runtime::cuda {

namespace {

int attribute(const Driver& driver, DeviceAttribute which, DeviceNumber device) {
  int value = 0;
  driver.device_attribute(&value, which, device);
  return value;
}

Result<std::unique_ptr<const GpuDevice>> open(const Driver& driver, int ordinal) {
  auto out = std::make_unique<GpuDevice>();
  if (driver.device(&out->number, ordinal) != 0)
    return Diagnostic{ErrorKind::kTarget,
                      "cuda: there is no device cuda:" + std::to_string(ordinal),
                      {},
                      {"this machine has " + std::to_string(device_count()) + ", from cuda:0"}};
  char name[256] = "";
  size_t bytes = 0;
  driver.device_name(name, sizeof name, out->number);
  driver.device_memory(&bytes, out->number);
  out->driver = &driver;
  out->ordinal = ordinal;
  out->name = name;
  out->memory_bytes = static_cast<int64_t>(bytes);
  out->capability_major = attribute(driver, kCapabilityMajor, out->number);
  out->capability_minor = attribute(driver, kCapabilityMinor, out->number);
  out->arch = target::cuda::architecture_of(out->capability_major, out->capability_minor);
  out->processors = attribute(driver, kProcessors, out->number);
  return std::unique_ptr<const GpuDevice>(std::move(out));
}

// Where a target without an architecture asks for the device that is here.
const bool kRegistered = [] {
  target::cuda::register_device([]() -> std::string {
    const Result<const GpuDevice*> first = gpu_device(0);
    return first.ok() ? (*first)->arch : "";
  });
  return true;
}();

}  // namespace

int device_count() {
  const Result<const Driver*> here = driver();
  int devices = 0;
  return here.ok() && (*here)->device_count(&devices) == 0 ? devices : 0;
}

Result<const GpuDevice*> gpu_device(int ordinal) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<const GpuDevice>> known;
  TW_TRY(const Driver* here, driver());
  const std::lock_guard lock(mutex);
  std::unique_ptr<const GpuDevice>& device = known[ordinal];
  if (!device) {
    TW_TRY(device, open(*here, ordinal));
  }
  return device.get();
}

Context GpuDevice::context() const {
  std::call_once(once_, [&] { failed_ = driver->primary_context(&context_, number); });
  if (failed_ == 0) return context_;
  throw Error({ErrorKind::kTarget,
               "cuda: the device cuda:" + std::to_string(ordinal) + " cannot be used: " + text_of(*driver, failed_),
               {},
               {}});
}

OnDevice::OnDevice(const GpuDevice& device) : device_(device) {
  Context current = nullptr;
  const Context wanted = device.context();
  device.driver->current_context(&current);
  if (current == wanted) return;
  check(device, device.driver->push_context(wanted), "cuda:" + std::to_string(device.ordinal), "making it current");
  pushed_ = true;
}

OnDevice::~OnDevice() {
  Context left = nullptr;
  if (pushed_) device_.driver->pop_context(&left);
}

std::optional<int> ordinal_of(const void* address) {
  const Result<const Driver*> here = driver();
  int ordinal = -1;
  if (!here.ok() || (*here)->pointer_attribute(&ordinal, kOrdinalOfPointer, reinterpret_cast<Address>(address)) != 0)
    return std::nullopt;
  return ordinal < 0 ? std::nullopt : std::optional(ordinal);
}

}  // namespace tw::runtime::cuda
