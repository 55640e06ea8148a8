// Whether linear rows contradict each other, whatever finite or infinite ranges their variables have.
#pragma once

#include <optional>
#include <vector>

#include "src/lower/integer_system.h"

namespace tw::lower {

// By the elimination of Fourier and Motzkin: equations first, then of each variable all lower ends against all upper
// ones. True: no integers satisfy the rows within the ranges. False: some may, or it would take too many rows.
bool contradict(const IntegerSystem::Rows& rows, const std::vector<ir::Interval>& ranges);

// What the rows say of the variables that have finite ranges, by the same elimination of all others; empty where that
// would take too many rows. It stays true, and says as much, when finite ranges become narrower.
std::optional<IntegerSystem::Rows> of_finite(const IntegerSystem::Rows& rows, const std::vector<ir::Interval>& ranges);

}  // namespace tw::lower
