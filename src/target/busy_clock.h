// The clock of a core that is busy, measured: a virtual machine does not say, and /proc/cpuinfo tells what an idle core
// does now.
#pragma once

namespace tw::target {

// Hertz, of the core that this thread runs on. Takes ten milliseconds; the second call and later ones give the first's answer.
double busy_clock();

// The same now, of the core that this thread runs on: the best of so many looks of 20 us each.
double clock_now(int looks);

}  // namespace tw::target
