// The time of each launch, by the counts of its stages (device_counts.h).
#include "schedule/device_account.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedule/device_counts.h"

namespace tw::schedule {

namespace {

constexpr double kIssues = 4;         // instructions of warps that a processor starts in a cycle
constexpr double kRegisters = 65536;  // of a processor
constexpr double kSystem = 1024;      // bytes of shared memory that each block has beside its own
constexpr double kLaunch = 3e-6;      // seconds until the first block runs and after the last one ended
constexpr double kHiding = 12;        // warps of a processor that hide each other's waiting, or copies ahead of a warp
constexpr double kHidingAlone = 32;   // the same of one block, whose warps meet: they wait at the same time
constexpr double kSpilled = 4;        // what registers that lie in memory cost
constexpr double kOverlap = 0.2;      // share of the lesser terms that the largest does not hide
constexpr double kLockstep = 0.6;     // the same of one block whose warps do one after the other together
constexpr double kLatency = 700;      // cycles until memory answers
constexpr double kStart = 1900;       // cycles from a block's last store to the next one's first tile
constexpr double kMeeting = 150;  // cycles of an iteration that finds a tile: threads meet, and read the first of it

DeviceTerm longest(const DeviceSeconds& seconds) {
  return static_cast<DeviceTerm>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
}

void hold(LaunchAccount& launch, const DeviceRates& device) {
  const double warps = std::ceil(launch.threads / DeviceCounter::kWarp);
  const double registers =
      std::min(launch.registers, DeviceCounter::kMostRegisters) * (warps * DeviceCounter::kWarp - launch.copying) +
      std::min(launch.registers, DeviceCounter::kOwnRegisters) * launch.copying;
  launch.spills = launch.registers > DeviceCounter::kMostRegisters;
  launch.resident =
      std::min(std::floor(device.threads / (warps * DeviceCounter::kWarp)), std::floor(kRegisters / registers));
  if (launch.shared > 0)
    launch.resident =
        std::min(launch.resident, std::floor(static_cast<double>(device.shared_bytes) / (launch.shared + kSystem)));
  if (launch.resident < 1) return;
  const double turns = std::ceil(launch.blocks / device.processors);
  const double held = std::min(launch.resident, turns) * (warps - launch.copying / DeviceCounter::kWarp);
  launch.occupancy = launch.resident * warps * DeviceCounter::kWarp / device.threads;
  launch.waves = launch.blocks / (launch.resident * device.processors);
  launch.used = launch.blocks / (turns * device.processors);
  const double slots = launch.by_registers ? std::min(2.0, launch.slots) : launch.slots;
  const bool alone = launch.turns < 1 && 2 * launch.shared > static_cast<double>(device.shared_bytes);
  launch.hidden = std::min(1.0, held * slots / (alone ? kHidingAlone : kHiding));
}

// Blocks that a processor holds at a time go through their turns together, others after them. The wait for memory is
// divided among the turns that are ahead.
double waiting_seconds(const LaunchAccount& launch, const DeviceRates& device) {
  if (launch.turns < 1) return 0;
  const double ahead = launch.by_registers ? 1 : launch.ahead;
  const double turn = kLatency / ahead + (launch.lockstep || launch.by_registers ? kMeeting : kMeeting / 2);
  const double held = std::ceil(launch.blocks / (launch.resident * device.processors));
  return (kLatency + held * launch.turns * turn) / device.hertz;
}

// Of blocks that follow others, of which a processor holds one: until the first tile is there nothing goes on.
double starting_seconds(const LaunchAccount& launch, const DeviceRates& device) {
  const double waves = std::ceil(launch.blocks / (launch.resident * device.processors));
  return launch.turns < 1 ? 0 : (waves - 1) * kStart / (launch.resident * launch.resident) / device.hertz;
}

// Of the terms but the largest: what it does not hide. Of blocks in lockstep others hide it.
double exposed_share(const LaunchAccount& launch, const DeviceRates& device) {
  if (!launch.lockstep || launch.turns < 1) return kOverlap / launch.slots;
  const double held = std::min(launch.resident, std::ceil(launch.blocks / device.processors));
  return std::max(kOverlap / launch.slots, kLockstep / (held * held));
}

// What follows the sums of a tile, where a processor has one block: nothing else goes on meanwhile but what memory was
// given to write.
double alone_after_sums(const LaunchAccount& launch) {
  if (launch.turns < 1 || launch.resident > 1) return 0;
  DeviceSeconds seconds{};
  for (const StageAccount& stage : launch.stages)
    for (size_t term = 0; stage.after && term < kMemory; ++term) seconds[term] += stage.seconds[term];
  return seconds[longest(seconds)];
}

void time(LaunchAccount& launch, const DeviceRates& device) {
  hold(launch, device);
  if (launch.resident < 1) {
    launch.total = std::numeric_limits<double>::infinity();
    return;
  }
  const double spilled = launch.spills ? kSpilled : 1;
  const double cycles = device.processors * launch.used * launch.hidden * device.hertz;
  for (StageAccount& stage : launch.stages) {
    stage.seconds = {
        stage.products / device.tensor_products / cycles,
        stage.arithmetic * spilled * DeviceCounter::kWarp / device.lanes / cycles,
        stage.instructions * spilled / kIssues / cycles,
        stage.wavefronts / cycles,
        (stage.sectors - stage.answered) * DeviceCounter::kSector / (device.l2_bytes * launch.used * launch.hidden),
        stage.bytes / (device.memory * std::min(1.0, 2 * launch.used * launch.hidden))};
    stage.bound = longest(stage.seconds);
    for (size_t term = 0; term < launch.seconds.size(); ++term) launch.seconds[term] += stage.seconds[term];
  }
  launch.bound = longest(launch.seconds);
  launch.waiting = waiting_seconds(launch, device);
  const double after = alone_after_sums(launch);
  DeviceSeconds seconds = launch.seconds;
  for (const StageAccount& stage : launch.stages)
    for (size_t term = 0; after > 0 && stage.after && term < kMemory; ++term) seconds[term] -= stage.seconds[term];
  double sum = 0;
  for (double term : seconds) sum += term;
  const double most = seconds[longest(seconds)];
  // Arithmetic is instructions too: what they have in common is hidden by nothing and hides nothing.
  sum -= std::min(seconds[kArithmetic], seconds[kIssue]);
  const double working = most + exposed_share(launch, device) * std::max(0.0, sum - most);
  launch.total = kLaunch + starting_seconds(launch, device) + after + std::max(working, launch.waiting) +
                 (launch.slots < 2 ? 1 : kOverlap) * std::min(working, launch.waiting);
}

}  // namespace

const char* to_string(DeviceTerm term) {
  constexpr const char* kNames[] = {"tensor cores", "FMA", "issue", "shared memory", "L2", "HBM"};
  return kNames[term];
}

std::vector<LaunchAccount> device_account(const LoopNest& nest, const Placement& placed, const DeviceRates& device) {
  std::vector<LaunchAccount> all = DeviceCounter(nest, placed).run();
  for (LaunchAccount& launch : all) time(launch, device);
  return all;
}

std::vector<LoopAccount> loop_accounts(const LoopNest& nest, const Placement& placed, const LaunchAccount& launch,
                                       int stage) {
  std::vector<LoopAccount> loops(launch.resident < 1 ? 0 : nest.stage(stage).leaves.size());
  for (const StageAccount& inner : launch.stages) {
    int within = inner.stage, level = static_cast<int>(loops.size()) - 1;
    for (; within != stage && within != kNone; within = placed.parent[static_cast<size_t>(within)])
      level = placed.level[static_cast<size_t>(within)];
    for (int l = 0; within == stage && l <= level && !loops.empty(); ++l) {
      LoopAccount& loop = loops[static_cast<size_t>(l)];
      loop.wavefronts += inner.wavefronts;
      for (size_t term = 0; term < loop.seconds.size(); ++term) loop.seconds[term] += inner.seconds[term];
    }
  }
  for (LoopAccount& loop : loops) loop.bound = longest(loop.seconds);
  return loops;
}

}  // namespace tw::schedule
