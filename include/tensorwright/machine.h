// The machine that kernels run on. Whoever runs them describes it (runtime::Runner::machine), and it is handed on as a
// value: what tuning, records, rooflines and reports are about.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tensorwright/target.h"

namespace tw {

// Of a CPU's first data cache: what lies so far apart shares a set. A page, so that a set is known before the address is
// translated.
inline constexpr int64_t kL1WayBytes = 4096;
inline constexpr int64_t kCacheLineBytes = 64;

// What the parts of a CPU sustain. Of one core and cycle where nothing else is said.
struct Rates {
  std::string source = "assumed, for nobody has measured this CPU";
  double issue = 2;                          // vector instructions started
  double l1_loads = 2;                       // vectors, or values of code without vectors
  double l2_bytes = 32, l3_bytes = 12;       // towards the core
  double core_dram = 20e9, all_dram = 40e9;  // bytes a second: of one core, of all together
  double dot_u8i8 = 0, dot_bf16 = 0;         // dot products of vectors started; 0: as many as others
  double tile_rows = 1;                      // of a product of tiles, a cycle
  double clock = 0;                          // hertz of the cycles that are meant; 0: of any
  double all_issue = 1, all_l3 = 1;          // the share of the above that a core has while all of them work
};

struct MachineDescription {
  HardwareDescription hardware;
  int threads = 1;   // that a kernel uses
  double clock = 0;  // hertz of a busy core, measured; 0: nobody has
  // Measured there, by the bits of vectors. Where there are none, those of its CPU's table count.
  std::map<int, Rates> rates = {};
  std::string name = {};  // what records call the hardware; empty: hardware.to_string()
  std::string hardware_name() const { return name.empty() ? hardware.to_string() : name; }
};

}  // namespace tw
