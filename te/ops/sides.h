// What stands around a tensor, and options of which there is one for each dimension.
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

// One number of an option for each of `n` dimensions; one given counts for all.
std::vector<int64_t> one_for_each(const Site&, const std::string& option, const std::vector<int64_t>& given, size_t n,
                                  int64_t least);

}  // namespace tw::te::ops
