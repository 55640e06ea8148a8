// What belongs to a scan.
#pragma once

#include <vector>

#include "tensorwright/te.h"

namespace tw::te {

// The stages between the state and the update, producers first: they are computed anew at each time, from the first
// that init does not give on.
struct ScanBody {
  Operation scan;
  std::vector<Operation> stages;
};

// Of the scans among these operations, which stand producers first. Throws where the state, or a stage that depends on
// it, is used outside of its scan, or a read before a placeholder's first element has no scan that gives it a meaning.
std::vector<ScanBody> scan_bodies(const std::vector<Operation>& order);

// The time at which the updates begin.
Expr first_time(const Scan&);

}  // namespace tw::te
