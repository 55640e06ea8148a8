// Names that the user may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tw::support {

// The candidates with the smallest edit distance to `name`, best first, those too far away left out.
std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& candidates, size_t at_most = 3);

// "did you mean x, y or z?", or "" when nothing is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tw::support
