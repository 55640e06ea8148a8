#include "src/runtime/cuda/tensor_map.h"

#include <algorithm>

namespace tw::runtime::cuda {

namespace {

constexpr int64_t kUnit = 16;  // bytes
constexpr int kPromotion = 2;  // L2 reads 128 bytes at once

// Of unsigned integers, whatever they stand for.
int type_of(int64_t bytes) { return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 4; }
int swizzle_of(int64_t bytes) { return bytes == 0 ? 0 : bytes == 32 ? 1 : bytes == 64 ? 2 : 3; }

}  // namespace

MapShape shape_of(const TensorMap& map, void* const* scalars) {
  MapShape out{map.element_bytes, map.swizzle, static_cast<int64_t>(map.box.size()), {}};
  for (size_t d = 0; d < map.box.size(); ++d)
    out.axes[d] = {map.extents[d].evaluate(scalars), map.strides[d].evaluate(scalars), map.box[d]};
  return out;
}

std::string map_fault(const MapShape& shape, Address array) {
  if (array % static_cast<Address>(kUnit) != 0) return "must begin at a multiple of 16 bytes";
  for (int64_t d = 0; d + 1 < shape.rank; ++d)
    if (const int64_t bytes = shape.axes[d].stride * shape.element_bytes; bytes % kUnit != 0)
      return "its rows must be a multiple of 16 bytes apart, not " + std::to_string(bytes);
  return "";
}

Code encode(const Driver& driver, const MapShape& shape, Address array, EncodedMap& out) {
  unsigned long long extents[MapShape::kMostAxes] = {}, strides[MapShape::kMostAxes] = {};
  unsigned box[MapShape::kMostAxes] = {}, steps[MapShape::kMostAxes] = {};
  for (int64_t d = 0; d < shape.rank; ++d) {
    const MapShape::Axis& axis = shape.axes[shape.rank - 1 - d];
    extents[d] = static_cast<unsigned long long>(std::max<int64_t>(axis.extent, 1));
    box[d] = static_cast<unsigned>(axis.box);
    steps[d] = 1;
    if (d > 0) strides[d - 1] = static_cast<unsigned long long>(axis.stride * shape.element_bytes);
  }
  return driver.tensor_map(out.bytes, type_of(shape.element_bytes), static_cast<unsigned>(shape.rank),
                           reinterpret_cast<void*>(static_cast<uintptr_t>(array)), extents, strides, box, steps, 0,
                           swizzle_of(shape.swizzle), kPromotion, 0);
}

}  // namespace tw::runtime::cuda
