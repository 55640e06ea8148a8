// Parts of rows that change places, so that a column of a stage in shared memory lies in different banks.
#pragma once

#include "schedule/bounds.h"

namespace tw::schedule {

// Element j of row r stands at ((j / elements) ^ (r / rows % parts)) * elements + j % elements; no parts: at j.
struct Swizzling {
  int64_t parts = 0;
  int64_t elements = 1;  // of a part
  int64_t rows = 1;      // beside each other that have one number
  int64_t row_bytes = 0;
};
Swizzling swizzling_of(const StageNest&, const std::vector<Extent>& region);

// Subscripts within the region, as it is kept.
std::vector<ir::Expr> swizzled(const Swizzling&, const std::vector<Extent>& region, std::vector<ir::Expr> at);

int64_t swizzled_byte(const Swizzling&, int64_t byte);  // of the region, from its beginning on

// What a swizzled stage must be. The Diagnostic names the Step.
Status check_swizzles(const LoopNest&, const Placement&, const NestBounds&, const std::vector<Step>& steps);
bool has_swizzles(const LoopNest&);

}  // namespace tw::schedule
