// What tw doctor finds, a look at a time.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "tensorwright/target.h"

namespace tw::tools {

enum class State { kOk, kWarn, kFail };

struct Finding {
  State state = State::kOk;
  std::string detail, way_out = {};
};

std::string formatted(const char* format, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

inline std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Whether a kernel can be built, run, checked and timed for the target.
Finding two_candidates(Result<Target>);

// Of GPUs (tw_doctor_gpu.cc). That a machine has none is no fault of it.
Finding gpu();            // which are there, by the driver
Finding gpu_condition();  // clocks, ECC, who else is on them, by the management library
Finding nvrtc();
Finding gpu_tuning();  // whether a kernel can be built, run and measured on the first one

}  // namespace tw::tools
