// The machine as far as estimates care: what explain() bounds a nest with, and what the tuner's features count in.
#pragma once

#include <cstdint>
#include <string>

#include "tensorwright/target.h"

namespace tw::schedule {

// What the parts of a CPU sustain. Of one core and cycle where nothing else is said.
struct Rates {
  std::string source = "assumed, for nobody has measured this CPU";
  double issue = 2;                          // vector instructions started
  double l1_loads = 2;                       // vectors, or values of code without vectors
  double l2_bytes = 32, l3_bytes = 12;       // towards the core
  double core_dram = 20e9, all_dram = 40e9;  // bytes a second: of one core, of all together
};

struct Machine {
  int threads = 1;
  int vector_bits = 128, vector_registers = 16;
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 16 << 20;  // l3_bytes may be 0
  double hertz = 3e9;
  Rates rates = {};
};

Machine describe_machine(const Target&, const HardwareDescription&, int threads);

}  // namespace tw::schedule
