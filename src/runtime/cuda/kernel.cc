#include "src/runtime/cuda/kernel.h"

#include <algorithm>
#include <utility>

#include "src/runtime/cuda/failures.h"
#include "src/runtime/cuda/tensor_map.h"
#include "src/support/launch_limits.h"
#include "src/target/cuda.h"

namespace tw::runtime::cuda {

namespace {

thread_local Place place_of_thread;

}  // namespace

Placed::Placed(Place place) : outer_(std::exchange(place_of_thread, place)) {}
Placed::~Placed() { place_of_thread = outer_; }

CudaKernel::CudaKernel(Parts parts, std::shared_ptr<const Result<Image>> image, std::string arch)
    : parts_(std::move(parts)),
      image_(std::move(image)),
      arch_(std::move(arch)),
      interned_name_(interned(parts_.plan.kernel)) {
  if (parts_.plan.scratch.size() > kMostScratch)
    refuse("at most " + std::to_string(kMostScratch) + " intermediate tensors may be in global memory, not " +
               std::to_string(parts_.plan.scratch.size()),
           {"inline some of them, compute them in the launches that read them, or build them as several functions"});
  for (const Launch& launch : parts_.plan.launches) {
    if (launch.maps.size() > kMostMaps)
      refuse("a launch copies boxes of at most " + std::to_string(kMostMaps) + " arrays");
    if (launch.operands.size() > kMostOperands)
      refuse("a launch has at most " + std::to_string(kMostOperands) + " arrays and scalars, " + launch.symbol +
             " has " + std::to_string(launch.operands.size()));
  }
}

CudaKernel::~CudaKernel() = default;

CudaKernel::Loaded::~Loaded() {
  if (module != nullptr) if_current(device, [&](const Driver& driver) { driver.module_unload(module); });
}

void CudaKernel::refuse(const std::string& what, std::vector<std::string> notes) const {
  throw Error({ErrorKind::kArgument, name() + ": " + what, {}, std::move(notes)});
}

std::unique_ptr<CudaKernel::Loaded> CudaKernel::load(const GpuDevice& device) const {
  const Driver& driver = *device.driver;
  const std::string there = "cuda:" + std::to_string(device.ordinal);
  const bool runs = target::cuda::runs(device.arch, arch_);
  const bool translates = !runs && image_->ok() && !(*image_)->ptx.empty() &&
                          target::cuda::is_newer(device.capability_major, device.capability_minor, arch_);
  const bool older = device.capability_major < 8;
  if (!runs && !translates)
    throw Error({ErrorKind::kTarget,
                 name() + ": code for " + arch_ + " does not run on " + there + ", a " + device.name + " (" +
                     (device.arch.empty() ? older ? "older than sm_80" : "newer than all that this release knows"
                                          : device.arch) +
                     ")",
                 {},
                 {!device.arch.empty() ? "build it with target \"cuda -arch=" + device.arch + "\""
                  : older              ? "devices from sm_80 on are supported"
                          : "it uses what only " + arch_ + " has: build it for an architecture without a letter"}});
  if (!image_->ok()) throw Error(image_->error());
  auto loaded = std::make_unique<Loaded>(device);
  const Code failed = driver.module_load(&loaded->module, (translates ? (*image_)->ptx : (*image_)->cubin).c_str());
  if (const std::string why = why_not_loaded(driver, failed); !why.empty())
    throw Error({ErrorKind::kBuild,
                 name() + ": " + there + " does not take the code for " + arch_ + ": " + text_of(driver, failed),
                 {},
                 {why}});
  check(device, failed, name(), "loading its code on " + there);
  for (const Launch& launch : parts_.plan.launches) {
    Function function = nullptr;
    check(device, driver.module_function(&function, loaded->module, launch.symbol.c_str()), name(),
          "finding " + launch.symbol);
    if (launch.shared_bytes > 0)
      check(device, driver.function_set(function, kDynamicSharedBytes, static_cast<int>(launch.shared_bytes)), name(),
            "asking for " + std::to_string(launch.shared_bytes) + " bytes of shared memory");
    loaded->functions.push_back(function);
  }
  return loaded;
}

const CudaKernel::Loaded& CudaKernel::on(int ordinal) const {
  if (ordinal < 0 || ordinal >= static_cast<int>(kMostDevices))
    refuse("there is no device cuda:" + std::to_string(ordinal));
  const auto at = static_cast<size_t>(ordinal);
  if (const Loaded* ready = loaded_[at].load(std::memory_order_acquire)) return *ready;
  const GpuDevice& device = *gpu_device(ordinal).value_or_throw();
  const std::lock_guard lock(mutex_);
  if (!owned_[at]) {
    const OnDevice here(device);
    owned_[at] = load(device);
    loaded_[at].store(owned_[at].get(), std::memory_order_release);
  }
  return *owned_[at];
}

void CudaKernel::check_addresses(void* const* data) const {
  for (size_t i = 0; i < parts_.args.size(); ++i)
    if (reinterpret_cast<uintptr_t>(data[i]) % static_cast<uintptr_t>(parts_.plan.alignment[i]) != 0)
      refuse(parts_.args[i].name + " must begin at a multiple of " + std::to_string(parts_.plan.alignment[i]) +
                 " bytes, as its vectors are read and written as a whole",
             {"a view into an array may not: pass a copy"});
}

void CudaKernel::encode_map(const GpuDevice& device, const TensorMap& map, Address array, void* const* scalars,
                            EncodedMap& out) const {
  const Driver& driver = *device.driver;
  const std::string called = map.of.kind == OperandKind::kArgument ? parts_.args[map.of.number].name : "scratch";
  if (driver.tensor_map == nullptr)
    throw Error({ErrorKind::kTarget,
                 name() + ": the driver knows no tensor maps, which copies of boxes need",
                 {},
                 {"a driver of CUDA 12.0 or newer does; or copy by=\"cp.async\""}});
  const MapShape shape = shape_of(map, scalars);
  if (const std::string fault = map_fault(shape, array); !fault.empty())
    refuse(called + " is copied in boxes, and " + fault,
           {"pad its rows to a multiple of 16 bytes, or copy by=\"cp.async\""});
  check(device, encode(driver, shape, array, out), name(), "making a tensor map of " + called);
}

void CudaKernel::launch(const Loaded& loaded, size_t number, Stream stream, void* const* data,
                        const Address* scratch) const {
  const Launch& launch = parts_.plan.launches[number];
  void* const* scalars = data + parts_.args.size();
  if (launch.when.evaluate(scalars) == 0) return;
  unsigned sizes[6];
  int64_t threads = 1;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t blocks = launch.grid[d].evaluate(scalars), of_block = launch.block[d].evaluate(scalars);
    if (blocks <= 0 || of_block <= 0) return;
    if (blocks > support::kMostBlocksAlong[d])
      refuse("a launch has at most " + std::to_string(support::kMostBlocksAlong[d]) + " blocks along " + "xyz"[d] +
             ", not " + std::to_string(blocks));
    if (of_block > support::kMostThreadsAlong[d])
      refuse("a block has at most " + std::to_string(support::kMostThreadsAlong[d]) + " threads along " + "xyz"[d] +
             ", not " + std::to_string(of_block));
    threads *= of_block;
    sizes[d] = static_cast<unsigned>(blocks);
    sizes[3 + d] = static_cast<unsigned>(of_block);
  }
  if (threads > support::kMostThreadsOfBlock)
    refuse("a block has at most " + std::to_string(support::kMostThreadsOfBlock) + " threads, not " +
           std::to_string(threads));
  void* operands[kMostOperands];
  EncodedMap maps[kMostMaps];
  for (size_t i = 0; i < launch.operands.size(); ++i) {
    const Operand& operand = launch.operands[i];
    const void* at = operand.kind == OperandKind::kScalar ? scalars[operand.number] : data + operand.number;
    if (operand.kind == OperandKind::kScratch) at = scratch + operand.number;
    if (operand.kind == OperandKind::kMap) {
      const Operand& of = launch.maps[operand.number].of;
      const bool given = of.kind == OperandKind::kArgument;
      const auto address = given ? reinterpret_cast<Address>(data[of.number]) : scratch[of.number];
      encode_map(loaded.device, launch.maps[operand.number], address, scalars, maps[operand.number]);
      at = &maps[operand.number];
    }
    operands[i] = const_cast<void*>(at);  // the driver only reads them
  }
  const GpuDevice& device = loaded.device;
  const Code failed =
      device.driver->launch(loaded.functions[number], sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5],
                            static_cast<unsigned>(launch.shared_bytes), stream, operands, nullptr);
  if (failed != 0)
    check(device, failed, name(), "launching " + launch.symbol + " on cuda:" + std::to_string(device.ordinal),
          notes_of_stream(failed, device));
  note_launched(device.ordinal);
}

