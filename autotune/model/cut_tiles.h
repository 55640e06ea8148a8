// Tiles at the end of an axis that they do not divide. Lowering computes of them what is there: 56 rows by tiles of 6
// are nine tiles and one of 2 rows.
#pragma once

#include <vector>

#include "schedule/nest_view.h"

namespace tw::autotune {

// How far the code that is repeated goes along a root axis, 0 where nothing is cut, and how many points of that are
// computed together. A cut tile takes at least `least` of a tile's time; its end, which is no whole grain, is one, or
// `in_parts` one for each power of two.
struct Tile {
  int64_t extent = 1, grain = 1;
  double least = 0;
  bool in_parts = false;
};

// Of what is visited along a root axis, what runs: of all points, and of the tiles, each of which runs what does not
// depend on the axis once.
struct CutAxis {
  double points = 1, tiles = 1;
};
std::vector<CutAxis> cut_axes(const schedule::StageView&, const std::vector<Tile>& tiles);

}  // namespace tw::autotune
