// Numbers that variables of the environment set.
#pragma once

#include <cstdint>

namespace tw::support {

// What the variable says, or `usual` where it is unset or empty. Throws kArgument, with its name, where it says
// anything but an integer from 1 to `most`.
int64_t number_of_environment(const char* variable, int64_t usual, int64_t most);

// The same for who cannot throw: then `usual`, and a line on stderr, once in a process for each variable.
int64_t number_of_environment_or_warning(const char* variable, int64_t usual, int64_t most);

// How many copies of a body unrolled loops may make together: TW_MAX_UNROLL, or 4096.
int64_t max_unroll();

}  // namespace tw::support
