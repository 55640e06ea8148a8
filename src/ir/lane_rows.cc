#include "src/ir/lane_rows.h"

#include <utility>
#include <vector>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"

namespace tw::ir {

namespace {

using Numbers = std::vector<int64_t>;  // one for each lane

// same + lanes[l] + the sum over all parts of factor * numbers[l]
struct Pattern {
  Expr same = 0;
  Numbers lanes;
  std::vector<std::pair<Expr, Numbers>> parts;

  bool is_known() const { return as_int(same) && parts.empty(); }
  int64_t at(size_t lane) const { return *as_int(same) + lanes[lane]; }
};

Pattern scaled(Pattern p, const Expr& by) {
  p.same = p.same * by;
  for (auto& part : p.parts) part.first = part.first * by;
  if (const auto factor = as_int(by)) {
    for (int64_t& n : p.lanes) n *= *factor;
  } else {
    p.parts.emplace_back(by, std::exchange(p.lanes, Numbers(p.lanes.size(), 0)));
  }
  return p;
}

std::optional<Pattern> pattern_of(const Expr& e);

std::optional<Pattern> pattern_of(const Binary& b) {
  std::optional<Pattern> left = pattern_of(b.a), right = pattern_of(b.b);
  if (!left || !right) return {};
  const bool divides = b.op == BinOp::kFloorDiv || b.op == BinOp::kFloorMod;
  const auto* all = as<Broadcast>(b.b);
  if (divides) {
    const auto by = all ? as_int(all->value) : as_int(b.b);
    if (!left->is_known() || by.value_or(0) <= 0) return {};
    Pattern out{0, left->lanes, {}};
    for (size_t l = 0; l < out.lanes.size(); ++l)
      out.lanes[l] = b.op == BinOp::kFloorDiv ? floor_div(left->at(l), *by) : floor_mod(left->at(l), *by);
    return out;
  }
  if (b.op == BinOp::kMul) {
    if (all) return scaled(*std::move(left), all->value);
    if (const auto* first = as<Broadcast>(b.a)) return scaled(*std::move(right), first->value);
    return {};
  }
  if (b.op != BinOp::kAdd && b.op != BinOp::kSub) return {};
  if (b.op == BinOp::kSub) right = scaled(*std::move(right), -1);
  left->same = left->same + right->same;
  for (size_t l = 0; l < left->lanes.size(); ++l) left->lanes[l] += right->lanes[l];
  left->parts.insert(left->parts.end(), right->parts.begin(), right->parts.end());
  return left;
}

std::optional<Pattern> pattern_of(const Expr& e) {
  const auto lanes = static_cast<size_t>(e.type().lanes);
  if (const auto* b = as<Broadcast>(e)) return Pattern{b->value, Numbers(lanes, 0), {}};
  if (const auto* c = as<IntImm>(e)) return Pattern{Expr(c->value), Numbers(lanes, 0), {}};
  if (const auto* b = as<Binary>(e)) return pattern_of(*b);
  const auto* r = as<Ramp>(e);
  if (!r) return {};
  Numbers counted(lanes);
  for (size_t l = 0; l < lanes; ++l) counted[l] = static_cast<int64_t>(l);
  Pattern out = scaled({0, counted, {}}, r->stride);
  out.same = r->base;
  return out;
}

// How far apart rows are whose lanes are neighbours, or are the same for `columns` lanes each.
std::optional<int64_t> apart(const Numbers& numbers, int columns, int64_t neighbour) {
  const auto width = static_cast<size_t>(columns);
  const int64_t stride = numbers.size() > width ? numbers[width] - numbers[0] : 0;
  for (size_t l = 0; l < numbers.size(); ++l) {
    const auto row = static_cast<int64_t>(l / width), column = static_cast<int64_t>(l % width);
    if (numbers[l] != numbers[0] + row * stride + column * neighbour) return {};
  }
  return stride;
}

}  // namespace

std::optional<LaneRows> lane_rows(const Expr& at, int columns) {
  if (!at.type().is_index() || at.type().lanes % columns != 0) return {};
  const std::optional<Pattern> pattern = pattern_of(at);
  if (!pattern) return {};
  const std::optional<int64_t> known = apart(pattern->lanes, columns, 1);
  if (!known) return {};
  Expr base = pattern->same + Expr(pattern->lanes[0]), stride = *known;
  for (const auto& [factor, numbers] : pattern->parts) {
    const std::optional<int64_t> rows = apart(numbers, columns, 0);
    if (!rows) return {};
    base = base + factor * Expr(numbers[0]);
    stride = stride + factor * Expr(*rows);
  }
  return LaneRows{simplify(base), simplify(stride)};
}

}  // namespace tw::ir
