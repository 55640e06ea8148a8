// How people are told of frozen kernels.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/aot.h"

namespace tw::aot {

// dense, matmul(M=9, N=17, K=33), for x86-64-v3
std::string subject(const Frozen&);

// The command that freezes it again, of that log; of another one where none is given, if it was frozen by a record.
std::string freeze_command(const Frozen&, const std::string& log = "");

// Whether it was frozen by records of several sizes; and its ranges, the last one included.
bool is_by_sizes(const Frozen&);
std::vector<FrozenRange> ranges_of(const Frozen&);

}  // namespace tw::aot
