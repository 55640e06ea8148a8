// What stands around a tensor.
#pragma once

#include <string>
#include <vector>

#include "te/ops/site.h"

namespace tw::te::ops {

// Elements before and behind the data along one axis.
struct Sides {
  int64_t before = 0, behind = 0;
};

// A stage called `name`: x with `value` around it, `sides` of each axis.
//
//   name[i, j] = before <= i < before + n && .. ? x[i - before, ..] : value
Tensor surrounded(const Site&, const Tensor& x, const std::vector<Sides>& sides, const Expr& value,
                  const std::string& name, std::vector<std::string> axes = {});

}  // namespace tw::te::ops
