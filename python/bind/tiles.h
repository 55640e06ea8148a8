// Regions of tensors, and operations whose elements an intrinsic computes tile by tile.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <vector>

#include "tensorwright/te.h"

namespace tw::bind {

// A[i, 0:16]: from `begin` on so many elements along each dimension; none of a dimension with one subscript.
struct Region {
  te::Tensor tensor;
  std::vector<ir::Expr> begin;
  std::vector<std::optional<int64_t>> extent;
};

// Of the subscripts `at`, then those of `key`, of which some are slices; the rest of the dimensions is whole.
Region region_of(const te::Tensor&, std::vector<ir::Expr> at, const pybind11::tuple& key);

}  // namespace tw::bind
