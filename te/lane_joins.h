// How the partial results of a reduction become one, whoever holds them: the one place that says so.
//
//   8 lanes   0  1  2  3  4  5  6  7        5 lanes   0  1  2  3  4
//             0+4   1+5   2+6   3+7                   0+3   1+4   2
//             04+26       15+37                       03+2        14
//             0426+1537                               032+14
//
// Of n partial results each of the first n / 2, on the left, is joined with the one ceil(n / 2) lanes up, on the right;
// where n is odd, the one in the middle waits. ceil(n / 2) are left, and so on down to lane 0.
#pragma once

#include <vector>

#include "tensorwright/ir.h"

namespace tw::te {

// Lanes 0 .. lanes - 1 are joined with lanes distance .. distance + lanes - 1.
struct LaneJoin {
  int64_t lanes, distance;
};
std::vector<LaneJoin> lane_joins(int64_t lanes);

// The steps as statements, after which lane 0 holds the result. partial[i][at, lane]: component i. The lanes of one
// step are one loop, of that kind.
ir::Stmt join_lanes(const ir::Reduce&, const std::vector<ir::Buffer>& partial, const std::vector<ir::Expr>& at,
                    int64_t lanes, ir::ForKind);

}  // namespace tw::te
