// The model that is served: rows of features are normed, go through a layer, and become probabilities.
#pragma once

#include <array>
#include <cstddef>

namespace model {

constexpr size_t kRows = 16, kFeatures = 256, kClasses = 96;  // of a request

using Input = std::array<float, kRows * kFeatures>;
using Output = std::array<float, kRows * kClasses>;

struct Weights {
  std::array<float, kFeatures> scale;  // of the normed features
  std::array<float, kFeatures * kClasses> layer;
};

inline Weights weights() {
  Weights w;
  for (size_t i = 0; i < w.scale.size(); ++i) w.scale[i] = 0.5f + static_cast<float>(i % 7) / 8;
  for (size_t i = 0; i < w.layer.size(); ++i) w.layer[i] = static_cast<float>(i * 29 % 17) / 64 - 0.125f;
  return w;
}

}  // namespace model
