// What the axes of a stage are in terms of each other, over its whole domain.
#pragma once

#include <vector>

#include "schedule/loop_nest.h"

namespace tw::schedule::primitives {

enum class Which : uint8_t { kData, kReductions };

inline ir::Expr stage_extent(const StageNest& stage, AxisId axis) { return stage.axes[axis].extent.expr(); }

// The variable of a loop that becomes an axis of a definition: k.i is k_i there, as the new stage's loop will be
// called.
ir::Var axis_var(const Axis& loop);

// `values`, by axis, holds those of the leaves and receives those of the axes from which they came, counted from 0.
// Returns what holds unless a split overshoots; empty where none does.
ir::Expr root_values(const StageNest&, Which, std::vector<ir::Expr>& values);

// The other way: `values` holds those of the root axes and receives those of all that came of them.
void leaf_values(const StageNest&, std::vector<ir::Expr>& values);

}  // namespace tw::schedule::primitives
