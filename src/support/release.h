// The release of Tensorwright, as records, files and machines name it to each other.
#pragma once

namespace tw::support {

inline constexpr const char* kRelease = "0.1.0";

}  // namespace tw::support
