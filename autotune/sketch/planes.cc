#include "autotune/sketch/planes.h"

#include <algorithm>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kVectorBytes = 16;

// The only dimension whose subscript uses the axis; -1: there is none, or several.
int only_dimension(const Access& read, const Axis& axis) {
  int found = -1;
  for (size_t d = 0; d < read.at().size(); ++d) {
    if (!ir::uses_var(read.at()[d], axis.var)) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(d);
  }
  return found;
}

// The sum of most terms along which both operands have a dimension, of the image one that no pixels move along; not the
// last one, which is for products of rows as they lie.
std::optional<size_t> terms_of(const Stage& stage, const Roles& roles) {
  std::optional<size_t> most;
  for (size_t k = 0; k < stage.sums.size(); ++k) {
    const Axis& sum = stage.sums[k];
    const int dimension = only_dimension(*roles.vectors.read, sum);
    if (sum.extent == 1 || dimension < 0 || dimension_of(*roles.broadcast.read, sum) < 0) continue;
    const ir::Expr& at = roles.vectors.read->at()[static_cast<size_t>(dimension)];
    const bool channel = std::ranges::none_of(stage.data, [&](const Axis& axis) {
      return &axis != &stage.data[static_cast<size_t>(roles.rows)] && ir::uses_var(at, axis.var);
    });
    if (channel && (!most || sum.extent > stage.sums[*most].extent)) most = k;
  }
  return most && *most + 1 < stage.sums.size() ? most : std::nullopt;
}

// Whether rows of the image are read as they lie, each pixel once, and by whole vectors.
bool is_in_place(const Graph& graph, const Stage& stage, const Roles& roles) {
  const Access& read = *roles.vectors.read;
  const Stage& image = graph.at(read.stage);
  ir::Substitution first;  // of windows of one pixel
  for (const Axis& sum : stage.sums)
    if (sum.extent == 1) first[sum.var.id()] = ir::Expr(0);
  const ir::Expr at = ir::simplify(ir::substitute(read.at().back(), first));
  return roles.vectors.through < 0 && image.type.bytes() == 2 &&
         is_axis(at, stage.data[static_cast<size_t>(roles.lanes)]) &&
         image.shape.back() % (kVectorBytes / image.type.bytes()) == 0;
}

}  // namespace

std::optional<Planes> planes_of(const Graph& graph, const Group& group, const Roles& roles) {
  const Stage& stage = graph.at(group.anchor);
  Planes p;
  const Axis& row = stage.data[static_cast<size_t>(roles.rows)];
  const Axis& column = stage.data[static_cast<size_t>(roles.lanes)];
  const Access &image = *roles.vectors.read, &weights = *roles.broadcast.read;
  if (stage.gathers || roles.group > 0 || roles.broadcast.through >= 0 || are_of_one(roles) || roles.share >= 0)
    return std::nullopt;
  const auto plain = [&](int source) {
    return graph.at(source).bodies.size() <= 1 && !graph.at(source).type.is_packed();
  };
  if (!plain(image.stage) || !plain(weights.stage)) return std::nullopt;
  if (const int through = roles.vectors.through; through >= 0) {
    const Stage& padded = graph.at(through);
    if (!padded.inlined || !padded.pads || padded.sources != std::vector{image.stage} ||
        padded.data.size() != image.at().size() || !group.has(through))
      return std::nullopt;
  }
  const std::optional<size_t> terms = terms_of(stage, roles);
  if (!terms) return std::nullopt;
  p.terms = *terms;
  const int of_image = only_dimension(image, stage.sums[p.terms]), along = only_dimension(image, column),
            channels = dimension_of(weights, row);
  if (of_image < 0 || channels < 0 || along + 1 != static_cast<int>(image.at().size()) || of_image == along ||
      dimension_of(weights, stage.sums[p.terms]) == channels)
    return std::nullopt;
  p.image = static_cast<size_t>(of_image);
  p.channels = static_cast<size_t>(channels);
  p.weights = static_cast<size_t>(dimension_of(weights, stage.sums[p.terms]));
  p.rows = roles.row_group > 0 ? roles.row_group : row.extent;
  for (auto d = roles.outer.rbegin(); d != roles.outer.rend(); ++d) {
    const Axis& axis = stage.data[static_cast<size_t>(*d)];
    if (p.line < 0 && axis.extent > 1 && !weights.uses(axis) && only_dimension(image, axis) >= 0)
      p.line = *d;
    else
      p.outer.insert(p.outer.begin(), *d);
  }
  p.turned = !is_in_place(graph, stage, roles);
  Stage last = stage;  // with the terms as its last sum, and the rows of a group
  std::swap(last.sums[p.terms], last.sums.back());
  last.data[static_cast<size_t>(roles.rows)].extent = p.rows;
  p.product = product_for(graph, last, roles, ir::warp_products(), Ends::kFilled);
  return p.product ? std::optional(p) : std::nullopt;
}

}  // namespace tw::autotune::sketch
