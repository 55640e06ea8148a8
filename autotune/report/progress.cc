// The progress bar of C++ programs:
//
//   [##########..............] 24/64  best 412 GFLOP/s (87 % of peak)  2 failed (crashed 1, timeout 1)  3 s left
#include "autotune/report/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace tw::autotune {
namespace {

constexpr int kBarWidth = 24;
constexpr int64_t kLines = 10;  // of a whole tuning, where there is no terminal

std::string formatted(const char* format, ...) {
  char text[160];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

std::string bar(const Progress& p) {
  const int full = p.total > 0 ? std::min(kBarWidth, kBarWidth * p.trials / p.total) : kBarWidth;
  return "[" + std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(kBarWidth - full), '.') +
         "] " + std::to_string(p.trials) + "/" + std::to_string(p.total);
}

size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 120;
}

}  // namespace

std::string best_text(const Progress& p) {
  if (p.best_seconds <= 0) return "no result yet";
  if (p.flops <= 0) return formatted("best %.4g ms", p.best_seconds * 1e3);
  const double rate = p.flops / p.best_seconds;
  const std::string text = formatted("best %.4g GFLOP/s", rate / 1e9);
  return p.roof > 0 ? text + formatted(" (%.0f %% of %s)", 100 * rate / p.roof, p.bound.c_str()) : text;
}

std::string failures_text(const Progress& p) {
  std::string text, kinds;
  for (const auto& [status, count] : p.failed)
    kinds += (kinds.empty() ? " (" : ", ") + status + " " + std::to_string(count);
  if (p.failures > 0) text = std::to_string(p.failures) + " failed" + (kinds.empty() ? "" : kinds + ")");
  if (p.pruned > 0) text += (text.empty() ? "" : ", ") + std::to_string(p.pruned) + " pruned";
  return text;
}

void print_progress(const Progress& p) {
  const bool last = p.trials >= p.total, terminal = isatty(STDERR_FILENO) != 0;
  const int64_t total = std::max(p.total, 1);
  if (!terminal && !last && p.trials * kLines / total == (p.trials - 1) * kLines / total) return;
  std::string line = bar(p) + "  " + best_text(p);
  if (const std::string failures = failures_text(p); !failures.empty()) line += "  " + failures;
  if (!p.boards.empty()) line += "  " + p.boards;
  line += last ? formatted("  %.1f s", p.elapsed_s) : formatted("  %.0f s left", p.left_s);
  if (terminal) line.resize(columns() - 1, ' ');  // a line that wraps would not be overwritten by the next
  std::fprintf(stderr, "%s%s%s", terminal ? "\r" : "", line.c_str(), terminal && !last ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace tw::autotune
