// Windows over data.
#include "te/ops/window.h"

#include <algorithm>

#include "te/ops/axes.h"
#include "te/promote.h"

namespace tw::te::ops {
namespace {

bool any(const std::vector<int64_t>& values) {
  return std::any_of(values.begin(), values.end(), [](int64_t v) { return v != 0; });
}

// One value for all dimensions, or one for each.
std::vector<int64_t> each(const Site& site, const char* option, const std::vector<int64_t>& values, size_t spatial,
                          int64_t least) {
  if (values.size() != 1 && values.size() != spatial)
    site.refuse(ErrorKind::kArgument, std::string(option) + " must be one number or " + std::to_string(spatial) +
                                          ", one for each spatial dimension, not " + std::to_string(values.size()));
  for (const int64_t value : values)
    if (value < least)
      site.refuse(ErrorKind::kArgument, std::string(option) + " must be at least " + std::to_string(least) + ", not " +
                                            std::to_string(value));
  return values.size() == spatial ? values : std::vector<int64_t>(spatial, values[0]);
}

// Where an element of the padded data lies in the data itself.
Expr inside(const Expr& place, int64_t before, int64_t behind, const Expr& extent) {
  std::vector<Expr> conditions;
  if (before > 0) conditions.push_back(place >= Expr(before));
  if (behind > 0) conditions.push_back(place < plus(extent, before));
  return conditions.empty() ? Expr() : all(std::move(conditions));
}

}  // namespace

std::vector<Expr> Layout::at(Expr batch, const std::vector<Expr>& places, std::vector<Expr> channel) const {
  std::vector<Expr> result{std::move(batch)};
  if (!last()) result.push_back(channel[0]);
  result.insert(result.end(), places.begin(), places.end());
  if (last() || blocked()) result.push_back(channel.back());
  return result;
}

Layout layout_named(const Site& site, const std::string& name, size_t spatial) {
  const std::string places = std::string("DHW").substr(3 - spatial);
  const std::string last = "N" + places + "C", first = "NC" + places, blocked = first + "c";
  const bool fits = spatial < 3;  // the weights of a blocked 3-dimensional convolution have 7 dimensions
  if (name.empty() || name == last) return {Layout::Channels::kLast, spatial};
  if (name == first) return {Layout::Channels::kFirst, spatial};
  if (name == blocked && fits) return {Layout::Channels::kBlocked, spatial};
  site.refuse(ErrorKind::kArgument, "layout must be " + last + (fits ? ", " : " or ") + first +
                                        (fits ? " or " + blocked : "") + ", not " + name);
}

bool Window::padded() const { return any(before) || any(behind); }

Expr Window::place(size_t d, const Expr& result, const Expr& element) const {
  const Expr start = stride[d] == 1 ? result : result * Expr(stride[d]);
  return start + (dilation[d] == 1 ? element : element * Expr(dilation[d]));
}

std::vector<Expr> Window::results(const Site& site, const std::vector<Expr>& data) const {
  std::vector<Expr> extents;
  for (size_t d = 0; d < rank(); ++d) {
    const Expr room = plus(data[d], before[d] + behind[d] - reach(d));
    if (const auto known = ir::as_int(room); known && *known < 0)
      site.refuse(ErrorKind::kExpr,
                  "the window must not be larger than the padded data, " + std::to_string(*known + reach(d)) +
                      ", not " + std::to_string(reach(d)),
                  {"spatial dimension " + std::to_string(d) + ": " + short_text(data[d]) + " elements, padded by " +
                       std::to_string(before[d]) + " and " + std::to_string(behind[d]),
                   "the window: " + std::to_string(extent[d]) + " elements" +
                       (dilation[d] == 1 ? "" : ", " + std::to_string(dilation[d]) + " apart")});
    extents.push_back(plus(quotient(room, stride[d]), 1));
  }
  return extents;
}

Window window(const Site& site, const std::vector<int64_t>& extent, const WindowOptions& options) {
  const size_t n = extent.size();
  Window w{extent, each(site, "stride", options.stride, n, 1), each(site, "dilation", options.dilation, n, 1), {}, {}};
  for (const int64_t e : extent)
    if (e < 1) site.refuse(ErrorKind::kExpr, "the window must have at least one element, not " + std::to_string(e));
  if (options.padding.size() == 2 * n) {
    each(site, "padding", {options.padding.begin(), options.padding.begin() + static_cast<int64_t>(n)}, n, 0);
    each(site, "padding", {options.padding.begin() + static_cast<int64_t>(n), options.padding.end()}, n, 0);
    w.before.assign(options.padding.begin(), options.padding.begin() + static_cast<int64_t>(n));
    w.behind.assign(options.padding.begin() + static_cast<int64_t>(n), options.padding.end());
  } else {
    w.before = w.behind = each(site, "padding", options.padding, n, 0);
  }
  return w;
}

std::vector<std::string> spatial_names(size_t spatial, const std::string& prefix) {
  const std::vector<std::string> all{"z", "y", "x"};
  std::vector<std::string> names;
  for (size_t d = 3 - spatial; d < 3; ++d) names.push_back(prefix + all[d]);
  return names;
}

std::vector<std::string> axis_names(const Layout& layout) {
  std::vector<std::string> names{"n"};
  if (!layout.last()) names.push_back(layout.blocked() ? "co" : "c");
  for (std::string& name : spatial_names(layout.spatial)) names.push_back(std::move(name));
  if (!layout.first()) names.push_back(layout.blocked() ? "ci" : "c");
  return names;
}

Tensor padded(const Site& site, const Tensor& x, const Layout& layout, const Window& w, const Expr& value,
              const std::string& name) {
  if (!w.padded()) return x;
  const size_t first = layout.first_spatial();
  std::vector<Expr> shape = x.shape();
  for (size_t d = 0; d < w.rank(); ++d) shape[first + d] = plus(shape[first + d], w.before[d] + w.behind[d]);
  const auto body = [&](const std::vector<Var>& point) {
    std::vector<Expr> at = exprs(point), conditions;
    for (size_t d = 0; d < w.rank(); ++d) {
      if (const Expr c = inside(point[first + d], w.before[d], w.behind[d], x.shape()[first + d]))
        conditions.push_back(c);
      if (w.before[d] > 0) at[first + d] = at[first + d] - Expr(w.before[d]);
    }
    return if_then_else(all(std::move(conditions)), x(std::move(at)), value);
  };
  return compute(std::move(shape), body, name, axis_names(layout), site.where);
}

}  // namespace tw::te::ops
