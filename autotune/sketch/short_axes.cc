#include "autotune/sketch/short_axes.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <span>

#include "autotune/sketch/lanes.h"
#include "src/ir/register_lanes.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kVectors = 8;  // that are not written out one by one: where digits begin in them is not known

bool uses(const Access& read, std::span<const Axis> axes) {
  return std::ranges::any_of(axes, [&](const Axis& axis) { return axis.extent > 1 && read.uses(axis); });
}

// Whether what is read along the axes lies as the elements of a row-major array of them do.
bool lies_in_place(const Graph& graph, const Access& read, std::span<const Axis> axes) {
  int64_t bytes = graph.at(read.stage).type.bytes();
  for (size_t d = axes.size(); d-- > 0; bytes *= axes[d].extent)
    if (axes[d].extent > 1 && bytes_between(graph, read, axes[d]) != bytes) return false;
  return true;
}

// Whether it is read at digits of the axis: most vectors lie within one.
bool has_digits(const Graph& graph, const Access& read, const Axis& axis) {
  bool other = bytes_between(graph, read, axis) != 0;
  for (const ir::Expr& at : read.at())
    ir::walk(at, [&](const ir::Expr& e) {
      other = other || ir::as<ir::Load>(e) || ir::as<ir::Cast>(e) || ir::as<ir::Select>(e) || ir::as<ir::Call>(e);
      return !other;
    });
  return !other;
}

// Whether the lanes of one vector over the axes are shuffled out of one that is read.
bool lies_in_a_vector(const Graph& graph, const Access& read, std::span<const Axis> axes, int64_t elements,
                      int64_t lanes) {
  const int64_t bytes = graph.at(read.stage).type.bytes();
  int64_t span = 1;
  for (size_t d = 0; d < axes.size(); ++d) {
    const int64_t apart = bytes_between(graph, read, axes[d]) / bytes;
    if (axes[d].extent > 1 && read.uses(axes[d]) && apart == 0) return false;
    span += std::abs(apart) * (d == 0 ? lanes / elements : axes[d].extent - 1);
  }
  return span <= lanes;
}

// Whether values depend on the axes by other ways than what is read.
bool computes_with(const Stage& stage, std::span<const Axis> axes) {
  bool found = false;
  for (const ir::Expr& body : stage.bodies)
    ir::walk(body, [&](const ir::Expr& e) {
      const auto* var = ir::as<ir::VarRef>(e);
      found = found || (var && std::ranges::any_of(axes, [&](const Axis& axis) { return is_axis(e, axis); }));
      return !found && !ir::as<ir::Load>(e);
    });
  return found;
}

// The digit by which some read of neighbours goes elsewhere, and others side by side: A[x % 2, x // 2].
std::optional<ShortAxes> short_digit(const Graph& graph, const Stage& stage) {
  const Axis& axis = stage.data.back();
  const int64_t digit = least_divisor(stage, axis);
  if (digit < 2 || digit > ir::kFewApart || axis.extent % digit != 0) return std::nullopt;
  const ir::Var outer("o"), inner("i");
  const auto bytes_along = [&](const Access& read, const ir::Var& var) {
    const ir::Expr at =
        ir::substitute(read.load, {{axis.var.id(), ir::Expr(outer) * ir::Expr(digit) + ir::Expr(inner)}});
    // What is left of the other digits is known where the inner one's range is.
    return bytes_between(graph, {read.stage, ir::simplify(at, {{inner.id(), {0, digit - 1}}})}, {var.name(), var, 2});
  };
  const bool apart = std::ranges::any_of(stage.reads, [&](const Access& read) {
    const int64_t bytes = graph.at(read.stage).type.bytes(), along = bytes_along(read, inner);
    return along != 0 && along != bytes && bytes_along(read, outer) == bytes;
  });
  if (!apart) return std::nullopt;
  return ShortAxes{stage.data.size() - 1, digit, true, true};
}

}  // namespace

bool is_read_in_vectors(const Graph& graph, const Access& read, const Axis& axis) {
  const int64_t bytes = graph.at(read.stage).type.bytes(), apart = bytes_between(graph, read, axis) / bytes;
  return !read.uses(axis) || apart == -1 || (apart >= 1 && apart <= ir::kFewApart);
}

int64_t least_divisor(const Stage& stage, const Axis& axis) {
  std::vector<int64_t> divisors;
  for (const Access& read : stage.reads)
    for (const ir::Expr& at : read.at())
      ir::walk(at, [&](const ir::Expr& e) {
        const auto* digit = ir::as<ir::Binary>(e);
        const bool divides = digit && (digit->op == ir::BinOp::kFloorDiv || digit->op == ir::BinOp::kFloorMod);
        const auto* of = divides ? ir::as<ir::VarRef>(digit->a) : nullptr;
        const auto by = of && of->var == axis.var ? ir::as_int(digit->b) : std::nullopt;
        if (by && *by > 1 && *by < axis.extent) divisors.push_back(*by);
        return true;
      });
  const auto least = std::ranges::min_element(divisors);
  if (least == divisors.end()) return 1;
  return std::ranges::all_of(divisors, [&](int64_t n) { return n % *least == 0; }) ? *least : 1;
}

std::optional<ShortAxes> short_axes(const Graph& graph, const Stage& stage, int64_t lanes) {
  if (stage.type.is_packed() || stage.elements < 2 * lanes) return std::nullopt;
  size_t first = stage.data.size();
  int64_t elements = 1;
  while (first > 1 && elements * stage.data[first - 1].extent < lanes) elements *= stage.data[--first].extent;
  if (first == stage.data.size()) return short_digit(graph, stage);
  if (first == 0 || elements < 1 || elements * stage.data[first - 1].extent < lanes) return std::nullopt;
  const std::span<const Axis> all = std::span(stage.data).subspan(first - 1), last = all.subspan(1);
  ShortAxes found{first - 1, elements};
  bool shuffled = true;
  found.unrolled = elements <= ir::kFewApart;
  found.in_place = true;
  for (const Access& read : stage.reads) {
    if (!uses(read, all)) continue;
    const bool in_place = lies_in_place(graph, read, all);
    found.in_place = found.in_place && (in_place || !read.uses(all[0]));
    found.cycles = found.cycles || !in_place;
    shuffled = shuffled && (in_place || lies_in_a_vector(graph, read, all, elements, lanes));
    found.unrolled = found.unrolled &&
                     (!uses(read, last) || is_read_in_vectors(graph, read, all[0]) || has_digits(graph, read, all[0]));
  }
  const int64_t vectors = found.cycles ? std::lcm(elements, lanes) / lanes : 1;
  found.fused = shuffled && vectors < kVectors && !computes_with(stage, all);
  if (!found.fused && !found.unrolled) return std::nullopt;
  return found;
}

}  // namespace tw::autotune::sketch
