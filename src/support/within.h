// Deadlines in messages.
#pragma once

#include <string>

namespace tw::support {

// "within 0.3 s"
std::string within(double seconds);

}  // namespace tw::support
