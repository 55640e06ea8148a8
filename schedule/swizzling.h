// Parts of rows that change places, so that a column of a stage in shared memory lies in different banks.
//
// What four warps multiply (group_operands.h) lies in lines of at most 128 bytes, one below the other. Where rows are
// longer, lines of them make panels:
//
//   P[k, n], 64 rows of 256 columns of 2 bytes     ==>     P[n // 64, k, n % 64], four panels of 64 lines
#pragma once

#include "schedule/bounds.h"

namespace tw::schedule {

// Element j of row r stands at ((j / elements) ^ (r / rows % parts)) * elements + j % elements; no parts: at j.
struct Swizzling {
  int64_t parts = 0;
  int64_t elements = 1;  // of a part
  int64_t rows = 1;      // beside each other that have one number
  int64_t row_bytes = 0;
  int64_t panels = 1;  // a row of the region is one of each
  int64_t lines = 0;   // of a panel, where there are several
  int64_t bytes() const { return parts * kPart; }

  static constexpr int64_t kPart = 16;  // bytes that stay together: one access of a thread
};
Swizzling swizzling_of(const LoopNest&, const Placement&, int stage, const std::vector<Extent>& region);

// What is kept of a region in panels, and where an element of the region is there.
std::vector<Extent> in_panels(const Swizzling&, std::vector<Extent> region);
std::vector<ir::Expr> in_panels(const Swizzling&, std::vector<ir::Expr> at);
// Subscripts of what is kept, of this shape, with parts exchanged.
std::vector<ir::Expr> swizzled(const Swizzling&, const std::vector<Extent>& kept, std::vector<ir::Expr> at);

int64_t swizzled_byte(const Swizzling&, int64_t byte);  // of the region, from its beginning on

// What a swizzled stage must be. The Diagnostic names the Step.
Status check_swizzles(const LoopNest&, const Placement&, const NestBounds&, const std::vector<Step>& steps);
bool has_swizzles(const LoopNest&);

}  // namespace tw::schedule
