// What is known of a candidate before anything was measured: an estimate of its time, which ranks. The bound, which
// prunes, is bound.h's.
//
// The estimate is a roofline with the facts that decide among good tiles: vectors and their tails, registers and
// spills, chains of sums, loads per arithmetic instruction, what moves between the caches, how the work spreads over
// threads. Its constants are those of schedule/machine.h; its clock is not the machine's, for what the system says of
// it varies, and with it the tuner's choices would.
#pragma once

#include "autotune/model/nest_facts.h"

namespace tw::autotune {

// Fills in the times of each stage. Seconds, comparable between candidates of all tasks on one machine.
double estimate_seconds(NestFacts&, const Machine&);
double estimate_seconds(const schedule::Schedule&, const Machine&);

}  // namespace tw::autotune
