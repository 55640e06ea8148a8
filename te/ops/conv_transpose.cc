// conv1d_transpose, conv2d_transpose, conv3d_transpose: a convolution of stride 1 over data that was spread out.
//
//   spread[u] = x[(u - before) / stride]  where stride divides it, else 0;    before = dilation * (KH - 1) - padding
//   out[y]    = sum over ky, c of  spread[y + ky * dilation] * w[KH - 1 - ky]
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
    if (const auto extent = ir::as_int(shape[first + d]); extent && *extent < 1)
      site.refuse(ErrorKind::kExpr, "padding must leave something of the result, not take it all",
                  {describe("x", x), "spatial dimension " + std::to_string(d)});
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
  Expr operator()(const Window& over, const std::vector<IterVar>& elements, Expr in, Expr out) const {
    std::vector<Expr> at;
    for (size_t d = 0; d < elements.size(); ++d) at.push_back(Expr(over.extent[d] - 1) - elements[d]);
    at.insert(layout.last() ? at.end() : at.begin(), {std::move(in), std::move(out)});
    return w(std::move(at));
  }
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

  std::vector<Spread> spreads;
  Window direct = over;  // what runs over the spread data
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t reach = over.reach(d) - 1;
    spreads.push_back({over.stride[d], reach - over.before[d], reach - over.behind[d] + extra[d]});
    direct.stride[d] = 1, direct.before[d] = direct.behind[d] = 0;
  }
  const Tensor data = spread_out(site, x, layout, spreads, options.name + "_spread");
  const std::vector<IterVar> elements = window_axes(site, direct);
  const IterVar kc = reduce_axis(0, inputs, "kc", site.where);
  std::vector<IterVar> reduced = elements;
  reduced.insert(layout.last() ? reduced.end() : reduced.begin(), kc);
  const auto body = [&](const std::vector<Var>& at) {
    const Expr out = layout.last() ? at.back() : at[1];
    const Expr in = read_channel(out, kc, weights.outputs(), inputs, groups);
    const Expr weight = weights(over, elements, in, groups == 1 ? out : ir::floormod(out, weights.outputs()));
    return sum(product(epilogue.dtypes, data(layout.at(at[0], places(direct, layout, at, elements), {in})), weight),
               reduced);
  };
  const std::vector<std::string> names = axis_names(layout);
  const std::vector<Expr> shape =
      layout.at(x.shape()[0], direct.results(site, spatial_extents(data, layout)), {outputs});
  return epilogue.apply(compute(shape, body, epilogue.name_of_sums(), names, site.where), names,
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
