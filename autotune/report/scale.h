// Axes of a chart: from values to places, and where the ticks stand.
#pragma once

#include <string>
#include <vector>

namespace tw::autotune {

struct Scale {
  double low = 0, high = 1;  // values
  double from = 0, to = 1;   // their places
  bool logarithmic = false;
  double operator()(double value) const;
  std::vector<double> ticks(int about) const;  // round values from low to high
};

// From 0 to a round value that is not less than `largest`.
Scale linear_scale(double largest, double from, double to);
// The values from `least` to `largest`, both positive, and some room.
Scale log_scale(double least, double largest, double from, double to);

std::string number(double);  // four digits at most, without an exponent where people write none

}  // namespace tw::autotune
