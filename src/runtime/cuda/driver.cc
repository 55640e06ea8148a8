#include "src/runtime/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <type_traits>

namespace tw::runtime::cuda {

namespace {

struct Symbol {
  const char* name;
  bool (*set)(Driver&, void*);
};

template <auto kMember>
bool set(Driver& driver, void* symbol) {
  driver.*kMember = reinterpret_cast<std::remove_reference_t<decltype(driver.*kMember)>>(symbol);
  return symbol != nullptr;
}

const Symbol kSymbols[] = {
    {"cuInit", set<&Driver::init>},
    {"cuDriverGetVersion", set<&Driver::driver_version>},
    {"cuGetErrorName", set<&Driver::error_name>},
    {"cuGetErrorString", set<&Driver::error_text>},
    {"cuDeviceGetCount", set<&Driver::device_count>},
    {"cuDeviceGet", set<&Driver::device>},
    {"cuDeviceGetName", set<&Driver::device_name>},
    {"cuDeviceGetAttribute", set<&Driver::device_attribute>},
    {"cuDeviceTotalMem_v2", set<&Driver::device_memory>},
    {"cuDeviceGetPCIBusId", set<&Driver::pci_bus>},
    {"cuDevicePrimaryCtxRetain", set<&Driver::primary_context>},
    {"cuCtxGetCurrent", set<&Driver::current_context>},
    {"cuCtxPushCurrent_v2", set<&Driver::push_context>},
    {"cuCtxPopCurrent_v2", set<&Driver::pop_context>},
    {"cuMemGetInfo_v2", set<&Driver::memory_info>},
    {"cuMemAlloc_v2", set<&Driver::allocate>},
    {"cuMemFree_v2", set<&Driver::release>},
    {"cuMemAllocAsync", set<&Driver::allocate_on>},
    {"cuMemFreeAsync", set<&Driver::release_on>},
    {"cuPointerGetAttribute", set<&Driver::pointer_attribute>},
    {"cuMemGetAllocationGranularity", set<&Driver::granularity>},
    {"cuMemAddressReserve", set<&Driver::reserve>},
    {"cuMemAddressFree", set<&Driver::give_up>},
    {"cuMemCreate", set<&Driver::physical_create>},
    {"cuMemRelease", set<&Driver::physical_release>},
    {"cuMemMap", set<&Driver::map>},
    {"cuMemUnmap", set<&Driver::unmap>},
    {"cuMemSetAccess", set<&Driver::set_access>},
    {"cuMemsetD8Async", set<&Driver::fill>},
    {"cuMemcpyHtoDAsync_v2", set<&Driver::to_device>},
    {"cuMemcpyDtoHAsync_v2", set<&Driver::to_host>},
    {"cuMemcpyDtoDAsync_v2", set<&Driver::copy_within>},
    {"cuStreamCreate", set<&Driver::stream_create>},
    {"cuStreamDestroy_v2", set<&Driver::stream_destroy>},
    {"cuStreamSynchronize", set<&Driver::stream_finish>},
    {"cuStreamWaitEvent", set<&Driver::stream_wait>},
    {"cuEventCreate", set<&Driver::event_create>},
    {"cuEventRecord", set<&Driver::event_record>},
    {"cuEventSynchronize", set<&Driver::event_finish>},
    {"cuEventElapsedTime", set<&Driver::event_between>},
    {"cuEventDestroy_v2", set<&Driver::event_destroy>},
    {"cuModuleLoadData", set<&Driver::module_load>},
    {"cuModuleUnload", set<&Driver::module_unload>},
    {"cuModuleGetFunction", set<&Driver::module_function>},
    {"cuFuncSetAttribute", set<&Driver::function_set>},
    {"cuLaunchKernel", set<&Driver::launch>},
    {"cuStreamBeginCapture_v2", set<&Driver::capture_begin>},
    {"cuStreamEndCapture", set<&Driver::capture_end>},
    {"cuGraphInstantiateWithFlags", set<&Driver::graph_make>},
    {"cuGraphLaunch", set<&Driver::graph_run>},
    {"cuGraphDestroy", set<&Driver::graph_destroy>},
    {"cuGraphExecDestroy", set<&Driver::graph_unmake>},
};

Diagnostic without(const std::string& why, const std::string& way_out, const char* more = nullptr) {
  Diagnostic none{ErrorKind::kTarget, "cuda: no device: " + why, {}, {way_out}};
  if (more) none.notes.insert(none.notes.begin(), more);
  return none;
}

Result<Driver> open() {
  const char* chosen = std::getenv("TW_CUDA_DRIVER");
  const std::string path = chosen && *chosen ? chosen : "libcuda.so.1";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return without("the driver " + path + " cannot be loaded", "NVIDIA's driver has it, on a machine with a GPU",
                   dlerror());
  Driver driver = {};
  for (const Symbol& symbol : kSymbols)
    if (!symbol.set(driver, dlsym(library, symbol.name)))
      return without("the driver " + path + " has no " + symbol.name, "a driver of CUDA 11.4 or newer has it");
  set<&Driver::tensor_map>(driver, dlsym(library, "cuTensorMapEncodeTiled"));
  if (const Code failed = driver.init(0))
    return without(text_of(driver, failed), "nvidia-smi shows what the driver sees");
  int devices = 0;
  if (driver.device_count(&devices) != 0 || devices == 0)
    return without("the driver sees none", "CUDA_VISIBLE_DEVICES may hide them");
  return driver;
}

}  // namespace

Result<const Driver*> driver() {
  static const Result<Driver> opened = open();
  if (!opened.ok()) return opened.error();
  return &*opened;
}

std::string text_of(const Driver& driver, Code code) {
  const char *name = nullptr, *text = nullptr;
  if (driver.error_name(code, &name) != 0 || name == nullptr) return "error " + std::to_string(code);
  driver.error_text(code, &text);
  return std::string(name) + (text ? std::string(", ") + text : "");
}

}  // namespace tw::runtime::cuda
