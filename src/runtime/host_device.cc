#include "src/runtime/host_device.h"

#include "src/runtime/guarded_buffer.h"
#include "src/runtime/thread_pool.h"
#include "src/runtime/timing.h"

namespace tw::runtime {
namespace {

Diagnostic refused(std::string what) { return {ErrorKind::kBuild, std::move(what), {}, {}}; }

}  // namespace

HostDevice::HostDevice(int threads, const Linking& linking) : linking_(linking) { start_pinned(threads); }

std::unique_ptr<DeviceMemory> HostDevice::allocate(size_t bytes, size_t place) {
  return std::make_unique<GuardedBuffer>(bytes, place);
}

Status HostDevice::load(const Blob& object) {
  TW_TRY(image_, linking_.load(object));
  return Unit{};
}

Result<KernelSpecs> HostDevice::specs(const std::string& kernel) const {
  const void* descriptor = image_->symbol(descriptor_symbol(kernel));
  if (!descriptor) return KernelSpecs{};
  const auto& stated = *static_cast<const tw_kernel_descriptor*>(descriptor);
  if (const std::string missing = lacking_here(stated); !missing.empty())
    return refused("this CPU does not have " + missing);
  return specs_of(stated);
}

Result<Device::Launch> HostDevice::find(const std::string& kernel) const {
  const auto fn = reinterpret_cast<KernelFn>(image_->symbol(kernel_symbol(kernel)));
  if (!fn) return refused("no symbol " + kernel_symbol(kernel));
  TW_TRY(const KernelSpecs stated, specs(kernel));
  TW_TRY(const Externs externs, linking_.find_externs(kernel, stated.externs));
  return Launch([fn, externs](void* const* addresses) {
    const tw_args args{sizeof(tw_args), TW_ABI_VERSION, addresses};
    tw_context context = *host_context();
    context.externs = externs.data();
    return fn(&args, &context);
  });
}

Device::Elapsed HostDevice::time(const Launch& launch, void* const* addresses, int launches) {
  Elapsed elapsed;
  const double start = seconds_now();
  for (int i = 0; i < launches && elapsed.code == 0; ++i) elapsed.code = launch(addresses);
  elapsed.seconds = seconds_now() - start;
  return elapsed;
}

}  // namespace tw::runtime
