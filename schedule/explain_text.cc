// An explanation as a page of tables; explain.h shows one.
#include "schedule/explain_text.h"

#include <cstdio>

#include "schedule/nest_view.h"
#include "schedule/refuse.h"

namespace tw::schedule {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.1f" : "%.0f", value);
  std::string out = text;
  return out.ends_with(".0") ? out.substr(0, out.size() - 2) : out;
}

namespace {

std::string scaled(double value, double step, const std::vector<std::string>& units) {
  size_t unit = 0;
  for (; value >= step && unit + 1 < units.size(); ++unit) value /= step;
  return number(value) + " " + units[unit];
}

}  // namespace

std::string table(const std::vector<Row>& rows) {
  std::vector<size_t> width(rows[0].size());
  for (const Row& row : rows)
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::string out;
  for (const Row& row : rows) {
    std::string line = " ";
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(width[c] - row[c].size(), ' ');
      line += (c == 0 ? " " : "  ") + (c < 2 ? row[c] + blanks : blanks + row[c]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string bytes_text(double bytes) { return scaled(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"}); }
std::string seconds_text(double seconds) { return scaled(seconds * 1e9, 1000, {"ns", "us", "ms", "s"}); }
std::string count_text(double count) {
  return count < 1000 ? number(count) : scaled(count, 1000, {"", "thousand", "million", "billion", "trillion"});
}
std::string counted(double count, const std::string& what) {
  return count_text(count) + " " + what + (count == 1 ? "" : "s");
}

std::string line(const std::string& title, const std::vector<std::string>& parts) {
  return "  " + title + std::string(8 - title.size(), ' ') + join(parts) + "\n";
}

namespace {

// A row for each loop.
std::string loops_text(const NestExplanation& nest) {
  std::vector<Row> rows{{"loop", "kind", "extent", "lanes", "touches", "fits", "reuse"}};
  for (size_t l = 0; l < nest.loops.size(); ++l) {
    const LoopExplanation& loop = nest.loops[l];
    rows.push_back({std::string(l, ' ') + loop.name, loop.kind, std::to_string(loop.extent),
                    loop.lanes ? std::to_string(loop.lanes) : "", bytes_text(loop.bytes), to_string(loop.fits),
                    number(loop.reuse)});
  }
  return table(rows);
}

std::string nest_text(const NestExplanation& nest) {
  std::string out = nest.headline + "\n";
  for (const std::string& note : nest.unbounded) out += "  computes " + note + "\n";
  out += (nest.loops.empty() ? "" : loops_text(nest));
  std::vector<std::string> work{counted(nest.operations, "operation"), counted(nest.runs, "run"),
                                "on " + counted(nest.cores, "core")};
  if (nest.chains > 0) work.push_back(counted(nest.chains, "sum") + " side by side");
  if (nest.waste > 1.005) work.push_back(number(100 * (nest.waste - 1)) + " % past the ends");
  std::vector<std::string> moved, taken;
  for (int level = 0; level < kLevels; ++level) {
    const std::string name = to_string(static_cast<Level>(level));
    taken.push_back(name + " " + seconds_text(nest.seconds[static_cast<size_t>(level)]));
    if (level != kCompute) moved.push_back(name + " " + bytes_text(nest.moved[static_cast<size_t>(level)]));
  }
  const double bound = nest.seconds[static_cast<size_t>(nest.bound)];
  if (!nest.plain.empty()) out += line("lanes", {"none: " + nest.plain});
  return out + line("work", work) + line("moves", moved) + line("takes", taken) +
         line("bound", {std::string(to_string(nest.bound)) + ", " + seconds_text(bound)});
}

std::string rates_text(const Rates& rates) {
  return "each core, in a cycle: " + counted(rates.issue, "vector instruction") + ", L1 " +
         counted(rates.l1_loads, "vector") + ", L2 " + bytes_text(rates.l2_bytes) + ", L3 " +
         bytes_text(rates.l3_bytes) + "; DRAM " + number(rates.core_dram / 1e9) + " GB/s a core, " +
         number(rates.all_dram / 1e9) + " GB/s in all\n(rates are " + rates.source + ")\n";
}

}  // namespace

std::string to_string(const Explanation& all) {
  const Machine& m = all.machine;
  std::string out;
  if (m.device)
    out += launches_text(all);
  else
    for (const NestExplanation& nest : all.nests) out += nest_text(nest) + "\n";
  const auto lines = [&](const std::string& title, const std::vector<std::string>& each) {
    for (const std::string& text : each) out += title + text + "\n";
    if (!each.empty()) out += "\n";
  };
  lines("clamped  ", all.clamps);
  lines("required ", all.required);
  if (all.assumed) out += "symbolic extents are taken as " + std::to_string(kAssumedExtent) + "\n";
  if (m.device) return out + device_text(*m.device);
  return out + "for " + counted(m.threads, "core") + " at " + number(m.hertz / 1e9) + " GHz, vectors of " +
         std::to_string(m.vector_bits) + " bits, L1 " + bytes_text(static_cast<double>(m.l1_bytes)) + ", L2 " +
         bytes_text(static_cast<double>(m.l2_bytes)) + ", L3 " + bytes_text(static_cast<double>(m.l3_bytes)) + "\n" +
         rates_text(m.rates);
}

}  // namespace tw::schedule
