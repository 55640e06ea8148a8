// Sums in vectors, and questions about loops.
#include "autotune/sketch/lanes.h"

#include <algorithm>

#include "schedule/loop_nest.h"
#include "src/ir/register_lanes.h"

namespace tw::autotune::sketch {

namespace {

std::vector<std::string> loops(const schedule::Schedule& s, const std::string& stage, bool reduction) {
  const schedule::StageNest& nest = s.nest().stage(s.nest().find_stage(stage));
  std::vector<std::string> names;
  for (schedule::AxisId leaf : nest.leaves)
    if (const schedule::Axis& axis = nest.axes[static_cast<size_t>(leaf)]; axis.reduction == reduction)
      names.push_back(axis.name);
  return names;
}

}  // namespace

std::vector<std::string> data_loops(const schedule::Schedule& s, const std::string& stage) {
  return loops(s, stage, false);
}
std::vector<std::string> sum_loops(const schedule::Schedule& s, const std::string& stage) {
  return loops(s, stage, true);
}

int64_t lanes_of(const Stage& stage, const Target& target) { return ir::register_lanes(target, stage.type); }

int64_t extents(const std::vector<Axis>& axes) {
  int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

const Access* main_read(const Stage& stage) {
  const Access* most = nullptr;
  for (const Access& read : stage.reads)
    if (!most || touched(stage, read) > touched(stage, *most)) most = &read;
  return most;
}

std::vector<int64_t> up_to(int64_t limit, const std::vector<int64_t>& values) {
  std::vector<int64_t> kept;
  for (int64_t value : values)
    if (value <= limit && std::find(kept.begin(), kept.end(), value) == kept.end()) kept.push_back(value);
  if (kept.empty()) kept.push_back(std::max<int64_t>(limit, 1));
  return kept;
}

std::vector<int64_t> sum_widths(int64_t terms, int64_t lanes) {
  if (terms >= lanes) return up_to(terms, {4 * lanes, 2 * lanes, lanes, 8 * lanes});
  int64_t width = 1;
  while (2 * width <= terms) width *= 2;
  return {width};
}

std::string rfactor(Sketch& sketch, const std::string& stage, const std::string& axis, int64_t factor_axis) {
  const std::string name = sketch.s.nest().unique_name(stage + ".rf");
  sketch.step(schedule::Rfactor{stage, axis, factor_axis});
  return name;
}

void sum_in_vectors(Sketch& sketch, const std::string& stage, const Place& at, int64_t width,
                    const std::vector<std::string>& together) {
  sketch.step(schedule::ComputeAt{stage, at.consumer, at.axis});
  if (width == 1) return;
  std::vector<std::string> order = data_loops(sketch.s, stage), sums = sum_loops(sketch.s, stage);
  std::erase_if(order, [&](const std::string& loop) { return std::ranges::count(together, loop) > 0; });
  const std::string axis = sums.back();
  sketch.split(stage, axis, width);
  if (!together.empty()) {
    sums.back() = axis + ".o";
    order.insert(order.end(), sums.begin(), sums.end());
    order.insert(order.end(), together.begin(), together.end());
    order.push_back(axis + ".i");
    sketch.reorder(stage, order);
  }
  for (const std::string& loop : together) sketch.step(schedule::Unroll{stage, loop});
  sketch.step(schedule::Vectorize{stage, axis + ".i"});
}

}  // namespace tw::autotune::sketch
