// Rows from their first sum to the last element: what the rule (device_rows.cc) and its form in the registers of warps
// (row_warps.cc) have in common.
#pragma once

#include <optional>

#include "autotune/sketch/device.h"

namespace tw::autotune::sketch {

// How many of the root's axes count its rows: all but the last, or all where a row ends in one element.
size_t row_axes(const Graph&, const Group&);
// Of a row: its columns, or the terms of its longest sum.
int64_t row_length(const Graph&, const Group&, size_t rows);

// Whether a row of the stage may wait for those that read it, which its knob .kept says.
bool can_be_kept(const Stage&, size_t rows);

// Of rows that warps may keep in their registers: how many elements each lane had best have; and whether they can by
// the knobs .threads of the root and .kept of members.
std::optional<int64_t> elements_of_a_lane(const Graph&, const Group&);
bool fits_warps(const Sketch&, const Group&);
void apply_row_warps(Sketch&, const Group&);

}  // namespace tw::autotune::sketch
