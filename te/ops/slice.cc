// Parts of a tensor: split and strided_slice.
#include <algorithm>

#include "src/ir/simplify.h"
#include "te/ops/axes.h"
#include "tensorwright/ops/shape.h"

namespace tw::te::ops {
namespace {

// first, first + step, ...: count of them.
struct Part {
  int64_t first, step, count;
};

// What Python's slice(begin, end, step) means for a sequence of `n`.
Part python_slice(int64_t n, int64_t begin, int64_t end, int64_t step) {
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
  const auto cut = [&](int64_t place) { return std::clamp(place < 0 && place >= -n ? place + n : place, low, high); };
  const int64_t first = cut(begin), last = cut(end);
  const int64_t span = step < 0 ? first - last : last - first;
  const uint64_t stride = step < 0 ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  return {first, step, span <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride) + 1};
}

Tensor part_of(const Site& site, const Tensor& x, const std::vector<Part>& parts, const std::string& name) {
  std::vector<Expr> shape = x.shape();
  for (size_t d = 0; d < parts.size(); ++d) shape[d] = parts[d].count;
  return compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = exprs(i);
        for (size_t d = 0; d < parts.size(); ++d)
          at[d] = ir::simplify(at[d] * Expr(parts[d].count > 1 ? parts[d].step : 1) + Expr(parts[d].first));
        return x(at);
      },
      name, {}, site.where);
}

}  // namespace

std::vector<Tensor> split(const Tensor& x, SplitOptions options, SourceLine where) {
  const Site site{"split", std::move(where)};
  expect_given(site, "x", x);
  const size_t axis = axis_of(site, x.rank(), options.axis);
  const int64_t n = known_extent(site, "x", x, axis);
  std::vector<int64_t> begins = options.at;
  if (begins.empty() == (options.sections == 0))
    site.refuse(ErrorKind::kArgument, "exactly one of sections and at must be given");
  if (options.sections != 0 && (options.sections < 0 || n % options.sections != 0))
    site.refuse(ErrorKind::kArgument,
                "sections must divide the extent of axis " + std::to_string(axis) + ", " + std::to_string(n) +
                    ", not be " + std::to_string(options.sections),
                {describe("x", x), "at=[..] names the places for parts of any size"});
  for (int64_t part = 1; part < options.sections; ++part) begins.push_back(part * (n / options.sections));
  begins.insert(begins.begin(), 0);
  begins.push_back(n);
  if (!std::is_sorted(begins.begin(), begins.end()))
    site.refuse(
        ErrorKind::kArgument,
        "at must hold increasing places in 0.." + std::to_string(n) + ", the extent of axis " + std::to_string(axis),
        {describe("x", x)});
  std::vector<Tensor> results;
  for (size_t part = 0; part + 1 < begins.size(); ++part) {
    std::vector<Expr> shape = x.shape();
    shape[axis] = begins[part + 1] - begins[part];
    const auto element = [&](const std::vector<Var>& i) {
      std::vector<Expr> at = exprs(i);
      if (begins[part] > 0) at[axis] = at[axis] + Expr(begins[part]);
      return x(at);
    };
    results.push_back(compute(shape, element, options.name + std::to_string(part), {}, site.where));
  }
  return results;
}

Tensor strided_slice(const Tensor& x, SliceOptions options, SourceLine where) {
  const Site site{"strided_slice", std::move(where)};
  expect_given(site, "x", x);
  const size_t n = options.begin.size();
  if (options.end.size() != n || (!options.strides.empty() && options.strides.size() != n) || n > x.rank())
    site.refuse(ErrorKind::kArgument,
                "begin, end and strides must be equally many, at most " + std::to_string(x.rank()) + ", not " +
                    std::to_string(n) + ", " + std::to_string(options.end.size()) + " and " +
                    std::to_string(options.strides.size()),
                {describe("x", x)});
  std::vector<Part> parts;
  for (size_t d = 0; d < n; ++d) {
    const int64_t step = options.strides.empty() ? 1 : options.strides[d];
    if (step == 0) site.refuse(ErrorKind::kArgument, "strides must not be 0");
    parts.push_back(python_slice(known_extent(site, "x", x, d), options.begin[d], options.end[d], step));
  }
  return part_of(site, x, parts, options.name);
}

}  // namespace tw::te::ops
