// Tensor maps: what a device's copies of boxes know of an array, as the driver encodes it.
#pragma once

#include "src/runtime/cuda/driver.h"
#include "src/runtime/cuda/plan.h"

namespace tw::runtime::cuda {

struct alignas(kTensorMapAlignment) EncodedMap {
  unsigned char bytes[kTensorMapBytes];
};

// Of one call. Kernel objects have it like this, without what is behind the last axis.
struct MapShape {
  static constexpr int64_t kMostAxes = 5;
  struct Axis {
    int64_t extent, stride, box;  // elements
  };
  int64_t element_bytes, swizzle, rank;
  Axis axes[kMostAxes];  // outermost first
};
MapShape shape_of(const TensorMap&, void* const* scalars);  // as Formula has them

// Why no device takes it: "must begin at a multiple of 16 bytes"; empty: it does.
std::string map_fault(const MapShape&, Address array);
// Of one without a fault, by a driver that knows such maps.
Code encode(const Driver&, const MapShape&, Address array, EncodedMap& out);

}  // namespace tw::runtime::cuda
