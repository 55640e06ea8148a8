// Rows from their first sum to the last element: what the rule (device_rows.cc) and its form in the registers of warps
// (row_warps.cc) have in common.
#pragma once

#include <optional>
#include <vector>

#include "autotune/sketch/device.h"

namespace tw::autotune::sketch {

// How many of the root's axes count its rows: all but the last, or all where a row ends in one element.
size_t row_axes(const Graph&, const Group&);
// Of a row: its columns, or the terms of its longest sum.
int64_t row_length(const Graph&, const Group&, size_t rows);

// Whether a row of the stage may wait for those that read it, which its knob .kept says.
bool can_be_kept(const Stage&, size_t rows);

// Rows that warps may keep in their registers.
struct RowWarps {
  size_t rows = 0;          // axes that count them
  int64_t length = 0;       // of one
  std::vector<int> loaded;  // sources whose rows wait for the readers
  int64_t bytes = 0;        // of an element of all of these together
  int64_t kept = 0;         // of the largest element that is computed and may wait
  int64_t of_a_lane = 0;    // elements that each lane had best have
};
std::optional<RowWarps> match_row_warps(const Graph&, const Group&);

// Whether so many threads of a row have the registers for it, `kept` being that of what does wait.
bool fits_warps(const Graph&, const RowWarps&, int64_t threads, int64_t kept);
// Refuses what does not fit by the knobs .threads of the root and .kept of members.
void apply_row_warps(Sketch&, const Group&, const RowWarps&);

}  // namespace tw::autotune::sketch
