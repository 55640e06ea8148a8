// What the driver says of itself and of its devices, and contexts.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/fake_cuda/fake_cuda.h"

namespace tw::fake {

namespace {

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
    {kNewerText, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

int devices() { return is_gone() ? 0 : static_cast<int>(number("FAKE_CUDA_DEVICES", 1)); }
Context context_of(int ordinal) { return reinterpret_cast<Context>(static_cast<uintptr_t>(ordinal + 1)); }

}  // namespace

int64_t number(const char* variable, int64_t otherwise) {
  const char* value = std::getenv(variable);
  return value && *value ? std::atoll(value) : otherwise;
}

bool is_gone() {
  const char* gone = std::getenv("FAKE_CUDA_GONE");
  return gone && access(gone, F_OK) == 0;
}

int current() { return contexts.empty() ? -1 : contexts.back(); }

std::pair<int, int> capability() {
  int major = 9, minor = 0;
  if (const char* stated = std::getenv("FAKE_CUDA_CAPABILITY")) std::sscanf(stated, "%d.%d", &major, &minor);
  return {major, minor};
}

extern "C" {

Code cuInit(unsigned) { return devices() > 0 ? 0 : kNoDevice; }
Code cuDriverGetVersion(int* version) {
  int major = 13, minor = 0;
  if (const char* stated = std::getenv("FAKE_CUDA_VERSION")) std::sscanf(stated, "%d.%d", &major, &minor);
  return *version = 1000 * major + 10 * minor, 0;
}
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

}  // extern "C"

}  // namespace tw::fake
