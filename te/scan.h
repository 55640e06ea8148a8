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
// it, is used outside of its scan, or an output needs what stands outside of a tensor.
std::vector<ScanBody> scan_bodies(const std::vector<Operation>& order, const std::vector<Tensor>& outputs);

// Of a compute that reads_before and is no stage of a scan: its elements of which that is said are not needed, and get
// the value that the first element inside gives.
std::vector<Expr> bodies_outside_of_scans(const Compute&);

// Whether all states have the same shape, times included.
bool have_one_shape(const Scan&);

// The time at which the updates begin.
Expr first_time(const Scan&);

}  // namespace tw::te
