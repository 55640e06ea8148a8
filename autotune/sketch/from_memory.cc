#include "autotune/sketch/from_memory.h"

#include <algorithm>

#include "schedule/placement.h"
#include "schedule/traffic.h"
#include "src/ir/walk.h"
#include "src/target/abilities.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kRowInL2 = 256 << 10;  // bytes of a row that waits there

int64_t bytes_of(const Stage& stage) { return stage.elements * stage.type.bytes(); }

bool reads(const std::vector<ir::Expr>& bodies, const schedule::StageNest& source) {
  bool found = false;
  for (const ir::Expr& body : bodies)
    ir::walk(body, [&](const ir::Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      return !(found = found || (load && source.output_of(load->buffer.id()) != schedule::kNone));
    });
  return found;
}

// The loop over vectors of a row; "" where a row is one.
std::string loop_of_vectors(const Sketch& sketch, const std::string& pass) {
  const schedule::StageNest& stage = sketch.s.nest().stage(sketch.s.nest().find_stage(pass));
  if (stage.data_rank == 0) return "";
  const std::string name = stage.axes[static_cast<size_t>(stage.data_rank) - 1].name + ".o";
  const std::vector<std::string> loops = data_loops(sketch.s, pass);
  return std::find(loops.begin(), loops.end(), name) == loops.end() ? "" : name;
}

// An output that nothing here reads again, of more than a few cores have of the caches.
bool leaves_caches(const Stage& root) {
  return root.output && root.readers.empty() && !root.reduces() && bytes_of(root) >= kMoreThanShare;
}

}  // namespace

void store_past_caches(Sketch& sketch, const Stage& root) {
  if (!leaves_caches(root)) return;
  const std::string knob = root.name + ".nontemporal";
  double all = 0;
  for (const Stage& stage : sketch.graph.stages)
    if (stage.output || !stage.computed()) all += static_cast<double>(bytes_of(stage));
  sketch.cfg.define_knob(knob,
                         all > schedule::kMoreThanCaches ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 1});
  if (sketch.cfg.value(knob) == 1) sketch.step(schedule::Nontemporal{root.name});
}

void claim_lines(Sketch& sketch, const Stage& root, const Place& rows, const std::vector<std::string>& passes) {
  if (!leaves_caches(root)) return;
  const int last = sketch.graph.find(root.name);
  for (const std::string& pass : passes) {
    const std::string loop = loop_of_vectors(sketch, pass);
    if (pass == root.name || loop.empty() || !reads_in_place(sketch.graph, last, sketch.graph.find(pass))) continue;
    const std::string knob = root.name + ".claims";
    const bool known = target::stores_wait(sketch.target);
    sketch.cfg.define_knob(knob, known ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 1});
    if (sketch.cfg.value(knob) == 1 && sketch.cfg.value(root.name + ".nontemporal") == 0)
      sketch.step(schedule::Prefetch{pass, root.name, loop, 0, rows.axis, rows.consumer, ""});
    return;
  }
}

void fetch_rows_ahead(Sketch& sketch, const Stage& root, const Place& rows, const std::vector<std::string>& passes,
                      int64_t number_of_rows) {
  const std::vector<std::vector<ir::Expr>> bodies = schedule::inline_bodies(sketch.s.nest());
  std::vector<schedule::Prefetch> fetches;
  for (const Stage& source : sketch.graph.stages) {
    if (source.computed() || bytes_of(source) < kMoreThanShare) continue;
    if (bytes_of(source) / number_of_rows > kRowInL2) continue;
    const schedule::LoopNest& nest = sketch.s.nest();
    std::vector<int> readers;
    for (int i = 0; i < nest.size(); ++i)
      if (reads(bodies[static_cast<size_t>(i)], nest.stage(nest.find_stage(source.name)))) readers.push_back(i);
    if (readers.size() < 2) continue;  // one pass that reads on and on is fetched by the CPU
    const std::string& last = nest.stage(readers.back()).name;
    const std::string loop = loop_of_vectors(sketch, last);
    if (loop.empty() || std::find(passes.begin(), passes.end(), last) == passes.end()) continue;
    fetches.push_back({last, source.name, loop, 1, rows.axis, last == rows.consumer ? "" : rows.consumer, ""});
  }
  if (fetches.empty()) return;
  sketch.cfg.define_knob(root.name + ".ahead", {1, 0, 2});
  for (schedule::Prefetch& fetch : fetches) {
    fetch.offset = sketch.cfg.value(root.name + ".ahead");
    if (fetch.offset > 0) sketch.step(fetch);
  }
}

}  // namespace tw::autotune::sketch
