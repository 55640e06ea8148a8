// Pooling over windows:
//
//   max_pool_pad = x with -inf around it;  max_pool[n, y, x, c] = max over ky, kx of pad[n, y * stride + ky, .., c]
//   avg_pool_pad = x with 0 around it;     avg_pool_sum = the same with a sum;  avg_pool = sum / elements that count
#include "tensorwright/ops/pool.h"

#include <algorithm>

#include "src/ir/simplify.h"
#include "te/dtype.h"
#include "te/ops/nan.h"
#include "te/ops/pool_windows.h"

namespace tw::te::ops {
namespace {

using Point = std::vector<Var>;

// Windows over some dimensions of a tensor, with the axes of a reduction over each.
struct Sweep {
  std::vector<size_t> dimensions;
  std::vector<Windows> windows;
  std::vector<IterVar> over;
  std::vector<Expr> shape;

  Sweep(const Site& site, const Tensor& x, std::vector<size_t> spatial, const PoolWindowOptions& options)
      : dimensions(std::move(spatial)), windows(windows_of(site, x, dimensions, options)), shape(x.shape()) {
    for (size_t d = 0; d < windows.size(); ++d) {
      over.push_back(reduce_axis(0, windows[d].kernel, "r" + std::to_string(d), site.where));
      shape[dimensions[d]] = windows[d].count;
    }
  }
  // Where tap k of window i stands along dimension d, counted from the first element of the data.
  Expr position(const Point& i, size_t d) const {
    const Windows& w = windows[d];
    return Expr(i[dimensions[d]]) * Expr(w.stride) + Expr(over[d]) * Expr(w.dilation) - Expr(w.before);
  }
  // The number of that element among those of the spatial dimensions.
  Expr place(const Point& i) const {
    Expr number = position(i, 0);
    for (size_t d = 1; d < windows.size(); ++d) number = number * Expr(windows[d].extent) + position(i, d);
    return number;
  }
  // Whether it is one of the data; empty where all are.
  Expr inside(const Point& i) const {
    std::vector<Expr> conditions;
    for (size_t d = 0; d < windows.size(); ++d) {
      if (windows[d].before > 0) conditions.push_back(ir::simplify(position(i, d)) >= Expr(0));
      if (windows[d].beyond() > 0) conditions.push_back(ir::simplify(position(i, d)) < Expr(windows[d].extent));
    }
    return conditions.empty() ? Expr() : te::all(conditions);
  }
  // The subscripts of the padded tensor.
  std::vector<Expr> point(const Point& i) const {
    std::vector<Expr> at = exprs(i);
    for (size_t d = 0; d < windows.size(); ++d)
      at[dimensions[d]] =
          ir::simplify(at[dimensions[d]] * Expr(windows[d].stride) + Expr(over[d]) * Expr(windows[d].dilation));
    return at;
  }
};

Tensor max_pool(const std::string& op, size_t spatial, const Tensor& x, const MaxPoolOptions& o, SourceLine where) {
  const Site site{op, std::move(where)};
  expect_number(site, "x", x);
  const Sweep sweep(site, x, spatial_dimensions(site, x, o.layout, spatial),
                    {o.kernel, o.stride, o.padding, o.dilation, o.ceil_mode});
  const Expr least = ir::identity_of(ir::ReduceOp::kMax, x.dtype());
  const Tensor data = padded(site, x, sweep.dimensions, sweep.windows, least, o.name + "_pad");
  return compute(
      sweep.shape, [&](const Point& i) { return extreme_or_nan(true, data(sweep.point(i)), sweep.over); }, o.name, {},
      site.where);
}

std::vector<Tensor> max_pool_indices(const std::string& op, size_t spatial, const Tensor& x, const MaxPoolOptions& o,
                                     SourceLine where) {
  const Site site{op, std::move(where)};
  expect_number(site, "x", x);
  const Sweep sweep(site, x, spatial_dimensions(site, x, o.layout, spatial),
                    {o.kernel, o.stride, o.padding, o.dilation, o.ceil_mode});
  const Expr least = ir::identity_of(ir::ReduceOp::kMax, x.dtype());
  const Tensor data = padded(site, x, sweep.dimensions, sweep.windows, least, o.name + "_pad");
  const std::vector<Tensor> both = compute_tuple(
      sweep.shape,
      [&](const Point& i) {
        const Expr place = ir::cast(Type::i(64), ir::simplify(sweep.place(i)));
        return first_extreme(true)({place, data(sweep.point(i))}, sweep.over, sweep.inside(i));
      },
      o.name, {}, site.where);
  return {both[1], both[0]};
}

// How many elements of window i count along one dimension: those up to the end of the data, or of the padding.
Expr counted(const Windows& w, const Expr& i, bool include_pad) {
  const Expr first = i * Expr(w.stride) - Expr(w.before);
  const int64_t end = w.extent + (include_pad ? w.behind : 0);
  const bool whole = w.beyond() <= (include_pad ? w.behind : 0) && (include_pad || w.before == 0);
  if (whole) return w.kernel;
  const auto steps = [&](const Expr& distance) {  // rounded up
    return w.dilation == 1 ? distance : ir::floordiv(distance + Expr(w.dilation - 1), w.dilation);
  };
  const Expr from = include_pad ? Expr(0) : ir::max(steps(Expr(0) - first), Expr(0));
  return ir::min(steps(Expr(end) - first), Expr(w.kernel)) - from;
}

Tensor avg_pool(const std::string& op, size_t spatial, const Tensor& x, const AvgPoolOptions& o, SourceLine where) {
  const Site site{op, std::move(where)};
  expect_float(site, "x", x);
  const Sweep sweep(site, x, spatial_dimensions(site, x, o.layout, spatial),
                    {o.kernel, o.stride, o.padding, o.dilation, o.ceil_mode});
  const Tensor data = padded(site, x, sweep.dimensions, sweep.windows, ir::imm(x.dtype(), 0), o.name + "_pad");
  const Type type = accumulator(x.dtype());
  const Tensor total = compute(
      sweep.shape, [&](const Point& i) { return te::sum(convert(type, data(sweep.point(i))), sweep.over); },
      o.name + "_sum", {}, site.where);
  return compute(
      sweep.shape,
      [&](const Point& i) {
        Expr count = 1;
        for (size_t d = 0; d < sweep.windows.size(); ++d)
          count = count * counted(sweep.windows[d], i[sweep.dimensions[d]], o.count_include_pad);
        return convert(x.dtype(), divide(total(exprs(i)), number(type, ir::simplify(count))));
      },
      o.name, {}, site.where);
}

// Windows of several lengths: the axis of the reduction is as long as the longest.
struct Adaptive {
  std::vector<size_t> dimensions;
  std::vector<int64_t> sizes, extents;
  std::vector<IterVar> over;
  std::vector<Expr> shape;

