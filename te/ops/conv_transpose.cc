// conv1d_transpose, conv2d_transpose, conv3d_transpose. What a result adds up depends on its place modulo the stride,
// its phase; each phase is a convolution of stride 1 with every stride-th element of the window:
//
//   out[y] = sum over ky, c of  x[(y + padding - ky) / stride] * w[ky]      where stride divides it
//   phases[p, t] = sum over e, c of  x[t + first - (M - 1 - e)] * w[stride * (M - 1 - e) + p]      zeros around x and w
//   out[y] = phases[(y + padding) % stride, (y + padding) // stride - first]
//                                                   first = padding // stride,  M = elements of the window / stride, up
//
// Along a dimension whose window is dilated too, the data is spread out instead:
//
//   spread[u] = x[(u - before) / stride]  where stride divides it, else 0;    before = dilation * (KH - 1) - padding
//   out[y]    = sum over ky, c of  spread[y + ky * dilation] * w[KH - 1 - ky]
#include <algorithm>

#include "src/ir/interval_arith.h"
#include "te/dtype.h"
#include "te/ops/axes.h"
#include "te/ops/conv.h"
#include "te/promote.h"

namespace tw::te::ops {
namespace {

// Zeros between, before and behind the elements of one spatial dimension.
struct Spread {
  int64_t stride, before, behind;
  Expr extent(const Expr& data) const { return plus(times(minus(data, 1), stride), 1 + before + behind); }
};

Expr shifted(const Expr& at, int64_t by) { return by == 0 ? at : by > 0 ? at - Expr(by) : at + Expr(-by); }

// `before` and `behind` may be negative: elements are cut off.
Tensor spread_out(const Site& site, const Tensor& x, const Layout& layout, const std::vector<Spread>& spreads,
                  const std::string& name) {
  const size_t first = layout.first_spatial();
  std::vector<Expr> shape = x.shape();
  bool same = true;
  for (size_t d = 0; d < spreads.size(); ++d) {
    shape[first + d] = spreads[d].extent(shape[first + d]);
    same &= spreads[d].stride == 1 && spreads[d].before == 0 && spreads[d].behind == 0;
  }
  if (same) return x;
  const auto body = [&](const std::vector<Var>& point) {
    std::vector<Expr> at = exprs(point), conditions;
    for (size_t d = 0; d < spreads.size(); ++d) {
      const auto& [stride, before, behind] = spreads[d];
      const Expr place = shifted(point[first + d], before);
      if (before > 0) conditions.push_back(Expr(point[first + d]) >= Expr(before));
      if (behind > 0)
        conditions.push_back(Expr(point[first + d]) < plus(times(minus(x.shape()[first + d], 1), stride), 1 + before));
      if (stride > 1) conditions.push_back(ir::eq(ir::floormod(place, Expr(stride)), Expr(0)));
      at[first + d] = stride > 1 ? ir::floordiv(place, Expr(stride)) : place;
    }
    const Expr element = x(std::move(at));
    return conditions.empty() ? element
                              : if_then_else(all(std::move(conditions)), element, convert(x.dtype(), Expr(0)));
  };
  return compute(std::move(shape), body, name, axis_names(layout), site.where);
}

// One number for each spatial dimension, from 0 on.
std::vector<int64_t> output_padding(const Site& site, const std::vector<int64_t>& given, const Window& w) {
  if (given.size() != 1 && given.size() != w.rank())
    site.refuse(ErrorKind::kArgument, "output_padding must be one number or " + std::to_string(w.rank()) + ", not " +
                                          std::to_string(given.size()));
  std::vector<int64_t> each(w.rank(), given[0]);
  if (given.size() == w.rank()) each = given;
  for (size_t d = 0; d < each.size(); ++d)
    if (const int64_t limit = std::max(w.stride[d], w.dilation[d]); each[d] < 0 || each[d] >= limit)
      site.refuse(ErrorKind::kArgument,
                  "output_padding must be less than stride or dilation, " + std::to_string(limit) + ", not " +
                      std::to_string(each[d]),
                  {"spatial dimension " + std::to_string(d)});
  return each;
}

// The channels of the weights: [KH, KW, C, O / groups] or [C, O / groups, KH, KW].
struct Weights {
  const Tensor& w;
  const Layout& layout;
  size_t first_window() const { return layout.last() ? 0 : 2; }
  Expr inputs() const { return w.shape()[layout.last() ? layout.spatial : 0]; }
  Expr outputs() const { return w.shape()[layout.last() ? layout.spatial + 1 : 1]; }
  Expr operator()(std::vector<Expr> window, Expr in, Expr out) const {
    window.insert(layout.last() ? window.end() : window.begin(), {std::move(in), std::move(out)});
    return w(std::move(window));
  }
};

// One spatial dimension: the elements that one result adds up, and how places of the result are shared out.
struct Dimension {
  int64_t phases = 1;  // 1: the result's own places
  int64_t first = 0;   // where the places of a phase begin
  int64_t elements;    // of the window, of one phase
  int64_t step;        // how far apart their data lies
  int64_t padding;
  Spread spread = {};
  Expr places = {}, extent = {};  // of a phase, of the result

