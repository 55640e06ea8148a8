// The windows of pooling.
#include "te/ops/pool_windows.h"

#include <algorithm>

#include "src/ir/simplify.h"

namespace tw::te::ops {
namespace {

std::string layout_names(size_t spatial, const char* separator) {
  static const char* const kNames[] = {"W", "HW", "DHW"};
  const std::string names = kNames[spatial - 1];
  return "N" + names + "C" + separator + "NC" + names;
}

int64_t count_of(const Windows& w, bool ceil_mode) {
  const int64_t room = w.extent + w.before + w.behind - w.reach();
  if (room < 0) return 0;
  int64_t count = (room + (ceil_mode ? w.stride - 1 : 0)) / w.stride + 1;
  if (ceil_mode && (count - 1) * w.stride >= w.extent + w.before) --count;
  return count;
}

}  // namespace

std::vector<size_t> spatial_dimensions(const Site& site, const Tensor& x, const std::string& layout, size_t spatial) {
  expect_given(site, "x", x);
  if (spatial == 0) {
    if (x.rank() < 3 || x.rank() > 5)
      site.refuse(ErrorKind::kExpr, "x must have 3, 4 or 5 dimensions, not " + std::to_string(x.rank()),
                  {describe("x", x)});
    spatial = x.rank() - 2;
  }
  site.rank("x", x, spatial + 2);
  const std::string both = layout_names(spatial, " ");
  const bool last = layout.empty() || layout == both.substr(0, both.find(' '));
  if (!last && layout != both.substr(both.find(' ') + 1))
    site.refuse(ErrorKind::kArgument, "layout must be " + layout_names(spatial, " or ") + " of " +
                                          std::to_string(spatial) + " spatial dimensions, not " + layout);
  std::vector<size_t> dimensions;
  for (size_t d = 0; d < spatial; ++d) dimensions.push_back(d + (last ? 1 : 2));
  return dimensions;
}

std::vector<Windows> windows_of(const Site& site, const Tensor& x, const std::vector<size_t>& dimensions,
                                const PoolWindowOptions& o) {
  const size_t n = dimensions.size();
  const std::vector<int64_t> kernel = one_for_each(site, "kernel", o.kernel, n, 1);
  const std::vector<int64_t> stride = o.stride.empty() ? kernel : one_for_each(site, "stride", o.stride, n, 1);
  const std::vector<int64_t> dilation = one_for_each(site, "dilation", o.dilation, n, 1);
  const bool both_ends = o.padding.size() == 2 * n;
  const std::vector<int64_t> padding = one_for_each(site, "padding", o.padding, both_ends ? 2 * n : n, 0);
  std::vector<Windows> all;
  for (size_t d = 0; d < n; ++d) {
    Windows w{known_extent(site, "x", x, dimensions[d]),
              kernel[d],
              stride[d],
              dilation[d],
              padding[d],
              padding[both_ends ? n + d : d],
              0};
    w.count = count_of(w, o.ceil_mode);
    const std::string axis = "axis " + std::to_string(dimensions[d]) + " of x";
    if (w.count < 1)
      site.refuse(ErrorKind::kExpr,
                  "kernel must fit into " + axis + " with its padding, " +
                      std::to_string(w.extent + w.before + w.behind) + " elements, not reach over " +
                      std::to_string(w.reach()),
                  {describe("x", x)});
    if (w.before >= w.reach() || w.behind >= w.reach())
      site.refuse(ErrorKind::kArgument,
                  "padding must be less than what the kernel reaches over, " + std::to_string(w.reach()) + ", not " +
                      std::to_string(std::max(w.before, w.behind)),
                  {describe("x", x), "a window along " + axis + " would lie in the padding alone"});
    all.push_back(w);
  }
  return all;
}

Tensor padded(const Site& site, const Tensor& x, const std::vector<size_t>& dimensions, const std::vector<Windows>& all,
              const Expr& value, const std::string& name) {
  std::vector<Sides> sides(x.rank());
  bool inside = true;
  for (size_t d = 0; d < all.size(); ++d) {
    const int64_t beyond = std::max<int64_t>(all[d].beyond(), 0);
    sides[dimensions[d]] = {all[d].before, beyond};
    inside = inside && all[d].before == 0 && beyond == 0;
  }
  return inside ? x : surrounded(site, x, sides, value, name);
}

}  // namespace tw::te::ops