  Adaptive(const Site& site, const Tensor& x, const AdaptivePoolOptions& o)
      : dimensions(spatial_dimensions(site, x, o.layout, 0)),
        sizes(one_for_each(site, "size", o.size, dimensions.size(), 1)),
        shape(x.shape()) {
    for (size_t d = 0; d < dimensions.size(); ++d) {
      extents.push_back(known_extent(site, "x", x, dimensions[d]));
      if (extents[d] < 1)
        site.refuse(ErrorKind::kExpr, "x must not be empty along its spatial dimensions", {describe("x", x)});
      int64_t longest = 0;
      for (int64_t i = 0; i < sizes[d]; ++i)
        longest = std::max(longest, ((i + 1) * extents[d] + sizes[d] - 1) / sizes[d] - i * extents[d] / sizes[d]);
      over.push_back(reduce_axis(0, longest, "r" + std::to_string(d), site.where));
      shape[dimensions[d]] = sizes[d];
    }
  }
  bool even(size_t d) const { return extents[d] % sizes[d] == 0; }
  Expr first(const Point& i, size_t d) const {
    const Expr place = i[dimensions[d]];
    return even(d) ? place * Expr(extents[d] / sizes[d]) : ir::floordiv(place * Expr(extents[d]), sizes[d]);
  }
  Expr length(const Point& i, size_t d) const {
    if (even(d)) return extents[d] / sizes[d];
    const Expr end = (Expr(i[dimensions[d]]) + Expr(1)) * Expr(extents[d]) + Expr(sizes[d] - 1);
    return ir::floordiv(end, sizes[d]) - first(i, d);
  }
  std::vector<Expr> point(const Point& i) const {
    std::vector<Expr> at = exprs(i);
    for (size_t d = 0; d < over.size(); ++d) at[dimensions[d]] = ir::simplify(first(i, d) + Expr(over[d]));
    return at;
  }
  // Which points of the axes are in the window; empty where all are.
  Expr inside(const Point& i) const {
    std::vector<Expr> conditions;
    for (size_t d = 0; d < over.size(); ++d)
      if (!even(d)) conditions.push_back(Expr(over[d]) < length(i, d));
    return conditions.empty() ? Expr() : te::all(conditions);
  }
};

}  // namespace

Tensor max_pool1d(const Tensor& x, MaxPoolOptions options, SourceLine where) {
  return max_pool("max_pool1d", 1, x, options, std::move(where));
}
Tensor max_pool2d(const Tensor& x, MaxPoolOptions options, SourceLine where) {
  return max_pool("max_pool2d", 2, x, options, std::move(where));
}
Tensor max_pool3d(const Tensor& x, MaxPoolOptions options, SourceLine where) {
  return max_pool("max_pool3d", 3, x, options, std::move(where));
}
std::vector<Tensor> max_pool1d_indices(const Tensor& x, MaxPoolOptions options, SourceLine where) {
  return max_pool_indices("max_pool1d", 1, x, options, std::move(where));
}
std::vector<Tensor> max_pool2d_indices(const Tensor& x, MaxPoolOptions options, SourceLine where) {
  return max_pool_indices("max_pool2d", 2, x, options, std::move(where));
}
std::vector<Tensor> max_pool3d_indices(const Tensor& x, MaxPoolOptions options, SourceLine where) {
  return max_pool_indices("max_pool3d", 3, x, options, std::move(where));
}
Tensor avg_pool1d(const Tensor& x, AvgPoolOptions options, SourceLine where) {
  return avg_pool("avg_pool1d", 1, x, options, std::move(where));
}
Tensor avg_pool2d(const Tensor& x, AvgPoolOptions options, SourceLine where) {
  return avg_pool("avg_pool2d", 2, x, options, std::move(where));
}
Tensor avg_pool3d(const Tensor& x, AvgPoolOptions options, SourceLine where) {
  return avg_pool("avg_pool3d", 3, x, options, std::move(where));
}

Tensor adaptive_max_pool(const Tensor& x, AdaptivePoolOptions options, SourceLine where) {
  const Site site{"adaptive_max_pool", std::move(where)};
  expect_number(site, "x", x);
  const Adaptive windows(site, x, options);
  return compute(
      windows.shape,
      [&](const Point& i) { return extreme_or_nan(true, x(windows.point(i)), windows.over, windows.inside(i)); },
      options.name, {}, site.where);
}

Tensor adaptive_avg_pool(const Tensor& x, AdaptivePoolOptions options, SourceLine where) {
  const Site site{"adaptive_avg_pool", std::move(where)};
  expect_float(site, "x", x);
  const Adaptive windows(site, x, options);
  const Type type = accumulator(x.dtype());
  const Tensor total = compute(
      windows.shape,
      [&](const Point& i) { return te::sum(convert(type, x(windows.point(i))), windows.over, windows.inside(i)); },
      options.name + "_sum", {}, site.where);
  return compute(
      windows.shape,
      [&](const Point& i) {
        Expr count = 1;
        for (size_t d = 0; d < windows.over.size(); ++d) count = count * windows.length(i, d);
        return convert(x.dtype(), divide(total(exprs(i)), number(type, ir::simplify(count))));
      },
      options.name, {}, site.where);
}

}  // namespace tw::te::ops
