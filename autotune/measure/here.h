// What tuning measures on where nobody gives a Runner: the CPU of this machine, or, for a target of one, its GPU.
#pragma once

#include <memory>
#include <optional>

#include "tensorwright/runtime.h"

namespace tw::autotune {

// Throw TuneError where the target is a GPU's and none is here.
std::unique_ptr<runtime::Runner> runner_here(const Target&);
MachineDescription machine_here(const Target&);

// The machine whose records a build prefers: the above, and nothing where there is no such GPU.
std::optional<MachineDescription> preferred_machine(const Target&);

}  // namespace tw::autotune
