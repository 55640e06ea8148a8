// The estimate, term by term.
#include "autotune/model/prior.h"

#include <algorithm>
#include <cmath>

#include "autotune/model/device_prior.h"
#include "schedule/traffic.h"

namespace tw::autotune {

namespace {

constexpr double kHertz = 4e9;       // all estimates' clock
constexpr double kEntry = 12;        // cycles to start a loop and to leave it: pointers, first sums, a missed branch
constexpr double kIteration = 1;     // least cycles of one iteration
constexpr double kReordered = 3;     // registers that another order of the instructions saves
constexpr double kLaunch = 4e-6;     // seconds to wake threads and to wait for the last
constexpr double kWays = 8;          // lines of one set of L1
constexpr double kCrowded = 3;       // times as many, beyond which no more is lost
constexpr double kLostLine = 10;     // cycles until a line is there again of which a part was read or stored
constexpr double kCrossing = 4;      // cycles for a row of a tile that lies in two lines
constexpr double kCopied = 6;        // bytes that a core copies in a cycle: lines that are claimed, other orders
constexpr double kCopiedNear = 24;   // and of those of them that stay in the nearest cache
constexpr double kElsewhere = 1.5;   // what one core wrote, others read
constexpr double kMask = 4;          // instructions that make the mask of a read under a condition
constexpr double kMaskedRead = 1.5;  // what such a read takes
constexpr double kWarm = 0.75;       // share of a cache that data of the run before may still fill
constexpr double kAsked = 20;        // cycles for a line from memory that a core asks for, beside others
constexpr double kAskedNear = 8;     // and from L3
constexpr double kTranslate = 6;     // cycles until the second buffer has translated a page
constexpr double kOverlap = 0.25;    // share of the lesser terms that the largest does not hide

double busy_cycles(const StageFacts& f, const Machine& machine) {
  const double arithmetic = f.arithmetic / machine.rates.issue;
  // What does not fit into registers is stored and loaded again in each iteration, what waits there in each window.
  const double excess = std::max(0.0, f.registers + 2 - machine.vector_registers);
  const double waits = std::clamp(f.registers + f.waiting - kReordered - machine.vector_registers, 0.0, f.waiting);
  const double bodies = f.points / f.body;
  double masks = 0;
  for (const AccessFacts& a : f.accesses)
    if (f.conditional && a.along && !a.store) masks += a.instructions * f.at_ends * kMask / machine.rates.issue;
  return arithmetic + masks + (2 * excess + f.windows * waits) * bodies;
}

// Of lines that share a set: a part of each is stored, or read as a column's, and the rest is met when they are gone.
double lost_cycles(const StageFacts& f) {
  double lost = 0;
  for (const AccessFacts& a : f.accesses) {
    if (a.near) continue;
    if (a.store)
      lost += a.instructions * std::clamp(a.conflict / kWays - 1, 0.0, kCrowded);
    else if (a.along && !a.contiguous)
      lost += a.instructions * std::clamp((a.conflict - 1) / (kWays - 1), 0.0, 1.0);
  }
  return lost * kLostLine;
}

double load_cycles(const StageFacts& f, const Machine& machine) {
  double cycles = 0;
  for (const AccessFacts& a : f.accesses) {
    if (a.store) {
      cycles += a.instructions * (f.tensorized > 0 || f.vector_extent > 0 ? 1 : 0.5);
      continue;
    }
    // A broadcast is a load of one element, of which two start in a cycle; vectors across lines are two loads.
    const double vector = (a.aligned ? 1 : 1.5) / machine.rates.l1_loads;
    const double each = a.crosses ? kCrossing : a.along ? vector : 0.5;
    // Of lines that share a set, those that it has no room for come again from L2.
    const double missing = a.hoisted ? 0 : std::clamp(a.conflict / kWays - 1, 0.0, 1.0);
    const double masked = f.conditional && a.along ? kMaskedRead : 1;
    cycles += a.instructions * (each * masked + missing * kCacheLineBytes / machine.rates.l2_bytes);
  }
  return cycles;
}

bool turns(const StageFacts& f) {
  return std::ranges::any_of(f.accesses, [](const AccessFacts& a) { return a.square > 0; });
}

double copy_cycles(const StageFacts& f) {
  double cycles = 0;
  for (const AccessFacts& a : f.accesses) cycles += a.bytes / (a.near ? kCopiedNear : kCopied);
  return cycles * (f.root && f.parallel_extent > 1 ? kElsewhere : 1);
}

void estimate_stage(StageFacts& f, const NestFacts& nest, const Machine& machine) {
  const double second = kHertz * std::max(1.0, f.cores);  // cycles of all cores
  f.compute_seconds = busy_cycles(f, machine) / second;
  f.load_seconds = load_cycles(f, machine) / second;
  if (f.copies || turns(f)) f.load_seconds = std::max(f.load_seconds, copy_cycles(f) / second);
  f.load_seconds += lost_cycles(f) / second;
  const double bodies = f.points / f.body;
  const double sums = std::max(1.0, f.accumulators);
  f.latency_seconds = f.sums_in_a_row && f.reduces ? f.arithmetic / sums * f.latency / second : 0;
  const double loops = f.tiles ? 0 : bodies * kIteration + f.entries * kEntry;
  f.overhead_seconds = loops / second + f.launches * kLaunch;
  const Rates& rates = machine.rates;
  const double l3 = static_cast<double>(machine.l3_bytes > 0 ? machine.l3_bytes : 4 * machine.l2_bytes);
  const double l2 = static_cast<double>(machine.l2_bytes) * std::max(1.0, f.cores);
  const double dram = std::min(rates.core_dram * std::max(1.0, f.cores), rates.all_dram);  // bytes a second
  // Cores of 512-bit vectors have more instructions on their way: what was measured of them shows no such wait.
  const double near = machine.vector_bits < 512 ? kAskedNear : 0;
  f.memory_seconds = {f.moved[0] / (rates.l2_bytes * second),
                      f.moved[1] / (rates.l3_bytes * second) + f.asked * near / second,
                      f.moved[2] / dram + f.asked * kAsked / second};
  if (nest.bytes <= kWarm * l2) f.memory_seconds[1] = f.shared / (rates.l3_bytes * second);
  if (nest.bytes <= kWarm * l3) f.memory_seconds[2] = 0;
  if (nest.bytes > schedule::kMoreThanCaches) f.memory_seconds[2] += f.claimed / dram;
  f.translation_seconds = f.translations * kTranslate / second;
  const double terms[] = {std::max(f.compute_seconds, f.latency_seconds),
                          f.load_seconds,
                          f.translation_seconds,
                          f.memory_seconds[0],
                          f.memory_seconds[1],
                          f.memory_seconds[2]};
  double most = 0, sum = 0;
  for (double t : terms) most = std::max(most, t), sum += t;
  f.seconds = most + kOverlap * (sum - most) + f.overhead_seconds;
}

}  // namespace

double estimate_seconds(NestFacts& facts, const Machine& machine) {
  double seconds = 0;
  for (StageFacts& stage : facts.stages) {
    estimate_stage(stage, facts, machine);
    seconds += stage.seconds;
  }
  return seconds;
}

double estimate_seconds(const schedule::Schedule& s, const Machine& machine) {
  if (machine.device) return estimate_device_seconds(s, machine);
  NestFacts facts = facts_of(s, schedule::view_stages(s.nest()), machine);
  return estimate_seconds(facts, machine);
}

}  // namespace tw::autotune
