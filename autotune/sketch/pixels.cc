// Sums of a few terms for each of a few channels, which lie side by side: colour matrices, rotations of points, small
// windows over pixels. Lanes are pixels; all channels of a vector of these, and all terms, are written out:
//
//   parallel y: for x.o:
//     for c, k unrolled: vectorized x.i: C.local[c, x] += M[c, k] * A[y, x, k]
//     for c unrolled: vectorized x.i: O[y, x, c] = epilogue of C.local[c, x]
//
// Stores of what is unrolled are spread, but lie side by side: code generation makes whole ones of them.
#include <algorithm>
#include <cstdlib>

#include "autotune/sketch/lanes.h"
#include "autotune/sketch/short_axes.h"
#include "src/ir/register_lanes.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kTerms = 64;   // of all channels, that are written out
constexpr int64_t kPixels = 32;  // that make some vectors

// The axes of channels at the end: the first of them; 0 where there are none.
size_t first_channel(const Stage& sum) {
  size_t first = sum.data.size();
  int64_t channels = 1;
  while (first > 1 && channels * sum.data[first - 1].extent <= ir::kFewApart) channels *= sum.data[--first].extent;
  const bool few = first < sum.data.size() && channels * extents(sum.sums) <= kTerms;
  return few && channels > 1 && sum.data[first - 1].extent >= kPixels ? first : 0;
}

// What is read again for each channel is worth it where it lies side by side, or nearly so.
bool is_worth_it(const Graph& graph, const Stage& stage, size_t first, const Access& read) {
  const Axis& pixels = stage.data[first - 1];
  if (!is_read_in_vectors(graph, read, pixels)) return false;
  const bool again = std::any_of(stage.data.begin() + static_cast<ptrdiff_t>(first), stage.data.end(),
                                 [&](const Axis& channel) { return channel.extent > 1 && read.uses(channel); });
  return !again || !read.uses(pixels) ||
         std::abs(bytes_between(graph, read, pixels)) <= 2 * graph.at(read.stage).type.bytes();
}

}  // namespace

std::optional<Group> match_pixels(const Graph& graph, int root) {
  const Stage& last = graph.at(root);
  const int sum = sum_of_root(graph, root);
  if (sum == -1 || last.bodies.size() != 1 || last.type.is_packed()) return std::nullopt;
  const Stage& stage = graph.at(sum);
  const size_t first = stage.bodies.size() == 1 && !stage.gathers ? first_channel(stage) : 0;
  if (first == 0 || stage.type.is_packed()) return std::nullopt;
  for (const Stage* reader : {&stage, &last})
    for (const Access& read : reader->reads)
      if (read.stage != sum && !is_worth_it(graph, *reader, first, read)) return std::nullopt;
  return group_of_sum(root, sum);
}

void apply_pixels(Sketch& sketch, const Group& group) {
  const Stage &root = sketch.graph.at(group.root), &stage = sketch.graph.at(group.anchor);
  const size_t first = first_channel(stage), pixels = first - 1;
  const auto knob = [&](const char* what) { return stage.name + "." + what; };
  std::string sums = stage.name;
  if (group.root == group.anchor) sums = sketch.cache_write(stage.name);
  const auto names = [&](const Stage& of) {
    std::vector<std::string> channels;
    for (size_t d = first; d < of.data.size(); ++d) channels.push_back(of.data[d].name);
    return channels;
  };
  const auto finish = [&](const std::string& of, std::vector<std::string> order, const std::vector<std::string>& out,
                          const std::string& lane) {
    order.insert(order.end(), out.begin(), out.end());
    order.push_back(lane + ".i");
    sketch.reorder(of, order);
    for (const std::string& loop : out) sketch.step(schedule::Unroll{of, loop});
    sketch.step(schedule::Vectorize{of, lane + ".i"});
  };

  const int64_t lanes = lanes_of(stage, sketch.target), row = root.data[pixels].extent;
  sketch.cfg.define_knob(knob("lanes"), up_to(row, {lanes, 2 * lanes, 4 * lanes}));
  const schedule::Factor width = sketch.cfg.factor(knob("lanes"));
  std::vector<std::string> outer;
  for (size_t d = 0; d < pixels; ++d) outer.push_back(root.data[d].name);
  std::string lane = root.data[pixels].name;
  if (outer.empty()) {
    sketch.cfg.define_knob(knob("tasks"), up_to(row, {16, 2, 4, 64}));
    sketch.split_in(root.name, lane, sketch.cfg.factor(knob("tasks")));
    outer.push_back(lane + ".o");
    lane += ".i";
  }
  sketch.split(root.name, lane, width);
  std::vector<std::string> order = outer;
  order.push_back(lane + ".o");
  finish(root.name, order, names(root), lane);

  sketch.step(schedule::ComputeAt{sums, root.name, lane + ".o"});
  std::vector<std::string> layout, around, written = names(stage);
  for (size_t d = 0; d < pixels; ++d) around.push_back(stage.data[d].name);
  layout = around;
  layout.insert(layout.end(), written.begin(), written.end());
  layout.push_back(stage.data[pixels].name);
  sketch.step(schedule::TransformLayout{sums, layout, ""});
  sketch.split(sums, stage.data[pixels].name, width);
  around.push_back(stage.data[pixels].name + ".o");
  for (const std::string& loop : sum_loops(sketch.s, sums)) written.push_back(loop);
  finish(sums, around, written, stage.data[pixels].name);
  if (stage.operations >= kParallelWork) sketch.parallel(root.name, sketch.fuse(root.name, outer));
}

}  // namespace tw::autotune::sketch
