// Products of fewer tiles than a device has processors: blocks share the terms of each, and a second launch adds up
// what they have, with what follows the sums.
//
//   C[i, j] = sum over k of ..  ==>  blockIdx k.o, of tiles of i, j: C.rf[k.o, i, j] = sum over k.i of ..  (a product)
//   D[i, j] = max(C[i, j], 0)        blockIdx, threadIdx of i, j: C[i, j] = sum over k.o of C.rf[k.o, i, j]; D[i, j] =
//   ..
//
// A part is whole tiles of terms. Where these do not come out even the last part is shorter, which takes operands that
// are filled with zeros past their ends (schedule/filled.h).
#include <algorithm>

#include "autotune/sketch/contraction.h"
#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "src/ir/interval_arith.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kLargeTile = 128;     // rows and columns of one that reads little
constexpr int64_t kLeastOfAPart = 128;  // terms
constexpr int64_t kMostParts = 32;
constexpr size_t kValues = 4;

int64_t large_tiles(const Stage& stage, const Roles& roles) {
  int64_t rows = stage.data[static_cast<size_t>(roles.rows)].extent, others = 1;
  if (roles.share >= 0) rows *= stage.data[static_cast<size_t>(roles.share)].extent;
  for (const int d : roles.outer) others *= stage.data[static_cast<size_t>(d)].extent;
  const int64_t columns = stage.data[static_cast<size_t>(roles.lanes)].extent;
  return others * ir::ceil_div(rows, kLargeTile) * ir::ceil_div(columns, kLargeTile);
}

// Of which sum there are parts: the last, whose tiles are in shared memory, unless another one is longer.
size_t shared_sum(const Stage& stage) {
  size_t longest = stage.sums.size() - 1;
  for (size_t i = 0; i < stage.sums.size(); ++i)
    if (stage.sums[i].extent > stage.sums[longest].extent) longest = i;
  return longest;
}

}  // namespace

std::vector<int64_t> parts_of_product(const Stage& stage, const Roles& roles, int64_t processors, int64_t unit,
                                      Ends ends) {
  const size_t sum = shared_sum(stage);
  const bool last = sum + 1 == stage.sums.size();
  const int64_t tiles = large_tiles(stage, roles), terms = stage.sums[sum].extent;
  std::vector<int64_t> parts{1};
  if (4 * tiles > 3 * processors || stage.bodies.size() != 1) return parts;
  int64_t most = 2;
  while (most < kMostParts && most * tiles < 2 * processors) most *= 2;
  const auto fits = [&](int64_t n) {
    return terms / n >= (last ? unit : 1) && extents(stage.sums) / n >= kLeastOfAPart;
  };
  const auto divides = [&](int64_t n) { return fits(n) && terms % (last ? n * unit : n) == 0; };
  for (int64_t wanted = most; wanted > 1 && parts.size() < kValues; wanted /= 2) {
    const auto most_that = [&](const auto& suits) {
      int64_t n = wanted;
      while (n > wanted / 2 && !suits(n)) --n;
      return n > wanted / 2 ? n : 0;
    };
    int64_t n = last && ends == Ends::kFilled ? 0 : most_that(divides);
    if (n == 0 && (ends == Ends::kUneven || (last && ends == Ends::kFilled))) n = most_that(fits);
    if (n > 0) parts.push_back(n);
  }
  return parts;
}

TiledSums whole_sums(const Stage& stage, const Roles& roles) {
  TiledSums sums{stage.name, {}, {}};
  for (const int d : roles.outer) sums.outer.push_back(stage.data[static_cast<size_t>(d)].name);
  for (const Axis& sum : stage.sums) sums.terms.push_back(sum.name);
  return sums;
}

TiledSums parts_of_sums(Sketch& sketch, const Stage& stage, const Roles& roles, int64_t parts, int64_t unit) {
  TiledSums sums = whole_sums(stage, roles);
  const size_t which = shared_sum(stage);
  const Axis& sum = stage.sums[which];
  const int64_t tile = which + 1 == stage.sums.size() ? unit : 1;
  const int64_t part = ir::ceil_div(ir::ceil_div(sum.extent, parts), tile) * tile;
  sketch.split(stage.name, sum.name, part);
  sums.stage = rfactor(sketch, stage.name, sum.name + ".o", 0);
  sums.outer.insert(sums.outer.begin(), data_loops(sketch.s, sums.stage).front());
  sums.terms = sum_loops(sketch.s, sums.stage);
  return sums;
}

void add_parts(Sketch& sketch, const Group& group) {
  constexpr int64_t kThreads = 128, kVectorBytes = 16;
  const Stage &stage = sketch.graph.at(group.anchor), &root = sketch.graph.at(group.root);
  int64_t vector = kVectorBytes / std::max(stage.type.bytes(), root.type.bytes());
  while (vector > 1 && root.data.back().extent % vector != 0) vector /= 2;
  const std::string part = sum_loops(sketch.s, stage.name).back();
  std::vector<std::string> loops = data_loops(sketch.s, root.name);
  const std::string column = loops.back();
  if (vector > 1) {
    sketch.split(root.name, column, vector);
    loops.back() += ".o";
  }
  if (group.anchor == group.root && vector > 1) {
    std::vector<std::string> order = loops;
    order.insert(order.end(), {part, column + ".i"});
    sketch.reorder(root.name, order);
  }
  const std::string all = sketch.fuse(root.name, loops);
  share(sketch, root.name, all, kThreads);
  sketch.bind(root.name, all + ".o", "blockIdx.x");
  if (vector > 1) sketch.step(schedule::Vectorize{root.name, column + ".i"});
  if (group.anchor != group.root) {
    sketch.step(schedule::ComputeAt{stage.name, root.name, all + ".i"});
    std::vector<std::string> order = data_loops(sketch.s, stage.name);
    const std::string inner = order.back();
    if (vector > 1) {
      sketch.split(stage.name, inner, vector);
      order.back() += ".o";
      order.insert(order.end(), {part, inner + ".i"});
      sketch.reorder(stage.name, order);
      sketch.step(schedule::Vectorize{stage.name, inner + ".i"});
    }
  }
  sketch.step(schedule::Unroll{stage.name, part});  // they are read together
}

}  // namespace tw::autotune::sketch
