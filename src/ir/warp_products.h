// What the 32 lanes of a warp do together, as calls by name within a launch: products of small matrices, and loads of
// what these need from shared memory.
//
// A product of matrices:
//
//   call(int32, "mma.m16n8k16.bf16", address(inout c[0]), address(in a[0]), address(in b[0]))
//
// c = c + a * b, of m x k times k x n. Each lane holds a fragment of each matrix in local memory of its own: elements
// that are neighbours from the address on, at the places of the matrix that the lane map says. All lanes come to the
// call together and have their fragments at the same places. Names have dots, which C functions have not.
//
// A load:
//
//   call(int32, "ldmatrix.x4", address(out a[0]), address(in S[row, 0]))
//
// of four matrices (x2: of two), of 8 rows of 16 bytes each. Lane l names row l % 8 of matrix l / 8, wherever that is,
// from a multiple of 16 bytes on; x2 asks the first 16 lanes only. It gets, of each matrix, the four bytes l % 4 of row
// l / 4: what a lane of a product holds. Of elements of 16 bits also `.trans`: as if the matrix were transposed.
//
// An exchange:
//
//   call(int32, "shfl", address(out r[0]), address(in v[i]), lane)
//
// r is what the lane of that number, 0 to 31, has in its v[i]; where it has nothing there yet, r has nothing either.
// Each names a lane of its own, and all have r and v[i] at the same places of their local memory.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::ir {

inline constexpr int kLanesOfWarp = 32;

struct WarpProduct {
  std::string_view name;
  int m, n, k;
  Type operand, sum;
  int lanes = kLanesOfWarp;  // more: of warps together, which find their operands in shared memory (group_products.h)
};
std::span<const WarpProduct> warp_products();

const WarpProduct* warp_product(std::string_view symbol);  // null: no product of a warp

struct WarpLoad {
  std::string_view name;
  int matrices;
  bool transposed;
};
inline constexpr int kMatrixRows = 8, kMatrixRowBytes = 16;
const WarpLoad* warp_load(std::string_view symbol);

inline constexpr std::string_view kShuffle = "shfl";

bool is_of_warp(std::string_view symbol);  // one of these
bool is_of_warp(const Stmt& s);
std::string warp_fault(const CallExtern&);  // of one of these; empty where it is such a call as above

// In the order of the call's arguments: c, a, b.
enum class Fragment : uint8_t { kSum, kLeft, kRight };
inline constexpr Fragment kFragments[] = {Fragment::kSum, Fragment::kLeft, Fragment::kRight};

int elements_of(const WarpProduct&, Fragment);  // of one lane; of an operand in shared memory: a share of it
Type type_of(const WarpProduct&, Fragment);

// Which element of the matrix a lane holds: the sum, over the digits of the lane's number and of the element's number
// in the fragment, of digit times step. A digit of x is x / divisor % radix.
struct LaneDigit {
  int divisor, radix;
  int row, column;  // steps
};
struct LaneMap {
  std::vector<LaneDigit> of_lane, of_element;
};
LaneMap lane_map(const WarpProduct&, Fragment);

template <class Number>
struct MatrixPlace {
  Number row, column;
};
MatrixPlace<int> place_of(const LaneMap&, int lane, int element);
MatrixPlace<Expr> place_of(const LaneMap&, const Expr& lane, const Expr& element);

}  // namespace tw::ir
