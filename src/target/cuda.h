// Architectures of CUDA devices: "sm_90a" is compute capability 9.0 with what only this one has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/target.h"

namespace tw::target::cuda {

// What code is made for where a text names none and no device is here.
inline constexpr const char* kOldest = "sm_80";

std::vector<std::string> architectures();
Abilities abilities_of(std::string_view arch);  // of architectures()

// Of code for a device of this compute capability: its own architecture, or the newest one whose code it runs; empty
// for one that is older than all.
std::string architecture_of(int major, int minor);
// Whether a device that makes code as `device` runs code for `arch`.
bool runs(std::string_view device, std::string_view arch);
// Whether a device of this compute capability is newer than those that `arch` is code for.
bool is_newer(int major, int minor, std::string_view arch);
// Why such a device can't run code for a target; "" where it can.
std::string why_not_on(std::string_view device, const Target&);
// sm_90a of "cuda -arch=sm_90a"; empty where the text is no target of CUDA.
std::string architecture_in(std::string_view target);

// 9, 0, true of sm_90a, whose code runs on that compute capability only; code for sm_80 runs on 8.0 and newer of 8.
struct Capability {
  int major, minor;
  bool exact;
};
Capability capability_of(std::string_view arch);

// The architecture of this machine's first device; empty: there is none. A process without the driver's code
// (src/runtime/cuda registers it) sees none.
std::string device_here();
void register_device(std::string (*find)());  // before main

}  // namespace tw::target::cuda
