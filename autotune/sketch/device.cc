#include "autotune/sketch/device.h"

namespace tw::autotune::sketch {

void share(Sketch& sketch, const std::string& stage, const std::string& loop, schedule::Factor threads) {
  sketch.step(schedule::Split{stage, loop, std::move(threads), {}, ir::Tail::kAuto});
  sketch.bind(stage, loop + ".i", "threadIdx.x");
}

}  // namespace tw::autotune::sketch
