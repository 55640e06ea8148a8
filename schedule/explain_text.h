// What the pages of explanations are written with.
#pragma once

#include <string>
#include <vector>

#include "schedule/explain.h"

namespace tw::schedule {

std::string number(double);
std::string bytes_text(double);
std::string seconds_text(double);
std::string count_text(double);
std::string counted(double count, const std::string& what);  // 1 run, 2 runs
// A title, and what belongs to it, with commas.
std::string line(const std::string& title, const std::vector<std::string>& parts);
// Columns as wide as their widest cell; the first two are words, what follows is numbers. No blanks at the end of a
// row.
using Row = std::vector<std::string>;
std::string table(const std::vector<Row>&);

// Of a device (explain_device_text.cc): launches with their stages, and the rates.
std::string launches_text(const Explanation&);
std::string device_text(const DeviceRates&);

}  // namespace tw::schedule
