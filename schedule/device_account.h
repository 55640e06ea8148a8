// What a schedule will take on a device, before anything was compiled or measured: what explain() shows, and what the
// tuner's prior goes by.
//
// A launch takes as long as what it has most of: multiply-adds of tensor cores, arithmetic, instructions, passes
// through shared memory, sectors of L2, bytes of memory. Counts are those of warps: an access takes as many passes or
// sectors as the addresses of a warp's threads need. Processors wait where blocks are too few to fill them, or warps
// too few to hide each other's waiting. Iterations that find tiles in shared memory follow each other in a block, which
// waits for memory and for its threads in each of them, unless what later ones read is on its way.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "schedule/machine.h"
#include "schedule/placement.h"

namespace tw::schedule {

enum DeviceTerm { kTensorCores, kArithmetic, kIssue, kSharedMemory, kSectors, kMemory, kDeviceTerms };
const char* to_string(DeviceTerm);

using DeviceSeconds = std::array<double, kDeviceTerms>;

// Of all runs of a stage's loops, in all blocks.
struct StageAccount {
  int stage = 0;
  double operations = 0;                           // arithmetic of single elements
  double products = 0;                             // multiply-adds of tensor cores
  double arithmetic = 0, instructions = 0;         // of warps; arithmetic among the instructions
  double requests = 0, wavefronts = 0, least = 0;  // to shared memory: what they take, and would without conflicts
  double sectors = 0, bytes = 0;                   // of L2, and of memory
  double answered = 0;                             // sectors that come with those of other processors
  DeviceSeconds seconds{};                         // that each takes alone, with the launch's processors
  DeviceTerm bound = kIssue;
  bool after = false;  // the sums that the launch's other stages are for
};

// Of all runs of a loop: of its stage, and of those that are computed inside of it.
struct LoopAccount {
  double wavefronts = 0;
  DeviceSeconds seconds{};
  DeviceTerm bound = kIssue;
};

struct LaunchAccount {
  int root = 0;  // stage
  double blocks = 1, threads = 1;
  double copying = 0;                // threads among these that copy for the others
  double registers = 0, shared = 0;  // of a thread; bytes of a block
  double slots = 1;                  // of the longest ring: what later iterations need is on its way
  double turns = 0, ahead = 1;       // iterations of a block that wait for tiles, for how many of them at a time
  bool by_registers = false;         // the tiles come through these, which hold one at a time
  bool lockstep = false;             // threads of a block read, multiply and meet in turn: products of single warps
  bool spills = false;
  double resident = 0;   // blocks that a processor holds at a time; 0: not even one fits
  double occupancy = 0;  // share of a processor's threads that these are
  double waves = 0;      // blocks over those that all processors hold at a time
  double used = 0;       // share of the processors' time in which they have blocks, as blocks are spread over them
  double hidden = 0;     // share of the time in which some warp can go on
  DeviceSeconds seconds{};
  DeviceTerm bound = kIssue;
  double waiting = 0;  // seconds that iterations of blocks, one after the other, take if nothing else does
  double total = 0;    // seconds; infinite where no processor holds a block
  std::vector<StageAccount> stages;
};

// In the order of the stages at root.
std::vector<LaunchAccount> device_account(const LoopNest&, const Placement&, const DeviceRates&);

// Of each of the stage's loops, which the launch computes; none where no processor holds its blocks.
std::vector<LoopAccount> loop_accounts(const LoopNest&, const Placement&, const LaunchAccount&, int stage);

}  // namespace tw::schedule
