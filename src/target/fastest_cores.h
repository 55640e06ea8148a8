// Where cores differ, as big and little ones do, the numbers say nothing of which is which: the system does.
#pragma once

#include <string>
#include <vector>

namespace tw::target {

// The cores by their capacity, the highest first; those of one capacity, or of none that is known, in their order.
// `root`: as describe_hardware has it.
std::vector<int> fastest_first(std::vector<int> cores, const std::string& root = "");

}  // namespace tw::target
