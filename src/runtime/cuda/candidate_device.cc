#include "src/runtime/cuda/candidate_device.h"

#include <algorithm>
#include <cstring>

#include "src/runtime/cuda/failures.h"
#include "src/runtime/cuda/guarded_memory.h"
#include "src/runtime/cuda/kept_uploads.h"
#include "src/runtime/cuda/lost.h"
#include "src/runtime/cuda/tensor_map.h"
#include "src/support/launch_limits.h"
#include "src/target/cuda.h"

namespace tw::runtime::cuda {

// As codegen lays them out (codegen/llvm/emit_launches.cc), with room for what the driver gives on each device; but for
// what newer ones translate, which candidates lack.
struct ObjectImage {
  const char* arch;
  uint32_t major, minor, exact, translated;
  const void* bytes;
  LoadedModule modules[16];
};
struct ObjectLaunch {
  ObjectImage* image;
  const char* symbol;
  int64_t shared_bytes;
  Function functions[16];
};

MakeDevice devices_in_turn() {
  return [uploads = std::shared_ptr<KeptUploads>()](const RunRequest& request) mutable {
    if (!uploads) uploads = std::make_shared<KeptUploads>(0);
    uploads->serve(request);
    return std::make_unique<CandidateDevice>(0, without_dynamic_linker(), uploads.get());
  };
}

namespace {

constexpr int kCapturedCalls = 32;  // at most
constexpr int32_t kRefused = 8;     // what the object's code returns where a launch was refused
constexpr int32_t kMisplaced = 7;   // or an argument does not begin where its vectors may
constexpr const char *kLaunchFunction = "tensorwright_launch", *kMapFunction = "tensorwright_map";

Diagnostic refusal(std::string what) { return {ErrorKind::kBuild, std::move(what), {}, {}}; }

}  // namespace

// So many calls, as a graph.
class CandidateDevice::CapturedCalls {
 public:
  CapturedCalls(CandidateDevice& device, const Launch& launch, int calls)
      : driver_(*device.device_.driver),
        of_(&launch),
        calls_(calls),
        sets_(device.device_, device.stream_, device.arguments_, calls) {
    Stream recording = nullptr;
    Graph graph = nullptr;
    code_ = driver_.stream_create(&recording, kNonBlocking);
    if (code_ != 0) return;
    code_ = driver_.capture_begin(recording, kCaptureOfThread);
    if (code_ == 0) {
      device.into_ = recording;
      for (int i = 0; i < calls && returned_ == 0; ++i) returned_ = launch(sets_.of_call(i));
      device.into_ = device.stream_;
      code_ = driver_.capture_end(recording, &graph);
    }
    if (code_ == 0 && returned_ == 0) code_ = driver_.graph_make(&runnable_, graph, 0);
    if (graph != nullptr) driver_.graph_destroy(graph);
    driver_.stream_destroy(recording);
  }
  ~CapturedCalls() {
    if (runnable_ != nullptr) driver_.graph_unmake(runnable_);
  }
  CapturedCalls(const CapturedCalls&) = delete;
  CapturedCalls& operator=(const CapturedCalls&) = delete;

  bool is_of(const Launch& launch, int calls) const { return of_ == &launch && calls_ == calls; }
  Code run(Stream stream) const { return code_ != 0 || returned_ != 0 ? code_ : driver_.graph_run(runnable_, stream); }
  int32_t returned() const { return returned_; }

