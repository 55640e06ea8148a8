// Kernels of a device: a plan and its image. Immutable and thread-safe, as other kernels are.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/runtime/cuda/device.h"
#include "src/runtime/cuda/image.h"
#include "src/runtime/cuda/plan.h"
#include "src/runtime/kernel.h"

namespace tw::runtime::cuda {

// Where this thread's calls run. run() only puts them into the stream's queue: whoever reads the outputs waits for it.
struct Place {
  int ordinal = 0;
  Stream stream = nullptr;  // the default one
};
class Placed {  // while it lives
 public:
  explicit Placed(Place);
  ~Placed();
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

 private:
  Place outer_;
};

class CudaKernel final : public Kernel, public Requiring {
 public:
  struct Parts {
    std::vector<ArgSpec> args;
    std::vector<ScalarSpec> scalars;
    std::vector<ir::Requirement> requirements;
    Packers packers;
    Plan plan;
  };
  // `image`: an error where there was none to be made, which calls then throw.
  CudaKernel(Parts parts, std::shared_ptr<const Result<Image>> image, std::string arch);
  ~CudaKernel() override;

  const std::string& name() const override { return parts_.plan.kernel; }
  const std::vector<ArgSpec>& args() const override { return parts_.args; }
  const std::vector<ScalarSpec>& scalars() const override { return parts_.scalars; }
  const std::vector<ir::Requirement>& requirements() const override { return parts_.requirements; }
  const Kernel* packer(size_t argument) const override {
    return argument < parts_.packers.size() ? parts_.packers[argument].get() : nullptr;
  }
  const std::string& arch() const { return arch_; }
  const Plan& plan() const { return parts_.plan; }

  // Addresses of the device's memory, then of the scalars' values. Allocates nothing but scratch, of the stream's pool,
  // and waits for nothing. Throws kTarget where no device of the architecture is, kArgument for what it refuses.
  int32_t run(void* const* data) const override;
  // Has the code ready there, as the first run does.
  void load_on(int ordinal) const { on(ordinal); }
  // It is the kernel that was launched last there.
  void note_launched(int ordinal) const;

 private:
  static constexpr size_t kMostDevices = 16, kMostOperands = 64, kMostScratch = 256, kMostMaps = 8;
  struct Loaded {
    explicit Loaded(const GpuDevice& on) : device(on) {}
    ~Loaded();
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;

    const GpuDevice& device;
    LoadedModule module = nullptr;
    std::vector<Function> functions;  // of each launch
  };
  const Loaded& on(int ordinal) const;
  std::unique_ptr<Loaded> load(const GpuDevice&) const;
  void check_addresses(void* const* data) const;
  void encode_map(const GpuDevice&, const TensorMap&, Address array, void* const* scalars,
                  struct EncodedMap& out) const;
  void launch(const Loaded&, size_t number, Stream, void* const* data, const Address* scratch) const;
  [[noreturn]] void refuse(const std::string& what, std::vector<std::string> notes = {}) const;

  Parts parts_;
  std::shared_ptr<const Result<Image>> image_;
  std::string arch_;
  const std::string* interned_name_;  // which outlives the kernel
  mutable std::mutex mutex_;          // of those who load
  mutable std::array<std::unique_ptr<Loaded>, kMostDevices> owned_;
  mutable std::array<std::atomic<const Loaded*>, kMostDevices> loaded_ = {};
};

// Times by the device's own clock, of calls one after the other. As runtime::time otherwise.
Timing time_on_device(const CudaKernel&, Place, std::span<const ArrayView>, const TimingOptions&,
                      std::span<const ScalarValue> scalars);

}  // namespace tw::runtime::cuda
