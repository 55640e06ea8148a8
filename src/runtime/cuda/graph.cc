#include "src/runtime/cuda/graph.h"

#include "src/runtime/cuda/failures.h"
#include "src/runtime/extents.h"

namespace tw::runtime::cuda {

namespace {

// A stream of our own, which records what is put into it.
class Recording {
 public:
  Recording(const GpuDevice& device, const std::string& kernel)
      : device_(device), driver_(*device.driver), kernel_(kernel) {
    check(device, driver_.stream_create(&stream_, kNonBlocking), kernel, "making a stream");
    if (const Code failed = driver_.capture_begin(stream_, kCaptureOfThread)) {
      driver_.stream_destroy(stream_);
      check(device, failed, kernel, "beginning a graph");
    }
  }
  ~Recording() {
    if (!ended_) end();
    if (graph_ != nullptr) driver_.graph_destroy(graph_);
    driver_.stream_destroy(stream_);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  Stream stream() const { return stream_; }
  Graph graph() {
    check(device_, end(), kernel_, "making a graph");
    return graph_;
  }

 private:
  Code end() {
    ended_ = true;
    return driver_.capture_end(stream_, &graph_);
  }

  const GpuDevice& device_;
  const Driver& driver_;
  const std::string& kernel_;
  Stream stream_ = nullptr;
  Graph graph_ = nullptr;
  bool ended_ = false;
};

}  // namespace

CallGraph::CallGraph(const CudaKernel& kernel, int ordinal, std::span<const ArrayView> views,
                     std::span<const ScalarValue> scalars)
    : kernel_(kernel), device_(gpu_device(ordinal).value_or_throw()) {
  BoundCall call = checked_call(kernel, views, scalars).value_or_throw();
  const std::vector<void*> data = addresses(views, call);
  const Driver& driver = *device_->driver;
  const OnDevice here(*device_);
  kernel.load_on(ordinal);  // modules are loaded outside of a capture
  Recording recording(*device_, kernel.name());
  {
    const Placed placed({ordinal, recording.stream()});
    kernel.run(data.data());
  }
  check(*device_, driver.graph_make(&graph_, recording.graph(), 0), kernel.name(), "making a graph");
}

CallGraph::~CallGraph() {
  if_current(*device_, [&](const Driver& driver) { driver.graph_unmake(graph_); });
}

void CallGraph::run(Stream stream) const {
  const OnDevice here(*device_);
  if (const Code failed = device_->driver->graph_run(graph_, stream))
    check(*device_, failed, kernel_.name(), "launching its graph on cuda:" + std::to_string(device_->ordinal),
          notes_of_stream(failed, *device_));
  kernel_.note_launched(device_->ordinal);
}

}  // namespace tw::runtime::cuda
