// A management library without a device, beside the driver: FAKE_NVML_BUSY (per cent), FAKE_NVML_ERRORS (that ECC could
// not correct) and FAKE_NVML_PROCESS (the number of one that computes there) say how its device is doing.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct ProcessInfo {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

unsigned number(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? static_cast<unsigned>(std::atoll(value)) : 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlSystemGetDriverVersion(char* version, unsigned bytes) { return std::snprintf(version, bytes, "580.00.00"), 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  static char device;
  return *handle = &device, std::strcmp(bus, "0000:0A:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void*, int which, unsigned* megahertz) { return *megahertz = 1410, which == 1 ? 0 : 2; }
int nvmlDeviceGetMaxClockInfo(void*, int which, unsigned* megahertz) { return *megahertz = 1980, which == 1 ? 0 : 2; }
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) { return *celsius = 41, 0; }
int nvmlDeviceGetUtilizationRates(void*, unsigned* rates) { return rates[0] = number("FAKE_NVML_BUSY"), rates[1] = 0; }
int nvmlDeviceGetEccMode(void*, int* now, int* later) { return *now = *later = 1, 0; }
int nvmlDeviceGetTotalEccErrors(void*, int which, int since, unsigned long long* errors) {
  return *errors = number("FAKE_NVML_ERRORS"), which == 1 && since == 0 ? 0 : 2;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  const unsigned pid = number("FAKE_NVML_PROCESS");
  if (pid != 0) infos[0] = {pid, 1 << 20, ~0u, ~0u};
  return *count = pid != 0, 0;
}
}
