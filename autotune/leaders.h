// The shared objects of the fastest few, which stay until those are timed again.
#pragma once

#include <vector>

#include "autotune/measure/measure.h"

namespace tw::autotune {

class Leaders {
 public:
  explicit Leaders(int count) : count_(static_cast<size_t>(count)) {}

  void keep(Built);  // where it is one of the fastest
  // As it was built or, when that was in another process, built again.
  Built& again(const Trial&, Measurer&);

 private:
  const size_t count_;
  std::vector<Built> fastest_;
};

}  // namespace tw::autotune
