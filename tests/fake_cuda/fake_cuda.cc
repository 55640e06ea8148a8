// A driver of CUDA without a device: the functions that src/runtime/cuda calls, over memory of the host. A launch runs
// the interpreter, with all its checks, on the program that the image holds (codegen/cuda/program_image.h), and only
// after the sizes that were asked for have been compared with what the program says.
//
// TW_CUDA_DRIVER names this library, TW_CUDA_IMAGES=ir has such images made. FAKE_CUDA_DEVICES, FAKE_CUDA_CAPABILITY
// ("9.0") and FAKE_CUDA_BYTES say what it pretends to have; with FAKE_CUDA_IDLE=1 a launch runs nothing, for benches of
// calls. A fault goes to stderr, and is the error of all calls
// after.
//
// FAKE_CUDA_FAULT plants one: "illegal" (a launch touches what nobody has), "lost" (the device is gone at a launch),
// "hang" (a launch never ends) or "outside" (a launch writes in front of its first array). With FAKE_CUDA_ONCE, a file,
// only the process that removes it has the fault. While the file FAKE_CUDA_GONE is there the device is lost at a
// launch, and no process finds another one.
// FAKE_CUDA_TRACE is a file that gets a line for each launch: its process, and where its first array is.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "src/ir/walk.h"
#include "src/runtime/cuda/driver.h"
#include "src/target/cuda.h"

