// The panel of a product of narrow elements: the terms that a lane sums lie side by side in it, [k // 4, lane, k % 4].
//
//   lanes that lie in memory as they do here         terms that lie as they do here
//
//   for k.o: for lane.o:                             for lane.o: for k.o.o: for k.o.i unrolled:
//     for k.i unrolled: vectorized lane.i              vectorized lane.i * k.i
//
// The unrolled statements store every fourth element, which makes one store of all; or they read columns of a square
// whose elements are four terms, which is turned in registers.
#include <numeric>

#include "autotune/sketch/contraction.h"
#include "src/target/abilities.h"

namespace tw::autotune::sketch {

bool vectorize_dot_panel(Sketch& sketch, const DotPanel& panel) {
  const auto split = [&](const std::string& loop, int64_t by) {
    const bool pads = panel.pads && loop == panel.lane;
    sketch.split(panel.stage, loop, by, pads ? ir::Tail::kPad : ir::Tail::kAuto);
  };
  const std::string lane = panel.lane + ".i";
  if (panel.lanes_in_place) {
    const bool permutes = panel.group == 4 && target::permutes_bytes(sketch.target);  // four rows at once
    const int64_t by = std::gcd(panel.columns, permutes ? panel.lanes / panel.group : panel.lanes);
    if (by < panel.group || panel.group > 4) return false;
    split(panel.lane, by);
    sketch.reorder(panel.stage, {panel.term, lane});
    sketch.step(schedule::Unroll{panel.stage, panel.term});
    sketch.step(schedule::Vectorize{panel.stage, lane});
    return true;
  }
  const int64_t by = std::gcd(panel.columns, panel.lanes / panel.group);
  if (by < 4) return false;
  split(panel.lane, by);
  split(panel.groups, by);
  sketch.reorder(panel.stage, {panel.lane + ".o", panel.groups + ".o", panel.groups + ".i", lane, panel.term});
  sketch.step(schedule::Unroll{panel.stage, panel.groups + ".i"});
  sketch.step(schedule::Vectorize{panel.stage, sketch.fuse(panel.stage, {lane, panel.term})});
  return true;
}

}  // namespace tw::autotune::sketch
