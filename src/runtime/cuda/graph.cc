#include "src/runtime/cuda/graph.h"

#include "src/runtime/extents.h"

namespace tw::runtime::cuda {

namespace {

// A stream of our own, which records what is put into it.
class Recording {
 public:
  Recording(const Driver& driver, const std::string& kernel) : driver_(driver), kernel_(kernel) {
    check(driver, driver.stream_create(&stream_, kNonBlocking), kernel, "making a stream");
    if (const Code failed = driver.capture_begin(stream_, kCaptureOfThread)) {
      driver.stream_destroy(stream_);
      check(driver, failed, kernel, "beginning a graph");
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
    check(driver_, end(), kernel_, "making a graph");
    return graph_;
  }

 private:
  Code end() {
    ended_ = true;
    return driver_.capture_end(stream_, &graph_);
  }

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
  Recording recording(driver, kernel.name());
  {
    const Placed placed({ordinal, recording.stream()});
    kernel.run(data.data());
  }
  check(driver, driver.graph_make(&graph_, recording.graph(), 0), kernel.name(), "making a graph");
}

CallGraph::~CallGraph() {
  Context left = nullptr;
  const Driver& driver = *device_->driver;
  if (driver.push_context(device_->context()) != 0) return;  // the process ends
  driver.graph_unmake(graph_);
  driver.pop_context(&left);
}

void CallGraph::run(Stream stream) const {
  const OnDevice here(*device_);
  check(*device_->driver, device_->driver->graph_run(graph_, stream), kernel_.name(),
        "launching its graph on cuda:" + std::to_string(device_->ordinal));
  kernel_.note_launched(device_->ordinal);
}

}  // namespace tw::runtime::cuda
