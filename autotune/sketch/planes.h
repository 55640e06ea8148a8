// What is what in a convolution of planes, the rows of whose image lie side by side (NCHW): the rows of a tile are
// channels of the result, its columns pixels of a row, and its lines rows of the image.
#pragma once

#include <optional>
#include <vector>

#include "autotune/sketch/contraction.h"
#include "src/ir/warp_products.h"

namespace tw::autotune::sketch {

struct Planes {
  const ir::WarpProduct* product = nullptr;
  int line = -1;                  // data axis: the next one out that moves the image alone; -1: there is none
  std::vector<int> outer;         // the others
  size_t terms = 0;               // among the sums
  size_t image = 0, weights = 0;  // dimensions of the operands along which terms go
  size_t channels = 0;            // dimension of the weights along which rows go
  bool turned = false;            // both operands
  int64_t rows = 0;               // of a group
};
// Nothing where tensor cores do not take it, or take its rows as they lie.
std::optional<Planes> planes_of(const Graph&, const Group&, const Roles&);

}  // namespace tw::autotune::sketch
