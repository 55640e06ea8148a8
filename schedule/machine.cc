// A table of measured rates by CPU, a line each. What is not in it gets what cores of the last ten years have in
// common: two loads and two vector instructions a cycle, half a line from L2, and memory of two channels.
#include "schedule/machine.h"

namespace tw::schedule {

namespace {

struct Measured {
  const char* cpu;
  int vector_bits;  // for targets that use vectors of this width
  Rates rates;
};

// Reads of 16 KiB, 512 KiB, 8 MiB and 1 GiB, by one core that has the machine to itself. All cores together have two
// channels of DDR5 at least.
const Measured kMeasured[] = {
    // Zen 4 works on 512 bits in halves of 256: one such vector a cycle, loaded or computed.
    {"znver4", 512, {"measured on a Zen 4", 1, 1, 32, 26, 25e9, 60e9}},
    {"znver4", 256, {"measured on a Zen 4", 2, 2, 32, 26, 25e9, 60e9}},
};

}  // namespace

Machine describe_machine(const Target& target, const MachineDescription& described) {
  const HardwareDescription& hardware = described.hardware;
  Machine machine{described.threads,
                  target.abilities.vector_bits,
                  target.abilities.vector_registers,
                  target.abilities.lane_products,
                  hardware.l1_bytes,
                  hardware.l2_bytes,
                  hardware.l3_bytes,
                  hardware.hertz};
  for (const Measured& row : kMeasured)
    if (target.cpu == row.cpu && target.abilities.vector_bits == row.vector_bits) machine.known = row.rates;
  const auto measured = described.rates.find(machine.vector_bits);
  machine.rates = measured == described.rates.end() ? machine.known : measured->second;
  if (machine.rates.clock > 0) machine.hertz = machine.rates.clock;
  return machine;
}

}  // namespace tw::schedule
