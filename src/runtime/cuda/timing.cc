// Calls timed by events of the stream: what the host does meanwhile is not part of it.
#include "src/runtime/timing.h"

#include "src/runtime/cuda/failures.h"
#include "src/runtime/cuda/kernel.h"
#include "src/runtime/extents.h"

namespace tw::runtime::cuda {

namespace {

class TimedEvent {
 public:
  explicit TimedEvent(const GpuDevice& device) : device_(device) {
    check(device, device.driver->event_create(&event_, 0), "time", "making an event");
  }
  ~TimedEvent() { device_.driver->event_destroy(event_); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;
  Event get() const { return event_; }

 private:
  const GpuDevice& device_;
  Event event_ = nullptr;
};

}  // namespace

Timing time_on_device(const CudaKernel& kernel, Place place, std::span<const ArrayView> views,
                      const TimingOptions& options, std::span<const ScalarValue> scalars) {
  check_timing(options);
  BoundCall call = checked_call(kernel, views, scalars).value_or_throw();
  const std::vector<void*> data = addresses(views, call);
  const Placed placed(place);
  const GpuDevice& device = *gpu_device(place.ordinal).value_or_throw();
  const OnDevice here(device);
  const TimedEvent begin(device), end(device);
  const auto timed = [&](int calls) {
    const Driver& driver = *device.driver;
    check(device, driver.event_record(begin.get(), place.stream), kernel.name(), "timing");
    for (int i = 0; i < calls; ++i) kernel.run(data.data());
    float milliseconds = 0;
    check(device, driver.event_record(end.get(), place.stream), kernel.name(), "timing");
    check(device, driver.event_finish(end.get()), kernel.name(), "the call");
    check(device, driver.event_between(&milliseconds, begin.get(), end.get()), kernel.name(), "timing");
    return static_cast<double>(milliseconds) * 1e-3;
  };
  timed(1);
  const TimingPolicy policy{
      .number = options.number, .repeat = options.repeat, .repeat_s = options.min_repeat_ms * 1e-3};
  return measure(timed, timed(1), policy);
}

}  // namespace tw::runtime::cuda
