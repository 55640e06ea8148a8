// The report's charts as inline SVG. Colours are variables of html.cc's style sheet; what a mark stands for is
// in its data-x and data-y and in its title.
#pragma once

#include <string>

#include "autotune/report/report.h"

namespace tw::autotune {

std::string curve_chart(const Subject&);     // the best after each trial, and every trial
std::string roofline_chart(const Subject&);  // empty where the machine or the arithmetic is not known
std::string failure_chart(const Subject&);   // a bar for each kind; empty without failures
std::string knob_chart(const Subject&);      // for each knob the best time with each of its values

// For text and attributes of HTML.
std::string escaped(const std::string&);
std::string rate_text(double operations_a_second);  // 412 GFLOP/s
std::string time_text(double seconds);              // 0.61 ms

}  // namespace tw::autotune
