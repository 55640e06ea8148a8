// What is known of a candidate before anything was measured: an estimate of its time, which ranks, and a bound under
// which no run of it can be, which prunes.
//
// The estimate is a roofline with the facts that decide among good tiles: vectors and their tails, registers and
// spills, chains of sums, loads per arithmetic instruction, what moves between the caches, how the work spreads over
// threads. Its constants are those of schedule/machine.h; its clock is not the machine's, for what the system says of
// it varies, and with it the tuner's choices would.
#pragma once

#include "autotune/nest_facts.h"

namespace tw::autotune {

// Fills in the times of each stage. Seconds, comparable between candidates of all tasks on one machine.
double estimate_seconds(NestFacts&, const Machine&);
double estimate_seconds(const schedule::Schedule&, const Machine&);

// The least time that any run of this candidate can take: the sums of its reductions at the full rate of the vectors
// that its loops allow, on the cores that its parallel loops allow, at the fastest clock that is sold.
double lower_bound_seconds(const schedule::LoopNest&, const std::vector<schedule::StageView>&, const Machine&);
double lower_bound_seconds(const schedule::Schedule&, const Machine&);

}  // namespace tw::autotune
