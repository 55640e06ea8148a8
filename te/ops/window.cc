// Windows over data.
#include "te/ops/window.h"

#include <algorithm>

#include "te/ops/axes.h"
#include "te/ops/sides.h"

namespace tw::te::ops {
namespace {

bool any(const std::vector<int64_t>& values) {
  return std::any_of(values.begin(), values.end(), [](int64_t v) { return v != 0; });
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
  Window w{extent,
           one_for_each(site, "stride", options.stride, n, 1),
           one_for_each(site, "dilation", options.dilation, n, 1),
           {},
           {}};
  for (const int64_t e : extent)
    if (e < 1) site.refuse(ErrorKind::kExpr, "the window must have at least one element, not " + std::to_string(e));
  const bool both_ends = options.padding.size() == 2 * n;
  const std::vector<int64_t> padding = one_for_each(site, "padding", options.padding, both_ends ? 2 * n : n, 0);
  const auto middle = padding.begin() + static_cast<int64_t>(n);
  w.before.assign(padding.begin(), middle);
  w.behind.assign(both_ends ? middle : padding.begin(), both_ends ? padding.end() : middle);
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
  std::vector<Sides> sides(x.rank());
  for (size_t d = 0; d < w.rank(); ++d) sides[layout.first_spatial() + d] = {w.before[d], w.behind[d]};
  return surrounded(site, x, sides, value, name, axis_names(layout));
}

}  // namespace tw::te::ops
