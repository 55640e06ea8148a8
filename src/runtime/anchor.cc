#include "src/runtime/anchor.h"

#include <algorithm>
#include <cmath>

namespace tw::runtime {

void Anchor::begin(double seconds, double spread, bool before) {
  seconds_ = seconds;
  spread_ = spread;
  since_ = before ? kEvery : 1;
}

void Anchor::again(double seconds, double spread) {
  const double ratio = seconds / seconds_;
  drift_ = std::abs(ratio - 1) > std::max(spread_, spread) ? ratio : 1;
  since_ = 0;
}

}  // namespace tw::runtime