  bool phased() const { return phases > 1; }
  int64_t window() const { return phases * elements; }
  // The element of w that the e-th of a phase is multiplied by.
  Expr weight(const Expr& e, const Expr& phase) const {
    const Expr back = Expr(elements - 1) - e;
    return phased() ? Expr(phases) * back + phase : back;
  }
};

Dimension dimension_of(const Window& over, size_t d, int64_t extra, const Expr& data) {
  const int64_t stride = over.stride[d], reach = over.reach(d) - 1;
  Dimension one{.elements = over.extent[d], .step = over.dilation[d], .padding = over.before[d]};
  one.spread = {stride, reach - over.before[d], reach - over.behind[d] + extra};
  one.extent = one.places = minus(one.spread.extent(data), reach);
  if (stride == 1 || over.dilation[d] > 1) return one;
  const int64_t last = ir::floor_div(one.spread.behind, stride);
  one.phases = stride;
  one.first = over.before[d] / stride;
  one.elements = (over.extent[d] + stride - 1) / stride;
  one.spread = {1, one.elements - 1 - one.first, last};
  one.places = plus(data, last - one.first);
  return one;
}

// As many elements as the phases have together: zeros behind the others.
Tensor whole_windows(const Site& site, const Weights& weights, const std::vector<Dimension>& dimensions,
                     const std::string& name) {
  std::vector<Expr> shape = weights.w.shape();
  bool same = true;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    Expr& extent = shape[weights.first_window() + d];
    same &= ir::is_int(extent, dimensions[d].window());
    extent = Expr(dimensions[d].window());
  }
  if (same) return weights.w;
  const auto body = [&](const std::vector<Var>& point) {
    std::vector<Expr> conditions;
    for (size_t d = 0; d < dimensions.size(); ++d)
      if (const Expr& there = weights.w.shape()[weights.first_window() + d]; !ir::is_int(there, dimensions[d].window()))
        conditions.push_back(Expr(point[weights.first_window() + d]) < there);
    return if_then_else(all(std::move(conditions)), weights.w(exprs(point)), convert(weights.w.dtype(), Expr(0)));
  };
  return compute(std::move(shape), body, name, {}, site.where);
}

// Sums [N, SY, SX, ...] of each phase on its own, and how the result is made of them.
class Phases {
 public:
  Phases(const Layout& layout, const std::vector<Dimension>& dimensions) : layout_(layout), dimensions_(dimensions) {}

  bool any() const { return std::ranges::any_of(dimensions_, &Dimension::phased); }
  std::vector<Expr> shape(const Expr& batch, const Expr& channels) const {
    std::vector<Expr> places;
    for (const Dimension& one : dimensions_) places.push_back(one.places);
    return behind_batch(layout_.at(batch, places, {channels}), [&](size_t d) { return dimensions_[d].phases; });
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all = axis_names(layout_);
    for (size_t d = dimensions_.size(); d-- > 0;)
      if (dimensions_[d].phased()) all.insert(all.begin() + 1, spatial_names(dimensions_.size(), "phase_")[d]);
    return all;
  }
  // Takes them out of a point of the sums: one for each dimension, 0 where there is but one.
  std::vector<Expr> taken_from(std::vector<Var>& point) const {
    std::vector<Expr> phases;
    for (const Dimension& one : dimensions_) {
      phases.push_back(one.phased() ? Expr(point[1]) : Expr(0));
      if (one.phased()) point.erase(point.begin() + 1);
    }
    return phases;
  }
  Tensor joined(const Tensor& sums, const std::string& name, const SourceLine& where) const {
    std::vector<Expr> extents;
    for (const Dimension& one : dimensions_) extents.push_back(one.extent);
    const auto body = [&](const std::vector<Var>& point) {
      std::vector<Expr> at = exprs(point), padded = at;
      for (size_t d = 0; d < dimensions_.size(); ++d) {
        const Dimension& one = dimensions_[d];
        const size_t axis = layout_.first_spatial() + d;
        padded[axis] = shifted(point[axis], -one.padding);
        if (one.phased()) at[axis] = shifted(ir::floordiv(padded[axis], Expr(one.phases)), one.first);
      }
      return sums(behind_batch(std::move(at), [&](size_t d) {
        return ir::floormod(padded[layout_.first_spatial() + d], Expr(dimensions_[d].phases));
      }));
    };
    const Expr channels = layout_.last() ? sums.shape().back() : sums.shape()[sums.rank() - dimensions_.size() - 1];
    return compute(layout_.at(sums.shape()[0], extents, {channels}), body, name, axis_names(layout_), where);
  }

 private:
  template <class F>
  std::vector<Expr> behind_batch(std::vector<Expr> all, const F& of) const {
    for (size_t d = dimensions_.size(); d-- > 0;)
      if (dimensions_[d].phased()) all.insert(all.begin() + 1, Expr(of(d)));
    return all;
  }