 private:
  const Driver& driver_;
  const Launch* of_;
  int calls_;
  const ArgumentSets sets_;
  RunnableGraph runnable_ = nullptr;
  Code code_ = 0;
  int32_t returned_ = 0;
};

CandidateDevice::CandidateDevice(int ordinal, const Linking& linking, KeptUploads* uploads)
    : device_(*gpu_device(ordinal).value_or_throw()), current_(device_), linking_(linking), uploads_(uploads) {
  const Driver& driver = *device_.driver;
  require_done(device_, driver.stream_create(&stream_, kNonBlocking), "making a stream");
  require_done(device_, driver.event_create(&begin_, 0), "making an event");
  require_done(device_, driver.event_create(&end_, 0), "making an event");
  into_ = stream_;
}

CandidateDevice::~CandidateDevice() {
  captured_.reset();
  for (const LoadedModule module : modules_) device_.driver->module_unload(module);
  if (begin_ != nullptr) device_.driver->event_destroy(begin_);
  if (end_ != nullptr) device_.driver->event_destroy(end_);
  device_.driver->stream_destroy(stream_);
}

std::unique_ptr<DeviceMemory> CandidateDevice::allocate(size_t bytes, size_t /*place*/) {
  auto memory = std::make_unique<GuardedMemory>(device_, stream_, bytes, uploads_);
  arguments_.push_back({reinterpret_cast<Address>(memory->address()), bytes});
  return memory;
}

const void* CandidateDevice::readable(const void* bytes, size_t count) {
  readable_.push_back(std::make_unique<GuardedMemory>(device_, stream_, count, uploads_));
  readable_.back()->upload(bytes);
  return readable_.back()->address();
}

std::unique_ptr<DeviceMemory> CandidateDevice::scratch(size_t bytes) {
  return std::make_unique<GuardedMemory>(device_, stream_, bytes, uploads_);
}

Status CandidateDevice::load(const Blob& object) {
  TW_TRY(images_.emplace_back(), linking_.load(object));
  return Unit{};
}

void* CandidateDevice::symbol(const std::string& name) const {
  for (const std::unique_ptr<Image>& image : images_)
    if (void* found = image ? image->symbol(name) : nullptr) return found;
  return nullptr;
}

Result<KernelSpecs> CandidateDevice::specs(const std::string& kernel) const {
  const void* descriptor = symbol(descriptor_symbol(kernel));
  if (!descriptor) return refusal(kernel + " has no descriptor");
  const auto& stated = *static_cast<const tw_kernel_descriptor*>(descriptor);
  if (const std::string missing = lacking_here(stated); !missing.empty())
    return refusal("this CPU does not have " + missing);
  TW_TRY(KernelSpecs specs, specs_of(stated));
  const std::vector<std::string> plain = {kLaunchFunction}, with_maps = {kLaunchFunction, kMapFunction};
  if (specs.externs != plain && specs.externs != with_maps) return refusal(kernel + " is no kernel for a GPU");
  return specs;
}

Result<Device::Launch> CandidateDevice::find(const std::string& kernel) const {
  const auto fn = reinterpret_cast<KernelFn>(symbol(kernel_symbol(kernel)));
  if (!fn) return refusal("no symbol " + kernel_symbol(kernel));
  TW_TRY([[maybe_unused]] const KernelSpecs stated, specs(kernel));
  return Launch([fn, self = const_cast<CandidateDevice*>(this)](void* const* addresses) {
    static void (*const functions[])() = {reinterpret_cast<void (*)()>(&on_launch),
                                          reinterpret_cast<void (*)()>(&on_map)};
    const tw_args args{sizeof(tw_args), TW_ABI_VERSION, addresses};
    tw_context context = *host_context();
    context.alloc = &on_alloc;
    context.release = &on_release;
    context.state = self;
    context.externs = functions;
    return fn(&args, &context);
  });
}

// ------------------------------------------------------------------------------------ what the object's code calls
// It is C to whom nothing may be thrown.

int32_t CandidateDevice::on_launch(const tw_context* self, ObjectLaunch* launch, const int64_t* sizes,
                                   void** operands) {
  return static_cast<CandidateDevice*>(self->state)->launch(*launch, sizes, operands);
}

int32_t CandidateDevice::on_map(const tw_context* self, void* map, void* array, const int64_t* shape) {
  auto& here = *static_cast<CandidateDevice*>(self->state);
  MapShape given{shape[0], shape[1], shape[2], {}};
  std::memcpy(given.axes, shape + 3, static_cast<size_t>(given.rank) * sizeof(MapShape::Axis));
  const auto address = static_cast<Address>(reinterpret_cast<uintptr_t>(array));
  if (const std::string fault = map_fault(given, address); !fault.empty())
    return here.refused("an array that is copied in boxes: " + fault);
  if (here.device_.driver->tensor_map == nullptr)
    return here.refused("the driver knows no tensor maps, which copies of boxes need: one of CUDA 12.0 or newer does");
  const Code failed = encode(*here.device_.driver, given, address, *static_cast<EncodedMap*>(map));
  return failed == 0 ? 0 : here.refused(failed, "making a tensor map");
}

void* CandidateDevice::on_alloc(const tw_context* self, size_t bytes) {
  auto& here = *static_cast<CandidateDevice*>(self->state);
  Address memory = 0;
  Code failed = here.device_.driver->allocate_on(&memory, bytes, here.into_);
  const auto again_without = [&](const auto& give_way) {
    give_way();
    failed = here.device_.driver->allocate_on(&memory, bytes, here.into_);
  };
  if (failed == kOutOfMemory && here.uploads_) again_without([&] { here.uploads_->give_way(); });
  if (failed == kOutOfMemory && here.give_back_) again_without(here.give_back_);
  if (failed != 0) {
    here.refused(failed, "allocating " + std::to_string(bytes) + " bytes of scratch");
    return nullptr;
  }
  return reinterpret_cast<void*>(memory);
}

void CandidateDevice::on_release(const tw_context* self, void* memory) {
  const auto& here = *static_cast<const CandidateDevice*>(self->state);
  here.device_.driver->release_on(reinterpret_cast<Address>(memory), here.into_);
}

int32_t CandidateDevice::refused(const std::string& why) {
  failure_ = why;
  return kRefused;
}

int32_t CandidateDevice::refused(Code code, const std::string& what) {
  code_ = code;
  return refused(what + " failed: " + text_of(*device_.driver, code));
}

int32_t CandidateDevice::load(ObjectLaunch& launch) {
  const Driver& driver = *device_.driver;
  const std::string arch = launch.image->arch, name = launch.symbol;
  if (!target::cuda::runs(device_.arch, arch)) return refused("it is a " + device_.arch + ", and the code for " + arch);
  LoadedModule& module = launch.image->modules[0];
  if (module == nullptr)
    if (const Code failed = driver.module_load(&module, launch.image->bytes)) {
      const std::string why = why_not_loaded(driver, failed);
      const int32_t code = refused(failed, "loading " + name);
      if (!why.empty()) failure_ += "; " + why;
      return code;
    }
  if (std::find(modules_.begin(), modules_.end(), module) == modules_.end()) modules_.push_back(module);
  Function function = nullptr;
  if (const Code failed = driver.module_function(&function, module, launch.symbol))
    return refused(failed, "finding " + name);
  if (launch.shared_bytes > 0)
    if (const Code failed = driver.function_set(function, kDynamicSharedBytes, static_cast<int>(launch.shared_bytes)))
      return refused(failed, "asking for " + std::to_string(launch.shared_bytes) + " bytes of shared memory");
  launch.functions[0] = function;
  return 0;
}

int32_t CandidateDevice::launch(ObjectLaunch& launch, const int64_t* sizes, void** operands) {
  unsigned given[6];
  for (size_t i = 0; i < 6; ++i) {
    if (sizes[i] <= 0) return 0;
    if (sizes[i] > (i < 3 ? support::kMostBlocksAlong[i] : support::kMostThreadsAlong[i - 3]))
      return refused(std::string(launch.symbol) + " has too many blocks or threads");
    given[i] = static_cast<unsigned>(sizes[i]);
  }
  if (launch.functions[0] == nullptr)
    if (const int32_t code = load(launch)) return code;
  if (only_loads_) return 0;
  const Code failed =
      device_.driver->launch(launch.functions[0], given[0], given[1], given[2], given[3], given[4], given[5],
                             static_cast<unsigned>(launch.shared_bytes), into_, operands, nullptr);
  return failed == 0 ? 0 : refused(failed, "launching " + std::string(launch.symbol));
}

// ----------------------------------------------------------------------------------------------------------- the clock

const CandidateDevice::CapturedCalls& CandidateDevice::captured(const Launch& launch, int calls) {
  if (!captured_ || !captured_->is_of(launch, calls)) {
    captured_.reset();
    captured_ = std::make_unique<CapturedCalls>(*this, launch, calls);
  }
  return *captured_;
}

// All of it is in the stream's queue then. A graph holds so many calls that few are left to be made one by one.
Code CandidateDevice::run(const Launch& launch, void* const* addresses, int launches, int32_t& returned) {
  const Driver& driver = *device_.driver;
  const int replays = launches > 1 ? (launches + kCapturedCalls - 1) / kCapturedCalls : 0;
  const CapturedCalls* graph = replays > 0 ? &captured(launch, launches / replays) : nullptr;
  if (graph && graph->returned() != 0) return returned = graph->returned(), 0;
  if (const Code failed = driver.event_record(begin_, stream_)) return failed;
  for (int i = 0; i < replays; ++i)
    if (const Code failed = graph->run(stream_)) return failed;
  for (int left = replays > 0 ? launches % replays : launches; left > 0; --left)
    if ((returned = launch(addresses)) != 0) return 0;
  return driver.event_record(end_, stream_);
}

Device::Elapsed CandidateDevice::failed(Code code, int32_t returned) {
  if (code == 0) code = code_;
  require_not_lost(device_, code);
  if (returned == kMisplaced) return {returned, 0, "its vectors do not begin where its arguments do"};
  if (returned != 0) return {returned, 0, failure_};
  return {code, 0, text_of(*device_.driver, code)};
}

Device::Elapsed CandidateDevice::time(const Launch& launch, void* const* addresses, int launches) {
  const Driver& driver = *device_.driver;
  only_loads_ = true;  // loading waits for the device, and is no part of a call
  int32_t returned = launch(addresses);
  only_loads_ = false;
  if (returned != 0) return failed(0, returned);
  if (const Code code = run(launch, addresses, launches, returned); code != 0 || returned != 0)
    return failed(code, returned);
  float milliseconds = 0;
  if (const Code code = driver.event_finish(end_)) return failed(code, 0);
  if (const Code code = driver.event_between(&milliseconds, begin_, end_)) return failed(code, 0);
  return {0, static_cast<double>(milliseconds) * 1e-3, {}};
}

}  // namespace tw::runtime::cuda
