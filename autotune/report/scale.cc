#include "autotune/report/scale.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tw::autotune {
namespace {

// The round number, 1, 2 or 5 times a power of ten, next above a positive one.
double round_up(double x) {
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (x <= digit * power * (1 + 1e-9)) return digit * power;
  return 10 * power;
}

}  // namespace

double Scale::operator()(double value) const {
  const auto place = [&](double v) { return logarithmic ? std::log(v) : v; };
  const double share = (place(value) - place(low)) / (place(high) - place(low));
  return from + (to - from) * std::clamp(share, 0.0, 1.0);
}

std::vector<double> Scale::ticks(int about) const {
  std::vector<double> out;
  if (!logarithmic) {
    const double step = round_up((high - low) / about);
    for (double v = std::ceil(low / step) * step; v <= high * (1 + 1e-9); v += step) out.push_back(v);
    return out;
  }
  constexpr double kFew = 2.6;  // decades that have room for 2 and 5 in between
  const double decades = std::log10(high / low);
  const int step = std::max(1, static_cast<int>(std::ceil(decades / about)));
  for (int e = static_cast<int>(std::floor(std::log10(low))); e <= std::log10(high); e += step) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (digit > 1 && decades > kFew) continue;
      const double v = digit * std::pow(10, e);
      if (v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9)) out.push_back(v);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

Scale linear_scale(double largest, double from, double to) {
  if (!(largest > 0)) return {0, 1, from, to};
  const double step = round_up(largest / 5);
  return {0, std::ceil(largest / step * (1 - 1e-9)) * step, from, to};
}

Scale log_scale(double least, double largest, double from, double to) {
  constexpr double kRoom = 1.3;
  return {least / kRoom, largest * kRoom, from, to, true};
}

std::string number(double x) {
  char text[32];
  const double size = std::fabs(x);
  if (size >= 1e6 || (size > 0 && size < 1e-4))
    std::snprintf(text, sizeof text, "%.3g", x);
  else if (size >= 1000)
    std::snprintf(text, sizeof text, "%.0f", x);
  else
    std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

}  // namespace tw::autotune
