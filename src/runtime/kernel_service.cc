#include "src/runtime/kernel_service.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <thread>

#include "src/runtime/confinement.h"
#include "src/runtime/elf_object.h"
#include "src/runtime/kernel.h"
#include "src/runtime/kernel_calls.h"
#include "src/runtime/kernel_names.h"
#include "src/runtime/run_worker.h"
#include "src/runtime/shared_memory.h"
#include "src/runtime/thread_pool.h"
#include "src/target/cpu.h"

namespace tw::runtime {
namespace {

constexpr double kForEver = std::numeric_limits<double>::infinity();

Diagnostic refused(std::string what, std::vector<std::string> notes = {}) {
  return {ErrorKind::kBuild, std::move(what), {}, std::move(notes)};
}

Result<std::string> chosen(const LoadKernel& load) {
  TW_TRY(const ElfObject object, read_elf(load.object.bytes(), static_cast<uint64_t>(sysconf(_SC_PAGESIZE))));
  std::vector<std::string> symbols;
  for (const auto& [symbol, address] : object.symbols) symbols.push_back(symbol);
  return choose_kernel(symbols, load.name, "the object", "say which");
}

// Numbers that others gave: counted as reals, which do not overflow.
bool fits(const PlacedArray& array, size_t bytes) {
  const bool strided = !array.strides.empty();
  if (strided && array.strides.size() != array.shape.size()) return false;
  double elements = 1, reach = 1;
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const int64_t extent = array.shape[d], stride = strided ? array.strides[d] : 0;
    if (extent < 0 || stride < 0) return false;
    elements *= static_cast<double>(extent);
    reach += static_cast<double>(std::max<int64_t>(extent, 1) - 1) * static_cast<double>(stride);
  }
  const double spanned = elements == 0 ? 0 : strided ? reach : elements;
  constexpr double kMost = 1e15;  // more is nowhere
  return spanned < kMost && array.dtype.bytes_of(static_cast<int64_t>(spanned)) <= static_cast<int64_t>(bytes);
}

KernelSummary summary_of(const Kernel& kernel) {
  KernelSummary summary{kernel.name(), kernel.args(), {}};
  for (const ScalarSpec& scalar : kernel.scalars())
    if (scalar.place >= 0) summary.scalars.push_back(scalar);
  return summary;
}

class Service {
 public:
  Service(const Linking& linking, std::vector<Layer> layers, std::vector<std::string> required)
      : linking_(linking), layers_(std::move(layers)), required_(std::move(required)) {}

  KernelAnswer answer(KernelRequest& request, std::vector<support::Descriptor>& descriptors) {
    KernelAnswer answer;
    const Status done = std::visit([&](auto& r) { return serve(r, descriptors, answer); }, request);
    if (!done) answer.refused = done.error();
    return answer;
  }

 private:
  Status serve(LoadKernel& load, std::vector<support::Descriptor>&, KernelAnswer& answer) {
    if (kernel_) return refused("a kernel is loaded already");
    TW_TRY(const std::string name, chosen(load));
    start_pinned(load.threads);
    TW_TRY(std::shared_ptr<Image> image, linking_.load(load.object));
    TW_TRY(std::shared_ptr<const Kernel> kernel, kernel_in(std::move(image), name));  // reads, on a stack of its own
    layers_.push_back(seal(Talk::kListens));
    if (const std::string why = lacking(layers_, required_); !why.empty()) return refused("the sandbox lacks " + why);
    kernel_ = std::move(kernel);
    answer.loaded = summary_of(*kernel_);
    return Unit{};
  }

