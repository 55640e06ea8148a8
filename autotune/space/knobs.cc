// The values of a knob.
//
// A split of n into (outer, f1, .., fk) takes its inner factors from a set that depends on the policy. Factors need not
// divide: a register tile wants 6, 12 or 14 rows and a multiple of the vector width whatever the extent is, and the
// tail does the rest.
#include "autotune/space/knobs.h"

#include <algorithm>
#include <array>
#include <set>

#include "src/ir/interval_arith.h"

namespace tw::autotune {

void tune_error(std::string what, std::vector<std::string> notes) {
  throw Error(Diagnostic{ErrorKind::kTune, std::move(what), {}, std::move(notes)});
}

namespace {

constexpr size_t kMaxValues = 200'000;
// Register-tile heights, then multiples of a vector and cache-block sizes.
constexpr int64_t kUsefulFactors[] = {2,  3,  4,  5,  6,  8,   9,   10,  12,  14,  16,  24,
                                      32, 48, 64, 80, 96, 128, 192, 256, 384, 512, 1024};

std::set<int64_t> inner_factors(int64_t extent, const SplitOptions& options) {
  std::set<int64_t> factors = {1};
  const bool verbose = options.policy == SplitPolicy::kVerbose;
  if (options.policy != SplitPolicy::kPower2) {
    for (int64_t d = 1; d * d <= extent; ++d) {
      if (extent % d == 0) factors.insert({d, extent / d});
    }
    for (int64_t f : kUsefulFactors) {
      if (f < 2 * extent) factors.insert(f);
    }
  }
  if (options.policy == SplitPolicy::kPower2 || verbose) {
    for (int64_t f = 1; f < 2 * extent && f < (int64_t{1} << 40); f *= 2) factors.insert(f);
  }
  for (int64_t f = 1; verbose && f <= std::min<int64_t>(32, extent); ++f) factors.insert(f);
  if (options.max_factor > 0) factors.erase(factors.upper_bound(options.max_factor), factors.end());
  return factors;
}

// The extents that a split by `inner` leaves, outermost first, when each inner factor is split off from the inside out.
std::vector<int64_t> with_outer(int64_t extent, const std::vector<int64_t>& inner) {
  int64_t outer = extent;
  for (size_t i = inner.size(); i-- > 0;) outer = ir::ceil_div(outer, inner[i]);
  std::vector<int64_t> all = {outer};
  all.insert(all.end(), inner.begin(), inner.end());
  return all;
}

bool divides(int64_t extent, const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (int64_t s : sizes)
    if (__builtin_mul_overflow(product, s, &product)) return false;
  return product == extent;
}

// Inner factors whose product does not exceed what the extent can fill: the tile reaches beyond it by less than its
// half.
void enumerate(int64_t extent, const std::set<int64_t>& factors, std::vector<int64_t>& inner, size_t left,
               int64_t product, const std::string& name, std::vector<std::vector<int64_t>>& out) {
  if (left == 0) {
    out.push_back(with_outer(extent, inner));
    if (out.size() > kMaxValues) {
      tune_error("define_split: \"" + name + "\" has more than " + std::to_string(kMaxValues) + " values",
                 {"set max_factor, fewer num_outputs, or policy=\"candidate\""});
    }
    return;
  }
  for (int64_t f : factors) {
    if (f > 1 && product * f >= 2 * extent) break;
    inner.push_back(f);
    enumerate(extent, factors, inner, left - 1, product * f, name, out);
    inner.pop_back();
  }
}

std::vector<std::vector<int64_t>> given_sizes(const std::string& name, int64_t extent, const SplitOptions& options) {
  std::vector<std::vector<int64_t>> out;
  for (const auto& sizes : options.candidates) {
    if (sizes.size() != static_cast<size_t>(options.outputs)) {
      tune_error("define_split: each candidate of \"" + name + "\" must have " + std::to_string(options.outputs) +
                 " sizes (num_outputs), not " + std::to_string(sizes.size()));
    }
    std::vector<int64_t> inner(sizes.begin() + 1, sizes.end());
    for (int64_t f : inner) {
      if (f < 1)
        tune_error("define_split: sizes of \"" + name + "\" must be positive integers, not " + std::to_string(f));
    }
    out.push_back(with_outer(extent, inner));
  }
  return out;
}

}  // namespace

std::string_view name_of(KnobKind kind) {
  constexpr std::string_view kNames[] = {"split", "knob", "reorder", "annotate"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<KnobValue> split_values(const std::string& name, int64_t extent, const SplitOptions& options) {
  if (extent < 1) {
    tune_error("define_split: the axis of \"" + name + "\" must have a positive extent, not " + std::to_string(extent));
  }
  if (options.outputs < 1 || options.outputs > 8) {
    tune_error("define_split: num_outputs must be 1 to 8, not " + std::to_string(options.outputs));
  }
  if (options.tails.empty()) tune_error("define_split: tails of \"" + name + "\" must name at least one strategy");
  if (options.max_factor < 0)
    tune_error("define_split: max_factor must be positive, not " + std::to_string(options.max_factor));
  std::vector<std::vector<int64_t>> sizes;
  if (options.policy == SplitPolicy::kCandidate) {
    sizes = given_sizes(name, extent, options);
  } else {
    std::vector<int64_t> inner;
    enumerate(extent, inner_factors(extent, options), inner, static_cast<size_t>(options.outputs) - 1, 1, name, sizes);
  }
  std::vector<KnobValue> values;
  for (const auto& s : sizes) {
    if (options.filter && !options.filter(s)) continue;
    for (ir::Tail tail : options.tails) {
      KnobValue value{s, tail, ""};
      if (std::find(values.end() - std::min<ptrdiff_t>(std::ssize(values), 8), values.end(), value) == values.end()) {
        values.push_back(std::move(value));
      }
      if (divides(extent, s)) break;  // no tail: the strategies are one
    }
  }
  if (values.empty()) {
    tune_error("define_split: no split of extent " + std::to_string(extent) + " is left for \"" + name + "\"",
               {"the filter, max_factor or candidates leave nothing"});
  }
  return values;
}

std::vector<KnobValue> reorder_values(const std::string& name, size_t axes,
                                      const std::vector<std::vector<int>>& orders) {
  std::vector<KnobValue> values;
  std::vector<int64_t> identity(axes);
  for (size_t i = 0; i < axes; ++i) identity[i] = static_cast<int64_t>(i);
  if (orders.empty()) {
    if (axes > 6) {
      tune_error("define_reorder: all orders of " + std::to_string(axes) + " axes are too many for \"" + name + "\"",
                 {"give candidates: policy=\"candidate\", candidate=[[...], ...]"});
    }
    std::vector<int64_t> order = identity;
    do values.push_back(KnobValue{order, ir::Tail::kAuto, ""});
    while (std::next_permutation(order.begin(), order.end()));
    return values;
  }
  for (const auto& order : orders) {
    std::vector<int64_t> numbers(order.begin(), order.end()), sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != identity) {
      tune_error("define_reorder: each candidate of \"" + name + "\" must hold each of the " + std::to_string(axes) +
                 " axes once");
    }
    KnobValue value{numbers, ir::Tail::kAuto, ""};
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(std::move(value));
  }
  return values;
}

std::vector<KnobValue> annotate_values(const std::string& name, size_t axes, const std::string& policy) {
  if (axes == 0) tune_error("define_annotate: \"" + name + "\" must name at least one axis");
  std::vector<std::vector<AnnotateChoice>> plans;
  const auto inner = [&](size_t count,
                         AnnotateChoice last) {  // the innermost `count` axes, the last of them being `last`
    std::vector<AnnotateChoice> plan(axes, AnnotateChoice::kNone);
    for (size_t i = axes - count; i < axes; ++i) plan[i] = AnnotateChoice::kUnroll;
    if (count > 0) plan.back() = last;
    if (std::find(plans.begin(), plans.end(), plan) == plans.end()) plans.push_back(plan);
  };
  const bool known = policy == "none" || policy == "unroll" || policy == "try_unroll" || policy == "try_vec" ||
                     policy == "try_unroll_vec" || policy == "unroll_vec";
  if (!known) {
    tune_error(
        "define_annotate: policy must be \"none\", \"unroll\", \"unroll_vec\", \"try_unroll\", \"try_vec\" or "
        "\"try_unroll_vec\", not \"" +
        policy + "\"");
  }
  if (policy == "unroll") inner(axes, AnnotateChoice::kUnroll);
  if (policy == "unroll_vec") inner(axes, AnnotateChoice::kVectorize);
  if (policy == "none" || policy.starts_with("try")) inner(0, AnnotateChoice::kNone);
  if (policy == "try_vec" || policy == "try_unroll_vec") inner(1, AnnotateChoice::kVectorize);
  for (size_t n = 1; policy.starts_with("try_unroll") && n <= axes; ++n) {
    inner(n, AnnotateChoice::kUnroll);
    if (policy == "try_unroll_vec") inner(n, AnnotateChoice::kVectorize);
  }
  std::vector<KnobValue> values;
  for (const auto& plan : plans) {
    KnobValue value;
    for (AnnotateChoice a : plan) value.numbers.push_back(static_cast<int64_t>(a));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace tw::autotune
