// The inside of a process that holds one kernel of somebody else's and serves calls of it on memory that it is given:
// for sessions on a board. It is confined as a worker that measures is (confinement.h), before the code is looked at.
//
// Arrays are checked as those of a call in one's own process are, and lie wholly in the memory that they name. What the
// kernel does beyond that ends this process or damages what was shared with it, and nothing else.
#pragma once

#include <string>
#include <vector>

#include "src/runtime/linking.h"

namespace tw::runtime {

// Until the channel is closed; returns the exit code. `required`: layers of the sandbox without which no code runs.
int serve_kernel(int channel, const Linking&, const std::vector<std::string>& required);

}  // namespace tw::runtime
