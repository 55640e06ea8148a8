// How fast this machine can be on a computation: the arithmetic that it declares against the units that do it, the
// bytes of its arguments against the level of memory that holds them.
#pragma once

#include <array>
#include <string>

#include "schedule/explain.h"
#include "tensorwright/autotune.h"

namespace tw::autotune {

struct Roofline {
  double flops = 0, bytes = 0;  // of one call: operations; what the arguments hold
  double peak = 0;              // operations a second, all threads
  std::array<double, schedule::kLevels>
      bandwidth{};                          // bytes a second out of each level, all threads; none for kCompute
  schedule::Level holds = schedule::kDram;  // the smallest cache in which the arguments fit

  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
  // Operations a second that the peak, or the bandwidth of the level that holds the data, allows; 0: not known.
  double roof() const;
  std::string bound() const;  // which of them: "peak", "L2 bandwidth", "memory bandwidth"
  // No less than a rate that was seen: a clock is measured too low where others take the machine.
  void raise_to(double flops_per_second);
};

// Of the machine alone, for data whose multiplications have operands of this type.
Roofline machine_roofline(const Target&, ir::Type operands, const MachineDescription&);
Roofline roofline_of(const Task&, const MachineDescription&);

}  // namespace tw::autotune