namespace tw {
namespace {

using namespace runtime::cuda;

constexpr Code kInvalid = 1, kInvalidContext = 201, kNotFound = 500;

struct Row {
  Code code;
  const char *name, *text;
};
const Row kErrors[] = {
    {kInvalid, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinary, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

int64_t number(const char* variable, int64_t otherwise) {
  const char* value = std::getenv(variable);
  return value && *value ? std::atoll(value) : otherwise;
}

// Under `mutex`, but for what never changes.
std::mutex mutex;
struct Memory {
  std::unique_ptr<std::byte[]> bytes;  // null: of addresses that were reserved
  size_t size;
  int ordinal;
};
constexpr size_t kGranularity = size_t{1} << 16;
std::map<Physical, std::pair<size_t, int>> physical;  // bytes, and the device
std::map<Address, Memory> memory;
size_t used = 0;
Code fault = 0;                          // of a kernel: what every call returns from then on
thread_local std::vector<int> contexts;  // ordinals

struct Image {
  std::vector<ir::Program> programs;
};
struct LoadedFunction {
  const ir::Program* program;
  int dynamic_bytes = 0;
};
std::vector<std::unique_ptr<Image>> images;  // that were loaded
std::map<std::pair<const ir::Program*, std::string>, std::unique_ptr<LoadedFunction>> functions;

// What is put into a stream while it is captured.
struct Recorded {
  const LoadedFunction* function;
  unsigned sizes[6];
  unsigned shared_bytes;
  std::vector<uint64_t> operands;
};
struct Recording {
  std::vector<Recorded> launches;
  std::vector<Address> scratch;
};
std::map<Stream, Recording> captured;

bool is_gone() {
  const char* gone = std::getenv("FAKE_CUDA_GONE");
  return gone && access(gone, F_OK) == 0;
}

int devices() { return is_gone() ? 0 : static_cast<int>(number("FAKE_CUDA_DEVICES", 1)); }
int current() { return contexts.empty() ? -1 : contexts.back(); }
Context context_of(int ordinal) { return reinterpret_cast<Context>(static_cast<uintptr_t>(ordinal + 1)); }

const std::pair<const Address, Memory>* block_with(Address address) {
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return nullptr;
  --after;
  return address < after->first + after->second.size ? &*after : nullptr;
}

bool has_room(size_t bytes) { return bytes <= static_cast<size_t>(number("FAKE_CUDA_BYTES", int64_t{1} << 30)) - used; }

Code allocate(Address* out, size_t bytes) {
  const std::lock_guard lock(mutex);
  if (current() < 0) return kInvalidContext;
  if (fault) return fault;
  if (!has_room(bytes)) return kOutOfMemory;
  auto block = std::make_unique<std::byte[]>(bytes + 256);
  const Address at = (reinterpret_cast<Address>(block.get()) + 255) / 256 * 256;
  memory.emplace(at, Memory{std::move(block), bytes, current()});
  used += bytes;
  *out = at;
  return 0;
}

Code release(Address address) {
  const std::lock_guard lock(mutex);
  const auto found = memory.find(address);
  if (found == memory.end()) return kInvalid;
  used -= found->second.size;
  memory.erase(found);
  return 0;
}

// Copies, unless that would leave the array.
Code copy(void* to, const void* from, Address device_side, size_t bytes) {
  const std::lock_guard lock(mutex);
  if (fault) return fault;
  const auto* block = block_with(device_side);
  if (!block || device_side + bytes > block->first + block->second.size) return kInvalid;
  std::memcpy(to, from, bytes);
  return 0;
}

// The sizes of a launch by the program's axes: those that it does not know, outermost first; nothing where they are not
// what it says.
std::optional<std::vector<int64_t>> extents_of(const ir::Program& program, const unsigned (&sizes)[6]) {
  std::vector<int64_t> unknown;
  std::vector<int64_t> left(std::begin(sizes), std::end(sizes));
  const ir::Stmt* at = &program.body;
  for (const auto* loop = ir::as<ir::For>(*at); loop && is_device_index(loop->kind); loop = ir::as<ir::For>(*at)) {
    int64_t& size = left[static_cast<size_t>(dimension_of(loop->kind)) + (is_thread(loop->kind) ? 3 : 0)];
    const auto constant = ir::as_int(loop->extent);
    if (!constant) unknown.push_back(size);
    if (constant && *constant != size) return std::nullopt;
    size = 1;
    at = &loop->body;
  }
  if (left != std::vector<int64_t>(6, 1)) return std::nullopt;
  return unknown;
}

size_t unknown_axes(const ir::Program& program) {
  size_t unknown = 0;
  const ir::Stmt* at = &program.body;
  for (const auto* loop = ir::as<ir::For>(*at); loop && is_device_index(loop->kind); loop = ir::as<ir::For>(*at)) {
    unknown += ir::as_int(loop->extent) ? 0 : 1;
    at = &loop->body;
  }
  return unknown;
}

// Outputs that the launch also reads were written by another one.
bool reads_outputs(const ir::Program& program) {
  bool reads = false;
  ir::walk(
      program.body, [](const ir::Stmt&) { return true; },
      [&](const ir::Expr& e) {
        const auto* load = ir::as<ir::Load>(e);
        for (const ir::Param& param : program.params) reads |= load && param.written && load->buffer == param.buffer;
        return true;
      });
  return reads;
}

Code run(const ir::Program& program, void** operands, const unsigned (&sizes)[6]) {
  std::optional<std::vector<int64_t>> extents = extents_of(program, sizes);
  if (!extents) return kInvalid;
  const size_t arrays = program.params.size(), scalars = program.scalars.size() - arrays - extents->size();
  std::vector<ir::InterpBuffer> buffers;
  std::vector<int64_t> elements(arrays);
  std::vector<void*> values(operands + arrays, operands + arrays + scalars);
  for (size_t i = 0; i < arrays; ++i) {
    const Address at = *static_cast<Address*>(operands[i]);
    const auto* block = block_with(at);
    if (!block || block->second.ordinal != current()) return kIllegalAddress;
    const auto bytes = static_cast<int64_t>(block->first + block->second.size - at);
    const int64_t size = program.params[i].buffer.element().bytes();
    elements[i] = bytes / size;
    buffers.push_back({reinterpret_cast<void*>(at), static_cast<size_t>(elements[i] * size)});
    values.push_back(&elements[i]);
  }
  for (int64_t& extent : *extents) values.push_back(&extent);
  ir::InterpOptions options;
  options.check_unwritten = !reads_outputs(program);
  for (size_t s = 0; s < values.size(); ++s) {
    options.scalars.push_back(0);
    std::memcpy(&options.scalars.back(), values[s], static_cast<size_t>(program.scalars[s].type().bytes()));
  }
  const Status status = ir::interpret(program, buffers, options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "fake CUDA: %s: %s\n", program.name.c_str(), status.error().render().c_str());
  return status.error().what.find("outside") != std::string::npos ? kIllegalAddress : kLaunchFailed;
}

// The fault that this process has; "": none.
std::string_view planted() {
  static const std::string fault = [] {
    const char *kind = std::getenv("FAKE_CUDA_FAULT"), *once = std::getenv("FAKE_CUDA_ONCE");
    return std::string(kind && (!once || unlink(once) == 0) ? kind : "");
  }();
  return fault;
}

// What follows of it, beside what the launch itself has done.
Code plant(void** operands) {
  if (planted() == "hang")
    for (;;) pause();
  if (planted() == "outside") reinterpret_cast<std::byte*>(*static_cast<Address*>(operands[0]))[-1] ^= std::byte{1};
  return planted() == "illegal" ? kIllegalAddress : planted() == "lost" ? kUnavailable : 0;
}

Code launch(const LoadedFunction& loaded, const std::array<unsigned, 6>& asked, unsigned shared_bytes,
            void** operands) {
  if (fault) return fault;
  if (is_gone()) return fault = kUnavailable;
  if (const char* trace = std::getenv("FAKE_CUDA_TRACE"); trace && *trace) {
    std::FILE* file = std::fopen(trace, "a");
    std::fprintf(file, "%d %llx\n", getpid(), *static_cast<Address*>(operands[0]));
    std::fclose(file);
  }
  if (shared_bytes > 49152 && static_cast<int>(shared_bytes) > loaded.dynamic_bytes) return kInvalid;
  unsigned sizes[6];
  std::copy(asked.begin(), asked.end(), sizes);
  const Code failed = run(*loaded.program, operands, sizes);
  if (failed == kInvalid) return failed;
  fault = failed != 0 ? failed : plant(operands);  // comes to light at a later call, as on a device
  return 0;
}

// Of the arrays' addresses, and of the scalars that are given.
std::vector<int> operand_bytes(const ir::Program& program) {
  std::vector<int> bytes(program.params.size(), static_cast<int>(sizeof(Address)));
  const size_t axes = unknown_axes(program), scalars = program.scalars.size() - program.params.size() - axes;
  for (size_t s = 0; s < scalars; ++s) bytes.push_back(program.scalars[s].type().bytes());
  return bytes;
}

std::pair<int, int> capability() {
  int major = 9, minor = 0;
  if (const char* stated = std::getenv("FAKE_CUDA_CAPABILITY")) std::sscanf(stated, "%d.%d", &major, &minor);
  return {major, minor};
}

// Whether the device that is pretended takes code of the architecture, or what drivers of all newer ones translate.
bool takes(std::string_view kind, std::string_view arch) {
  const auto [major, minor] = capability();
  if (kind == "of") return tw::target::cuda::runs(tw::target::cuda::architecture_of(major, minor), arch);
  const auto least = tw::target::cuda::capability_of(arch);
  return kind == "since" && std::pair(major, minor) >= std::pair(least.major, least.minor);
}

bool read_programs(const char* text, Image& out) {
  constexpr std::string_view kMagic = "tensorwright programs ";
  std::string_view rest(text);
  if (!rest.starts_with(kMagic)) return false;
  const std::string_view who = rest.substr(kMagic.size(), rest.find('\n') - kMagic.size());
  const size_t space = who.find(' ');
  if (space == who.npos || !takes(who.substr(0, space), who.substr(space + 1))) return false;
  rest.remove_prefix(rest.find('\n') + 1);
  while (!rest.empty()) {
    const size_t end = rest.find('\n'),
                 bytes = static_cast<size_t>(std::atoll(std::string(rest.substr(0, end)).c_str()));
    auto program = ir::parse_program(rest.substr(end + 1, bytes));
    if (!program.ok()) {
      std::fprintf(stderr, "fake CUDA: %s\n", program.error().render().c_str());
      return false;
    }
    out.programs.push_back(*std::move(program));
    rest.remove_prefix(end + 1 + bytes);
  }
  return true;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

extern "C" {

using namespace tw::runtime::cuda;

Code cuInit(unsigned) { return devices() > 0 ? 0 : kNoDevice; }
Code cuDriverGetVersion(int* version) { return *version = 13000, 0; }
Code cuGetErrorName(Code code, const char** name) {
  for (const Row& row : kErrors)
    if (row.code == code) return *name = row.name, 0;
  return kInvalid;
}
Code cuGetErrorString(Code code, const char** text) {
  for (const Row& row : kErrors)
    if (row.code == code) return *text = row.text, 0;
  return kInvalid;
}
Code cuDeviceGetCount(int* count) { return *count = devices(), 0; }
Code cuDeviceGet(DeviceNumber* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < devices() ? 0 : 101;
}
Code cuDeviceGetName(char* name, int bytes, DeviceNumber) { return std::snprintf(name, bytes, "Fake GPU"), 0; }
Code cuDeviceGetAttribute(int* value, int attribute, DeviceNumber) {
  const auto [major, minor] = capability();
  *value = attribute == kCapabilityMajor   ? major
           : attribute == kCapabilityMinor ? minor
           : attribute == kProcessors      ? 132
           : attribute == kL2Bytes         ? 1 << 16
                                           : 0;
  return 0;
}
Code cuDeviceTotalMem_v2(size_t* bytes, DeviceNumber) {
  return *bytes = static_cast<size_t>(number("FAKE_CUDA_BYTES", int64_t{1} << 30)), 0;
}
Code cuDeviceGetPCIBusId(char* bus, int bytes, DeviceNumber device) {
  return std::snprintf(bus, bytes, "0000:%02X:00.0", 10 + device), 0;
}
Code cuDevicePrimaryCtxRetain(Context* context, DeviceNumber device) { return *context = context_of(device), 0; }
Code cuCtxGetCurrent(Context* context) { return *context = current() < 0 ? nullptr : context_of(current()), 0; }
Code cuCtxGetDevice(DeviceNumber* device) { return *device = current(), current() < 0 ? kInvalidContext : 0; }
Code cuCtxPushCurrent_v2(Context context) {
  contexts.push_back(static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1);
  return 0;
}
Code cuCtxPopCurrent_v2(Context* context) {
  if (contexts.empty()) return kInvalidContext;
  *context = context_of(current());
  contexts.pop_back();
  return 0;
}
Code cuMemGetInfo_v2(size_t* free, size_t* total) {
  const std::lock_guard lock(mutex);
  *total = static_cast<size_t>(number("FAKE_CUDA_BYTES", int64_t{1} << 30));
  *free = *total - used;
  return 0;
}
Code cuMemAlloc_v2(Address* out, size_t bytes) { return allocate(out, bytes); }
Code cuMemFree_v2(Address address) { return release(address); }
Code cuMemAllocAsync(Address* out, size_t bytes, Stream stream) {
  const Code failed = allocate(out, bytes);
  const std::lock_guard lock(mutex);
  if (const auto found = captured.find(stream); failed == 0 && found != captured.end())
    found->second.scratch.push_back(*out);
  return failed;
}
Code cuMemFreeAsync(Address address, Stream stream) {
  {
    const std::lock_guard lock(mutex);
    if (captured.contains(stream)) return 0;  // the graph's, as long as it is
  }
  return release(address);
}
Code cuPointerGetAttribute(void* value, int attribute, Address address) {
  const std::lock_guard lock(mutex);
  const auto* block = block_with(address);
  if (!block || attribute != kOrdinalOfPointer) return kInvalid;
  *static_cast<int*>(value) = block->second.ordinal;
  return 0;
}
Code cuMemGetAllocationGranularity(size_t* bytes, const MemoryKind*, int) { return *bytes = kGranularity, 0; }
Code cuMemAddressReserve(Address* out, size_t bytes, size_t, Address, unsigned long long) {
  void* const map = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return *out = reinterpret_cast<Address>(map), map == MAP_FAILED || bytes % kGranularity != 0 ? kInvalid : 0;
}
Code cuMemAddressFree(Address at, size_t bytes) {
  return munmap(reinterpret_cast<void*>(at), bytes) == 0 ? 0 : kInvalid;
}
Code cuMemCreate(Physical* out, size_t bytes, const MemoryKind* kind, unsigned long long) {
  const std::lock_guard lock(mutex);
  static Physical last = 0;
  if (bytes % kGranularity != 0 || kind->type != 1 || kind->place.type != 1) return kInvalid;
  if (fault) return fault;
  if (!has_room(bytes)) return kOutOfMemory;
  used += bytes;
  physical[*out = ++last] = {bytes, kind->place.ordinal};
  return 0;
}
// It lives on where it is mapped, which who measures never ends before this.
Code cuMemRelease(Physical handle) {
  const std::lock_guard lock(mutex);
  return physical.erase(handle) == 1 ? 0 : kInvalid;
}
Code cuMemMap(Address at, size_t bytes, size_t, Physical handle, unsigned long long) {
  const std::lock_guard lock(mutex);
  const auto found = physical.find(handle);
  if (found == physical.end() || found->second.first != bytes) return kInvalid;
  memory.emplace(at, Memory{nullptr, bytes, found->second.second});
  return 0;
}
Code cuMemSetAccess(Address at, size_t bytes, const MemoryAccess* access, size_t count) {
  if (count != 1 || access->may != 3) return kInvalid;
  return mprotect(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : kInvalid;
}
Code cuMemUnmap(Address at, size_t) { return release(at); }
Code cuMemsetD8Async(Address at, unsigned char byte, size_t bytes, Stream) {
  const std::lock_guard lock(mutex);
  if (fault) return fault;
  const auto* block = block_with(at);
  if (!block || at + bytes > block->first + block->second.size) return kInvalid;
  std::memset(reinterpret_cast<void*>(at), byte, bytes);
  return 0;
}
Code cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream) {
  return copy(reinterpret_cast<void*>(to), from, to, bytes);
}
Code cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream) {
  const std::lock_guard lock(mutex);
  if (fault) return fault;
  for (const Address side : {to, from})
    if (const auto* block = block_with(side); !block || side + bytes > block->first + block->second.size)
      return kInvalid;
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return 0;
}
Code cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Stream) {
  return copy(to, reinterpret_cast<void*>(from), from, bytes);
}
Code cuStreamCreate(Stream* stream, unsigned) { return *stream = reinterpret_cast<Stream>(new char), 0; }
Code cuStreamDestroy_v2(Stream stream) { return delete reinterpret_cast<char*>(stream), 0; }
Code cuStreamSynchronize(Stream) { return fault; }
Code cuStreamWaitEvent(Stream, Event, unsigned) { return fault; }
Code cuEventCreate(Event* event, unsigned) { return *event = reinterpret_cast<Event>(new double), 0; }
Code cuEventRecord(Event event, Stream) { return *reinterpret_cast<double*>(event) = now(), fault; }
Code cuEventSynchronize(Event) { return fault; }
Code cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  *milliseconds = static_cast<float>(1e3 * (*reinterpret_cast<double*>(end) - *reinterpret_cast<double*>(begin)));
  return 0;
}
Code cuEventDestroy_v2(Event event) { return delete reinterpret_cast<double*>(event), 0; }
Code cuModuleLoadData(LoadedModule* out, const void* text) {
  auto image = std::make_unique<Image>();
  if (!read_programs(static_cast<const char*>(text), *image)) return kNoBinary;
  const std::lock_guard lock(mutex);
  *out = reinterpret_cast<LoadedModule>(images.emplace_back(std::move(image)).get());
  return 0;
}
// Programs stay: a function may be held by who asks for it in vain.
Code cuModuleUnload(LoadedModule) { return 0; }
Code cuModuleGetFunction(Function* out, LoadedModule module, const char* name) {
  const std::lock_guard lock(mutex);
  for (const tw::ir::Program& program : reinterpret_cast<Image*>(module)->programs) {
    if (program.name != name) continue;
    std::unique_ptr<LoadedFunction>& function = functions[{&program, name}];
    if (!function) function = std::make_unique<LoadedFunction>(LoadedFunction{&program});
    *out = reinterpret_cast<Function>(function.get());
    return 0;
  }
  return kNotFound;
}
Code cuFuncSetAttribute(Function function, int attribute, int value) {
  if (attribute != kDynamicSharedBytes || value > 232448) return kInvalid;
  reinterpret_cast<LoadedFunction*>(function)->dynamic_bytes = value;
  return 0;
}
Code cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                    unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** operands, void**) {
  static const bool idle = number("FAKE_CUDA_IDLE", 0) != 0;
  if (idle) return 0;
  const std::lock_guard lock(mutex);
  if (current() < 0) return kInvalidContext;
  const auto* loaded = reinterpret_cast<LoadedFunction*>(function);
  const auto recording = captured.find(stream);
  if (recording == captured.end())
    return launch(*loaded, {grid_x, grid_y, grid_z, block_x, block_y, block_z}, shared_bytes, operands);
  Recorded recorded{loaded, {grid_x, grid_y, grid_z, block_x, block_y, block_z}, shared_bytes, {}};
  for (const int bytes : operand_bytes(*loaded->program)) {
    recorded.operands.push_back(0);
    std::memcpy(&recorded.operands.back(), operands[recorded.operands.size() - 1], static_cast<size_t>(bytes));
  }
  recording->second.launches.push_back(std::move(recorded));
  return 0;
}
// Keeps the array's address where a launch looks for that of an array; the rest is judged as the driver does.
Code cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* array, const unsigned long long* extents,
                            const unsigned long long* strides, const unsigned* box, const unsigned* steps, int,
                            int swizzle, int, int) {
  const int widths[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  if (type < 0 || type > 9 || rank < 1 || rank > 5 || swizzle < 0 || swizzle > 3) return kInvalid;
  const auto row = static_cast<int>(box[0]) * widths[type];
  if (row % 16 != 0 || (swizzle != 0 && row > 16 << swizzle)) return kInvalid;
  for (unsigned d = 0; d < rank; ++d)
    if (extents[d] == 0 || extents[d] > 1ull << 32 || box[d] == 0 || box[d] > 256 || steps[d] != 1) return kInvalid;
  for (unsigned d = 0; d + 1 < rank; ++d)
    if (strides[d] % 16 != 0 || strides[d] >= 1ull << 40) return kInvalid;
  const auto address = reinterpret_cast<Address>(array);
  if (address % 16 != 0) return kInvalid;
  std::memcpy(map, &address, sizeof address);
  return 0;
}
Code cuStreamBeginCapture_v2(Stream stream, int) {
  const std::lock_guard lock(mutex);
  return captured.try_emplace(stream).second ? 0 : kInvalid;
}
Code cuStreamEndCapture(Stream stream, Graph* graph) {
  const std::lock_guard lock(mutex);
  auto recording = captured.extract(stream);
  if (recording.empty()) return kInvalid;
  *graph = reinterpret_cast<Graph>(new Recording(std::move(recording.mapped())));
  return 0;
}
// One and the same: who destroys the first leaves it to the other.
Code cuGraphInstantiateWithFlags(RunnableGraph* made, Graph graph, unsigned long long) {
  auto* recording = reinterpret_cast<Recording*>(graph);
  *made = reinterpret_cast<RunnableGraph>(new Recording(std::exchange(*recording, {})));
  return 0;
}
Code cuGraphLaunch(RunnableGraph graph, Stream) {
  const std::lock_guard lock(mutex);
  if (current() < 0) return kInvalidContext;
  for (Recorded& recorded : reinterpret_cast<Recording*>(graph)->launches) {
    std::vector<void*> operands;
    for (uint64_t& value : recorded.operands) operands.push_back(&value);
    if (const Code failed =
            launch(*recorded.function, std::to_array(recorded.sizes), recorded.shared_bytes, operands.data()))
      return failed;
  }
  return 0;
}
Code cuGraphDestroy(Graph graph) {
  auto* recording = reinterpret_cast<Recording*>(graph);
  for (const Address scratch : recording->scratch) release(scratch);
  return delete recording, 0;
}
Code cuGraphExecDestroy(RunnableGraph graph) { return cuGraphDestroy(reinterpret_cast<Graph>(graph)); }

}  // extern "C"

}  // namespace tw