  Result<std::shared_ptr<const Kernel>> kernel_in(std::shared_ptr<Image> image, const std::string& name) const {
    const auto* descriptor = static_cast<const tw_kernel_descriptor*>(image->symbol(descriptor_symbol(name)));
    const auto fn = reinterpret_cast<KernelFn>(image->symbol(kernel_symbol(name)));
    if (!descriptor || !fn) return refused("the object has a descriptor of " + name + " but no code for it");
    if (const std::string missing = lacking_here(*descriptor); !missing.empty())
      return Diagnostic{ErrorKind::kTarget,
                        name + " was built for " + std::string(descriptor->target),
                        {},
                        {"this CPU does not have " + missing}};
    TW_TRY(KernelSpecs specs, specs_of(*descriptor));
    TW_TRY(Externs externs, linking_.find_externs(name, specs.externs));
    return make_kernel(fn, std::move(specs.args), name, std::move(image), std::move(specs.scalars), std::move(externs),
                       {}, std::move(specs.requirements));
  }

  Status serve(const ShareMemory& share, std::vector<support::Descriptor>& descriptors, KernelAnswer&) {
    memory_.erase(share.memory);
    memory_.emplace(share.memory, SharedMemory(std::move(descriptors[0]), share.bytes));
    return Unit{};
  }

  Status serve(const ForgetMemory& forget, std::vector<support::Descriptor>&, KernelAnswer&) {
    memory_.erase(forget.memory);
    return Unit{};
  }

  Status serve(const CallKernel& request, std::vector<support::Descriptor>&, KernelAnswer& answer) {
    if (!kernel_) return refused("no kernel is loaded");
    std::vector<ArrayView> views;
    for (const PlacedArray& array : request.arrays) {
      TW_TRY(ArrayView view, view_of(array));
      views.push_back(std::move(view));
    }
    if (request.timing)
      answer.runs = timed(views, request);
    else
      call(*kernel_, views, request.scalars);
    return Unit{};
  }

  Result<ArrayView> view_of(const PlacedArray& array) const {
    const auto found = memory_.find(array.memory);
    if (found == memory_.end()) return refused("there is no memory " + std::to_string(array.memory));
    if (!fits(array, found->second.size()))
      return Diagnostic{ErrorKind::kArgument, "an array reaches beyond its memory", {}, {}};
    return ArrayView{
        .data = found->second.data(), .dtype = array.dtype, .shape = array.shape, .strides = array.strides};
  }

  std::vector<double> timed(std::span<const ArrayView> views, const CallKernel& request) const {
    TimingOptions options = *request.timing;
    if (request.cooldown_s <= 0) return time(*kernel_, views, options, request.scalars).runs;
    const int repeats = std::exchange(options.repeat, 1);
    std::vector<double> runs;
    for (int i = 0; i < repeats; ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::duration<double>(request.cooldown_s));
      runs.push_back(time(*kernel_, views, options, request.scalars).median);
    }
    return runs;
  }

  const Linking linking_;
  std::vector<Layer> layers_;
  const std::vector<std::string> required_;
  std::shared_ptr<const Kernel> kernel_;
  std::map<uint64_t, SharedMemory> memory_;
};

KernelAnswer answered(Service& service, KernelRequest& request, std::vector<support::Descriptor>& descriptors) try {
  return service.answer(request, descriptors);
} catch (const Error& error) {
  return {.refused = error.diagnostic()};
} catch (const std::bad_alloc&) {
  return {.refused = Diagnostic{ErrorKind::kArgument, "there is not enough memory", {}, {}}};
}

}  // namespace

int serve_kernel(int channel, const Linking& linking, const std::vector<std::string>& required) {
  target::host_cpu();  // looks into files, and makes calls, that are gone afterwards
  Service service(linking, confine(), required);
  for (ReceivedMessage message; receive_message(channel, kForEver, message) == Received::kFrame;) {
    std::optional<KernelRequest> request = decode_kernel_request(message);
    if (!request) return kWorkerFault;
    if (!send_message(channel, encode(answered(service, *request, message.blobs)))) break;
  }
  _exit(0);  // destructors would walk over what the kernel may have damaged
}

}  // namespace tw::runtime
