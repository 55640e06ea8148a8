// The part of an explanation's page that is about launches.
#include "schedule/explain_text.h"
#include "schedule/nest_view.h"

namespace tw::schedule {

namespace {

std::string of_all(const std::string& title, const DeviceSeconds& seconds) {
  std::vector<std::string> taken;
  for (int term = 0; term < kDeviceTerms; ++term)
    if (const double takes = seconds[static_cast<size_t>(term)]; takes > 0)
      taken.push_back(std::string(to_string(static_cast<DeviceTerm>(term))) + " " + seconds_text(takes));
  return line(title, taken.empty() ? std::vector<std::string>{"nothing"} : taken);
}

// A row for each loop; columns for what some loop takes.
std::string loops_on_device(const std::vector<LoopExplanation>& loops) {
  std::vector<Row> rows{{"loop", "kind", "extent", "touches", "reuse"}};
  for (size_t l = 0; l < loops.size(); ++l)
    rows.push_back({std::string(l, ' ') + loops[l].name, loops[l].kind, std::to_string(loops[l].extent),
                    bytes_text(loops[l].bytes), number(loops[l].reuse)});
  if (!loops[0].inside) return table(rows);
  const auto column = [&](const std::string& title, const auto& cell) {
    rows[0].push_back(title);
    for (size_t l = 0; l < loops.size(); ++l) rows[l + 1].push_back(cell(*loops[l].inside));
  };
  const auto takes = [&](DeviceTerm term) {
    return [term](const LoopAccount& loop) { return loop.seconds[term] > 0 ? seconds_text(loop.seconds[term]) : ""; };
  };
  for (int term = 0; term < kDeviceTerms; ++term) {
    const auto each = static_cast<DeviceTerm>(term);
    if (loops[0].inside->seconds[each] <= 0) continue;  // nothing within has any then
    column(to_string(each), takes(each));
    if (each == kSharedMemory)
      column("wavefronts",
             [](const LoopAccount& loop) { return loop.wavefronts > 0 ? count_text(loop.wavefronts) : ""; });
  }
  column("bound", [](const LoopAccount& loop) { return std::string(to_string(loop.bound)); });
  return table(rows);
}

std::string stage_text(const NestExplanation& nest, const StageAccount& stage) {
  std::string out = nest.headline + "\n";
  for (const std::string& note : nest.unbounded) out += "  computes " + note + "\n";
  if (!nest.loops.empty()) out += loops_on_device(nest.loops);
  std::vector<std::string> work{counted(stage.operations, "operation"),
                                counted(stage.instructions, "instruction") + " of warps"};
  if (stage.products > 0) work.push_back(counted(stage.products, "multiply-add") + " of tensor cores");
  if (nest.waste > 1.005) work.push_back(number(100 * (nest.waste - 1)) + " % past the ends");
  out += line("work", work);
  if (stage.requests > 0)
    out += line("shared",
                {counted(stage.requests, "request"), counted(stage.wavefronts / stage.requests, "wavefront") + " each",
                 number(stage.least / stage.requests) + " without conflicts"});
  if (stage.sectors > 0)
    out += line("moves", {"L2 " + bytes_text(32 * stage.sectors), "HBM " + bytes_text(stage.bytes)});
  const double bound = stage.seconds[stage.bound];
  return out + of_all("takes", stage.seconds) +
         line("bound", {std::string(to_string(stage.bound)), seconds_text(bound)}) + "\n";
}

std::string launch_text(const Explanation& all, const LaunchAccount& launch) {
  std::string out, name;
  for (const StageAccount& stage : launch.stages)
    for (size_t n = 0; n < all.nests.size(); ++n) {
      if (all.stages[n] != stage.stage) continue;
      out += stage_text(all.nests[n], stage);
      if (stage.stage == launch.root) name = all.nests[n].headline.substr(0, all.nests[n].headline.find(':'));
    }
  std::string ends = line("holds", {counted(launch.registers, "register") + " of a thread",
                                    bytes_text(launch.shared) + " of a block's shared memory",
                                    counted(launch.resident, "block") + " of a processor",
                                    "occupancy " + number(100 * launch.occupancy) + " %"});
  if (launch.resident < 1) return out + "launch of " + name + ": no processor holds one of its blocks\n" + ends + "\n";
  if (launch.spills) ends += line("spills", {"a thread has 255 registers at most"});
  ends += line("waves", {number(launch.waves), "processors have blocks " + number(100 * launch.used) + " % of the time",
                         "warps that can go on " + number(100 * launch.hidden) + " %"});
  if (launch.turns > 1)
    ends += line("turns",
                 {counted(launch.turns, "tile") + " of a block, one after the other",
                  number(launch.by_registers ? 1 : launch.ahead) + " ahead", "alone " + seconds_text(launch.waiting)});
  return out + "launch of " + name + ": " + counted(launch.blocks, "block") + " of " +
         counted(launch.threads, "thread") +
         (launch.copying > 0 ? ", of which " + number(launch.copying) + " copy for the others" : "") + "\n" + ends +
         of_all("takes", launch.seconds) +
         line("bound", {std::string(to_string(launch.bound)),
                        seconds_text(launch.seconds[launch.bound]) + " of " + seconds_text(launch.total)}) +
         "\n";
}

}  // namespace

std::string launches_text(const Explanation& all) {
  std::string out;
  for (const LaunchAccount& launch : all.launches) out += launch_text(all, launch);
  if (all.launches.empty()) out = "no launch: bind the loops of the stages at root to blockIdx and threadIdx\n\n";
  return out;
}

std::string device_text(const DeviceRates& device) {
  return "for " + counted(device.processors, "processor") + " at " + number(device.hertz / 1e9) + " GHz, each with " +
         bytes_text(static_cast<double>(device.shared_bytes)) + " of shared memory, " + std::to_string(device.threads) +
         " threads,\n" + std::to_string(device.lanes) + " multiply-adds and " + std::to_string(device.tensor_products) +
         " of tensor cores in a cycle; L2 " + number(device.l2_bytes / 1e9) + " GB/s, HBM " +
         number(device.memory / 1e9) + " GB/s (what its maker says)\n";
}

}  // namespace tw::schedule
