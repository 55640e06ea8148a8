#include "autotune/report/charts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "autotune/report/svg.h"

namespace tw::autotune {
namespace {

constexpr double kWidth = 520, kHeight = 300;
constexpr double kLeft = 60, kRight = 504, kTop = 14, kBottom = 256;

// What the curve goes over: the rate, or the time where the arithmetic is not known.
struct Measure {
  bool rates;
  double flops;
  double operator()(const Trial& t) const { return rates ? flops / t.seconds / 1e9 : t.seconds * 1e3; }
  double better(double a, double b) const { return rates ? std::max(a, b) : std::min(a, b); }
  std::string title() const { return rates ? "GFLOP/s" : "milliseconds"; }
};

Measure measure_of(const Subject& s) { return {s.roofline.flops > 0, s.roofline.flops}; }

Scale scale_of_measure(const Subject& s, const Measure& measure) {
  double least = INFINITY, largest = 0;
  for (const Trial& t : s.trials) {
    if (!t.timed()) continue;
    least = std::min(least, measure(t));
    largest = std::max(largest, measure(t));
  }
  if (largest == 0) return linear_scale(1, kBottom, kTop);
  return measure.rates ? linear_scale(largest, kBottom, kTop) : log_scale(least, largest, kBottom, kTop);
}

std::string trial_title(size_t number, const Trial& t, const Measure& measure) {
  std::string text = "trial " + std::to_string(number) + ": " + t.status;
  if (t.timed()) {
    text += std::string(t.ok() ? ", " : ", slower than ") + time_text(t.seconds);
    if (measure.rates) text += ", " + rate_text(measure.flops / t.seconds);
  }
  return text + "\n" + t.knobs;
}

void draw_roofs(Drawing& drawing, const Subject& s, const Scale& x, const Scale& y) {
  const Roofline& r = s.roofline;
  drawing.line("roof", {x.from, y(r.peak / 1e9)}, {x.to, y(r.peak / 1e9)});
  drawing.text("note", {x.to, y(r.peak / 1e9) - 5}, "peak, " + rate_text(r.peak), "end");
  for (const schedule::Level level : {schedule::kL1, schedule::kL2, schedule::kL3, schedule::kDram}) {
    const double bandwidth = r.bandwidth[level];
    if (bandwidth <= 0) continue;
    const double from = std::max(x.low, y.low * 1e9 / bandwidth), to = std::min(x.high, r.peak / bandwidth);
    if (!(from < to)) continue;
    drawing.line(level == r.holds ? "roof" : "roof other", {x(from), y(bandwidth * from / 1e9)},
                 {x(to), y(bandwidth * to / 1e9)});
    // Each name at another place of its slope, for neighbouring levels are often close; the numbers stand apart.
    const double label = from * std::pow(to / from, 0.2 * static_cast<int>(level));
    const std::string name = to_string(level);
    drawing.text("note", {x(label) + 5, y(bandwidth * label / 1e9) + 10}, name);
    drawing.text("note", {x.to, kBottom - 8 - 14.0 * (schedule::kDram - level)},
                 name + " " + number(bandwidth / 1e9) + " GB/s", "end");
  }
}

}  // namespace

std::string curve_chart(const Subject& s) {
  const Measure measure = measure_of(s);
  const size_t n = s.trials.size();
  const Scale x{0, std::max(1.0, static_cast<double>(n)), kLeft, kRight}, y = scale_of_measure(s, measure);
  Drawing drawing("chart curve", "The best candidate after each trial, and every trial", kWidth, kHeight);
  drawing.axes(x, y, "trial", measure.title());
  std::vector<Point> best;
  double so_far = 0;
  for (size_t i = 0; i < n; ++i) {
    const Trial& t = s.trials[i];
    const double place = static_cast<double>(i + 1);
    if (t.ok()) {
      const double before = so_far;
      so_far = best.empty() ? measure(t) : measure.better(so_far, measure(t));
      if (!best.empty() && so_far != before) best.push_back({x(place), y(before)});
      if (best.empty() || so_far != before) best.push_back({x(place), y(so_far)});
    }
    const std::string title = trial_title(i + 1, t, measure);
    if (t.timed())
      drawing.circle(t.ok() ? "trial" : "trial beaten", {x(place), y(measure(t))}, 3, data_of(place, measure(t)),
                     title);
    else
      drawing.rectangle("trial failed", {x(place) - 2.5, kBottom - 5}, 5, 5, data_of(place, 0), title);
  }
  if (!best.empty()) {
    best.push_back({x(static_cast<double>(n)), y(so_far)});
    drawing.path("best", best);
  }
  return std::move(drawing).svg();
}

std::string roofline_chart(const Subject& s) {
  if (s.roofline.peak <= 0 || s.points.empty()) return "";
  double least = s.roofline.intensity(), largest = s.roofline.intensity(), slowest = INFINITY;
  for (const RooflinePoint& p : s.points) {
    least = std::min(least, p.intensity);
    largest = std::max(largest, p.intensity);
    slowest = std::min(slowest, p.rate);
  }
  if (!(least > 0)) return "";
  const double nearest = s.roofline.peak / s.roofline.bandwidth[schedule::kL1],
               farthest = s.roofline.peak / s.roofline.bandwidth[schedule::kDram];
  const Scale x = log_scale(std::min(least, nearest / 4), std::max(largest, farthest * 2), kLeft, kRight);
  const Scale y = log_scale(std::min(slowest, s.roofline.peak / 100) / 1e9, s.roofline.peak * 1.2 / 1e9, kBottom, kTop);
  Drawing drawing("chart roofline", "Candidates below the roofs of this machine", kWidth, kHeight);
  drawing.axes(x, y, "operations per byte from memory", "GFLOP/s");
  draw_roofs(drawing, s, x, y);
  for (const bool best : {false, true}) {  // the best lies on top
    for (const RooflinePoint& p : s.points) {
      if (p.best != best) continue;
      drawing.circle(
          best ? "trial winner" : "trial", {x(p.intensity), y(p.rate / 1e9)}, best ? 5 : 3,
          data_of(p.intensity, p.rate / 1e9),
          (best ? "the best: " : "") + rate_text(p.rate) + ", " + number(p.intensity) + " operations per byte");
    }
  }
  return std::move(drawing).svg();
}

std::string failure_chart(const Subject& s) {
  std::map<std::string, int> counts;
  for (const Trial& t : s.trials)
    if (!t.timed()) ++counts[t.status];
  if (counts.empty()) return "";
  constexpr double kRow = 30, kBarLeft = 130, kBarRight = 460;
  int most = 0;
  for (const auto& [status, count] : counts) most = std::max(most, count);
  const Scale x{0, static_cast<double>(most), kBarLeft, kBarRight};
  Drawing drawing("chart failures", "Failures by kind", kWidth, kRow * static_cast<double>(counts.size()) + 8);
  double top = 4;
  for (const auto& [status, count] : counts) {
    drawing.text("label", {kBarLeft - 8, top + 19}, status, "end");
    drawing.rectangle("failure", {kBarLeft, top + 4}, x(count) - kBarLeft, kRow - 8,
                      " data-count=\"" + std::to_string(count) + "\"");
    drawing.text("label", {x(count) + 8, top + 19}, std::to_string(count));
    top += kRow;
  }
  return std::move(drawing).svg();
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

std::string rate_text(double rate) { return number(rate / 1e9) + " GFLOP/s"; }

std::string time_text(double seconds) {
  if (seconds >= 1) return number(seconds) + " s";
  if (seconds >= 1e-3) return number(seconds * 1e3) + " ms";
  return number(seconds * 1e6) + " us";
}

}  // namespace tw::autotune
