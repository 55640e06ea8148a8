#include "te/read_example.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "src/ir/interval_arith.h"
#include "src/ir/walk.h"

namespace tw::te {

using ir::BinOp;

namespace {

constexpr size_t kMaxExamples = 4096;    // tried for one subscript
constexpr int64_t kMaxPoints = 1 << 15;  // for all of which one is tried
constexpr size_t kLargestTried = 100;    // nodes of what is tried at all points
constexpr int64_t kFew = 64;             // values of an axis that are all examples

std::optional<int64_t> result_of(const ir::Binary& b, const AxisValues& values) {
  const auto x = evaluate(b.a, values);
  if (x && b.op == BinOp::kAnd && *x == 0) return 0;
  if (x && b.op == BinOp::kOr && *x == 1) return 1;
  const auto y = evaluate(b.b, values);
  if (!x || !y) return {};
  if (b.op == BinOp::kAnd || b.op == BinOp::kOr) return *y;
  const auto px = ir::Interval::point(*x), py = ir::Interval::point(*y);
  const bool comparison = b.op >= BinOp::kEq && b.op <= BinOp::kGe;
  const ir::Interval result = comparison ? ir::compare(b.op, px, py) : ir::apply(b.op, px, py);
  return result.is_point() && result.bounded() ? std::optional(result.lo) : std::nullopt;
}

// The numbers that decide: ends of the axes, and what subscript and conditions compare with.
std::map<uint64_t, std::vector<int64_t>> candidates(const std::vector<Expr>& parts, const ir::Bounds& ranges) {
  std::set<int64_t> numbers;
  std::set<uint64_t> vars;
  for (const Expr& part : parts) {
    ir::walk(part, [&](const Expr& e) {
      if (const auto* c = ir::as<ir::IntImm>(e)) numbers.insert({c->value - 1, c->value, c->value + 1});
      if (const auto* v = ir::as<ir::VarRef>(e)) vars.insert(v->var.id());
      return true;
    });
  }
  std::map<uint64_t, std::vector<int64_t>> result;
  for (const uint64_t var : vars) {
    const auto range = ranges.find(var);
    if (range == ranges.end()) return {};
    const auto [lo, hi] = range->second;
    std::set<int64_t> values = {lo, hi};
    if (hi - lo < kFew) {
      for (int64_t v = lo; v <= hi; ++v) values.insert(v);
    }
    for (const int64_t n : numbers) {
      for (const int64_t v : {n, lo + n, hi - n})
        if (v >= lo && v <= hi) values.insert(v);
    }
    auto& list = result[var];
    list.assign(values.begin(), values.end());
    // The ends first: they decide where nothing else does.
    std::stable_partition(list.begin(), list.end(), [lo = lo, hi = hi](int64_t v) { return v == lo || v == hi; });
  }
  return result;
}

bool is_example(const Expr& at, int64_t extent, const ReadPlace& place, const AxisValues& values) {
  const auto index = evaluate(at, values);
  if (!index || (*index >= 0 && *index < extent)) return false;
  return std::all_of(place.conditions.begin(), place.conditions.end(), [&](const auto& condition) {
    return evaluate(condition.first, values) == std::optional<int64_t>(condition.second);
  });
}

bool is_small(const Expr& e) {
  size_t nodes = 0;
  std::function<void(const Expr&)> count = [&](const Expr& x) {
    if (++nodes > kLargestTried) return;
    for (const Expr& child : ir::children(x)) count(child);
  };
  count(e);
  return nodes <= kLargestTried;
}

}  // namespace

std::optional<int64_t> evaluate(const Expr& e, const AxisValues& values) {
  if (const auto* c = ir::as<ir::IntImm>(e)) return c->value;
  if (const auto* v = ir::as<ir::VarRef>(e)) {
    const auto found = values.find(v->var.id());
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  if (const auto* n = ir::as<ir::Not>(e)) {
    const auto x = evaluate(n->a, values);
    return x ? std::optional<int64_t>(*x == 0) : std::nullopt;
  }
  if (const auto* s = ir::as<ir::Select>(e)) {
    const auto c = evaluate(s->cond, values);
    return c ? evaluate(*c != 0 ? s->yes : s->no, values) : std::nullopt;
  }
  if (const auto* b = ir::as<ir::Binary>(e)) {
    const ir::Type t = b->a.type();  // data wraps: only index arithmetic is followed
    if (t.is_index() || t.is_bool()) return result_of(*b, values);
  }
  return {};
}

std::optional<AxisValues> find_example(const Expr& at, int64_t extent, const ReadPlace& place) {
  std::vector<Expr> parts = {at};
  for (const auto& [test, holds] : place.conditions) parts.push_back(test);
  const auto choices = candidates(parts, place.ranges);
  if (choices.empty() && !ir::as_int(at)) return {};
  double combinations = 1;
  for (const auto& [var, list] : choices) combinations *= static_cast<double>(list.size());
  const bool every = combinations <= kMaxExamples;
  uint64_t random = 0x9e3779b97f4a7c15;
  for (size_t n = 0; n < (every ? static_cast<size_t>(combinations) : kMaxExamples); ++n) {
    AxisValues values;
    size_t rest = n;
    for (const auto& [var, list] : choices) {
      if (!every) random = random * 6364136223846793005u + 1442695040888963407u;
      // Beyond what can be tried: all corners, then a sample.
      const bool corner = n < (size_t{1} << std::min<size_t>(choices.size(), 10));
      const size_t digit = every    ? rest % list.size()
                           : corner ? rest % std::min<size_t>(2, list.size())
                                    : (random >> 33) % list.size();
      rest /= every ? list.size() : std::min<size_t>(2, list.size());
      values[var] = list[digit];
    }
    if (is_example(at, extent, place, values)) return values;
  }
  return {};
}

bool always_inside(const Expr& at, int64_t extent, const ReadPlace& place) {
  if (!is_small(at)) return false;
  std::unordered_set<uint64_t> used = ir::used_vars(at);
  std::vector<std::pair<Expr, bool>> conditions;
  for (const auto& condition : place.conditions) {
    const auto vars = ir::used_vars(condition.first);
    const bool about = std::any_of(vars.begin(), vars.end(), [&](uint64_t v) { return used.contains(v); });
    if (about && is_small(condition.first)) conditions.push_back(condition);
  }
  for (const auto& condition : conditions) used.merge(ir::used_vars(condition.first));
  std::vector<std::pair<uint64_t, ir::Interval>> axes;
  int64_t points = 1;
  for (const uint64_t v : used) {
    const auto range = place.ranges.find(v);
    if (range == place.ranges.end()) continue;  // unknown values of it make the subscript unknown
    const int64_t extent_of_axis = range->second.hi - range->second.lo + 1;
    if (extent_of_axis > kMaxPoints || (points *= std::max<int64_t>(extent_of_axis, 1)) > kMaxPoints) return false;
    axes.emplace_back(v, range->second);
  }
  AxisValues values;
  for (int64_t n = 0; n < points; ++n) {
    int64_t rest = n;
    for (const auto& [v, range] : axes) {
      const int64_t count = range.hi - range.lo + 1;
      values[v] = range.lo + rest % count;
      rest /= count;
    }
    const auto index = evaluate(at, values);
    if (index && *index >= 0 && *index < extent) continue;
    const bool read = std::all_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
      const auto holds = evaluate(condition.first, values);
      return !holds || (*holds != 0) == condition.second;
    });
    if (read) return false;
  }
  return true;
}

}  // namespace tw::te
