#include "schedule/warp_accesses.h"

#include <algorithm>
#include <set>

namespace tw::schedule {

FragmentAccesses fragment_accesses(const ir::WarpProduct& product, ir::Fragment which, bool side_by_side) {
  const int all = ir::elements_of(product, which);
  const int beside = which == ir::Fragment::kSum ? 2 : 32 / product.operand.bits;
  return side_by_side ? FragmentAccesses{all / beside, beside} : FragmentAccesses{all, 1};
}

std::vector<int64_t> lane_addresses(const ir::WarpProduct& product, ir::Fragment which, double row, double column) {
  const ir::LaneMap map = ir::lane_map(product, which);
  std::vector<int64_t> at;
  for (int lane = 0; lane < ir::kLanesOfWarp; ++lane) {
    const auto place = ir::place_of(map, lane, 0);
    at.push_back(static_cast<int64_t>(place.row * row + place.column * column));
  }
  return at;
}

std::vector<int64_t> matrix_addresses(const ir::WarpProduct& product, ir::Fragment which, double row, double column,
                                      bool transposed) {
  const ir::LaneMap map = ir::lane_map(product, which);
  const int word = 32 / product.operand.bits;
  const double term = which == ir::Fragment::kLeft ? column : row;
  std::vector<int64_t> at;
  for (int first = 0; first < ir::elements_of(product, which); first += word)
    for (int r = 0; r < ir::kMatrixRows; ++r) {
      const auto place = ir::place_of(map, transposed ? 0 : 4 * r, first);
      at.push_back(static_cast<int64_t>(place.row * row + place.column * column + (transposed ? r * term : 0)));
    }
  return at;
}

int64_t pieces_of(const std::vector<int64_t>& at, int64_t bytes) {
  std::set<int64_t> pieces;
  for (const int64_t byte : at) pieces.insert(byte / bytes);
  return std::ssize(pieces);
}

}  // namespace tw::schedule
