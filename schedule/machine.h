// The machine as far as estimates care: what explain() bounds a nest with, and what the tuner's features count in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensorwright/machine.h"

namespace tw::schedule {

// A device that nobody has measured: what its maker says of such ones.
struct DeviceRates {
  int processors = 1;  // each runs blocks
  double hertz = 1e9;
  int lanes = 128;                        // float32 multiply-adds that a processor starts in a cycle
  int64_t shared_bytes = 0;               // of a processor
  int threads = 2048;                     // that one holds
  double l2_bytes = 1e12, memory = 1e11;  // a second, of all
  int tensor_products = 512;  // multiply-adds of 16-bit floats, summed in float32, that its tensor cores do in a cycle
};

struct Machine {
  int threads = 1;
  int vector_bits = 128, vector_registers = 16;
  int lane_products = 0;
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 16 << 20;  // l3_bytes may be 0
  double hertz = 3e9;
  Rates rates = {};
  Rates known = {};  // of the table, where somebody measured such a CPU: what is certain goes by these
  std::optional<DeviceRates> device = {};
  bool masks = false;  // of vectors: without them one of some lanes is several of powers of two
};

Machine describe_machine(const Target&, const MachineDescription&);

// Caches of the CPU that the target names, where its rates' table has them: of a machine that nobody has described.
HardwareDescription usual_hardware(const Target&);

}  // namespace tw::schedule