  const Layout& layout_;
  const std::vector<Dimension>& dimensions_;
};

// What a channel of the result reads: channel `element` of its group.
Expr read_channel(const Expr& out, const Expr& element, const Expr& outputs, const Expr& inputs, int64_t groups) {
  return groups == 1 ? element : ir::floordiv(out, outputs) * inputs + element;
}

Tensor transposed(Site site, size_t spatial, const Tensor& x, const Tensor& w, const TransposedConvOptions& options) {
  const Layout layout = layout_named(site, options.layout, spatial);
  if (layout.blocked()) site.refuse(ErrorKind::kArgument, "layout must not be blocked: " + options.layout);
  site.rank("x", x, layout.rank());
  site.rank("w", w, spatial + 2);
  const Weights weights{w, layout};
  const Window over = window(site, window_extents(site, w, weights.first_window(), spatial),
                             {options.stride, options.padding, options.dilation});
  const std::vector<int64_t> extra = output_padding(site, options.output_padding, over);
  const Expr channels = x.shape()[layout.last() ? x.rank() - 1 : 1];
  site.same("channels of w", weights.inputs(), "channels of x", channels, {describe("x", x), describe("w", w)});
  const int64_t groups = options.groups;
  if (groups < 1 || (groups > 1 && site.constant("channels of x", channels) % groups != 0))
    site.refuse(ErrorKind::kExpr,
                "groups must divide the channels of x, " + short_text(channels) + ", not " + std::to_string(groups),
                {describe("x", x), describe("w", w)});
  const Expr outputs = times(weights.outputs(), groups), inputs = quotient(channels, groups);
  const Epilogue epilogue{site, sums_of(site, "x", x, "w", w, options), options.bias, options.activation, options.name};
  epilogue.check(outputs);

  const std::vector<Expr> extents = spatial_extents(x, layout);
  std::vector<Dimension> dimensions;
  std::vector<Spread> spreads;
  for (size_t d = 0; d < spatial; ++d) {
    dimensions.push_back(dimension_of(over, d, extra[d], extents[d]));
    spreads.push_back(dimensions[d].spread);
    if (const auto extent = ir::as_int(dimensions[d].extent); extent && *extent < 1)
      site.refuse(ErrorKind::kExpr, "padding must leave something of the result, not take it all",
                  {describe("x", x), "spatial dimension " + std::to_string(d)});
  }
  const Phases phases(layout, dimensions);
  const bool only_padded = phases.any() && std::ranges::all_of(spreads, [](const Spread& s) { return s.stride == 1; });
  const Tensor data = spread_out(site, x, layout, spreads, options.name + (only_padded ? "_pad" : "_spread"));
  const Tensor windows = whole_windows(site, weights, dimensions, options.name + "_weights");
  const Weights whole{windows, layout};

  std::vector<IterVar> elements;
  for (size_t d = 0; d < spatial; ++d)
    elements.push_back(reduce_axis(0, dimensions[d].elements, spatial_names(spatial, "k")[d], site.where));
  const IterVar kc = reduce_axis(0, inputs, "kc", site.where);
  std::vector<IterVar> reduced = elements;
  reduced.insert(layout.last() ? reduced.end() : reduced.begin(), kc);
  const auto body = [&](std::vector<Var> at) {
    const std::vector<Expr> phase = phases.taken_from(at);
    const Expr out = layout.last() ? at.back() : at[1];
    std::vector<Expr> places, window;
    for (size_t d = 0; d < spatial; ++d) {
      places.push_back(at[layout.first_spatial() + d] + times(elements[d], dimensions[d].step));
      window.push_back(dimensions[d].weight(elements[d], phase[d]));
    }
    const Expr in = read_channel(out, kc, weights.outputs(), inputs, groups);
    return sum(product(epilogue.dtypes, data(layout.at(at[0], places, {in})),
                       whole(std::move(window), in, groups == 1 ? out : ir::floormod(out, weights.outputs()))),
               reduced);
  };
  const std::string name = epilogue.name_of_sums();
  Tensor sums = compute(phases.shape(x.shape()[0], outputs), body, phases.any() ? options.name + "_phases" : name,
                        phases.names(), site.where);
  if (phases.any()) sums = phases.joined(sums, name, site.where);
  return epilogue.apply(sums, axis_names(layout),
                        [&](const std::vector<Var>& at) { return layout.last() ? at.back() : at[1]; });
}

}  // namespace

Tensor conv1d_transpose(const Tensor& x, const Tensor& w, TransposedConvOptions options, SourceLine where) {
  return transposed({"conv1d_transpose", std::move(where)}, 1, x, w, options);
}
Tensor conv2d_transpose(const Tensor& x, const Tensor& w, TransposedConvOptions options, SourceLine where) {
  return transposed({"conv2d_transpose", std::move(where)}, 2, x, w, options);
}
Tensor conv3d_transpose(const Tensor& x, const Tensor& w, TransposedConvOptions options, SourceLine where) {
  return transposed({"conv3d_transpose", std::move(where)}, 3, x, w, options);
}

}  // namespace tw::te::ops
