#include "src/runtime/cuda/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>

namespace tw::runtime::cuda {

namespace {

using Status = int;  // 0: success
using Handle = struct OpaqueHandle*;

constexpr Status kTooSmall = 7;
constexpr int kProcessorClock = 1, kOnTheDie = 0, kUncorrectedErrors = 1, kSinceLoading = 0;
constexpr unsigned kMostProcesses = 256;

struct ProcessInfo {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct Utilisation {
  unsigned gpu, memory;
};

struct Library {
  Status (*init)();
  Status (*driver_version)(char*, unsigned bytes);
  Status (*handle)(const char* pci_bus, Handle*);
  Status (*clock)(Handle, int which, unsigned* megahertz);
  Status (*most_clock)(Handle, int which, unsigned* megahertz);
  Status (*temperature)(Handle, int where, unsigned* celsius);
  Status (*utilisation)(Handle, Utilisation*);
  Status (*ecc)(Handle, int* now, int* after_next_boot);
  Status (*errors)(Handle, int which, int since, unsigned long long*);
  Status (*processes)(Handle, unsigned* count, ProcessInfo*);
};

struct Symbol {
  const char* name;
  bool (*set)(Library&, void*);
};

template <auto kMember>
bool set(Library& library, void* symbol) {
  library.*kMember = reinterpret_cast<std::remove_reference_t<decltype(library.*kMember)>>(symbol);
  return symbol != nullptr;
}

const Symbol kSymbols[] = {
    {"nvmlInit_v2", set<&Library::init>},
    {"nvmlSystemGetDriverVersion", set<&Library::driver_version>},
    {"nvmlDeviceGetHandleByPciBusId_v2", set<&Library::handle>},
    {"nvmlDeviceGetClockInfo", set<&Library::clock>},
    {"nvmlDeviceGetMaxClockInfo", set<&Library::most_clock>},
    {"nvmlDeviceGetTemperature", set<&Library::temperature>},
    {"nvmlDeviceGetUtilizationRates", set<&Library::utilisation>},
    {"nvmlDeviceGetEccMode", set<&Library::ecc>},
    {"nvmlDeviceGetTotalEccErrors", set<&Library::errors>},
    {"nvmlDeviceGetComputeRunningProcesses_v3", set<&Library::processes>},
};

Diagnostic without(const std::string& why) {
  return {ErrorKind::kTarget,
          "cuda: clocks, ECC and other processes are not seen: " + why,
          {},
          {"NVIDIA's driver brings libnvidia-ml.so.1"}};
}

Result<Library> open() {
  const char* chosen = std::getenv("TW_NVML");
  const std::string path = chosen && *chosen ? chosen : "libnvidia-ml.so.1";
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return without(path + " cannot be loaded");
  Library library = {};
  for (const Symbol& symbol : kSymbols)
    if (!symbol.set(library, dlsym(handle, symbol.name))) return without(path + " has no " + symbol.name);
  if (const Status failed = library.init()) return without(path + " says error " + std::to_string(failed));
  return library;
}

std::optional<std::vector<unsigned>> others_on(const Library& library, Handle device) {
  std::vector<ProcessInfo> infos(kMostProcesses);
  unsigned count = kMostProcesses;
  const Status status = library.processes(device, &count, infos.data());
  if (status != 0 && status != kTooSmall) return std::nullopt;
  std::vector<unsigned> pids;
  for (unsigned i = 0; i < std::min(count, kMostProcesses); ++i)
    if (infos[i].pid != static_cast<unsigned>(getpid())) pids.push_back(infos[i].pid);
  return pids;
}

}  // namespace

Result<GpuState> gpu_state(const GpuDevice& device) {
  static const Result<Library> opened = open();
  if (!opened.ok()) return opened.error();
  const Library& library = *opened;
  char bus[32] = "", version[96] = "";
  Handle handle = nullptr;
  if (device.driver->pci_bus(bus, sizeof bus, device.number) != 0 || library.handle(bus, &handle) != 0)
    return without("it does not know the device " + std::string(bus));
  library.driver_version(version, sizeof version);
  GpuState state;
  state.driver = version;
  unsigned value = 0;
  if (library.clock(handle, kProcessorClock, &value) == 0) state.megahertz = static_cast<int>(value);
  if (library.most_clock(handle, kProcessorClock, &value) == 0) state.most_megahertz = static_cast<int>(value);
  if (library.temperature(handle, kOnTheDie, &value) == 0) state.celsius = static_cast<int>(value);
  Utilisation used = {};
  if (library.utilisation(handle, &used) == 0) state.busy = static_cast<int>(used.gpu);
  int now = 0, later = 0;
  if (library.ecc(handle, &now, &later) == 0) state.ecc = now != 0;
  unsigned long long errors = 0;
  if (library.errors(handle, kUncorrectedErrors, kSinceLoading, &errors) == 0) state.uncorrected = errors;
  state.processes = others_on(library, handle);
  return state;
}

}  // namespace tw::runtime::cuda