int32_t CudaKernel::run(void* const* data) const {
  const Place place = place_of_thread;
  const Loaded& loaded = on(place.ordinal);
  check_addresses(data);
  const GpuDevice& device = loaded.device;
  const OnDevice here(device);
  Address scratch[kMostScratch] = {};
  size_t held = 0;
  const auto give_back = [&] {
    while (held > 0) device.driver->release_on(scratch[--held], place.stream);
  };
  try {
    for (const Formula& size : parts_.plan.scratch) {
      const int64_t bytes = std::max<int64_t>(size.evaluate(data + parts_.args.size()), 1);
      const Code failed = device.driver->allocate_on(&scratch[held], static_cast<size_t>(bytes), place.stream);
      const std::string there = "cuda:" + std::to_string(place.ordinal);
      if (failed == kOutOfMemory)
        refuse("the call failed: there was no memory for its scratch on " + there,
               {std::to_string(bytes) + " bytes were asked for"});
      check(device, failed, name(), "allocating its scratch on " + there, notes_of_stream(failed, device));
      ++held;
    }
    for (size_t i = 0; i < parts_.plan.launches.size(); ++i) launch(loaded, i, place.stream, data, scratch);
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
  return 0;
}

void CudaKernel::note_launched(int ordinal) const { cuda::note_launched(ordinal, interned_name_); }

}  // namespace tw::runtime::cuda
