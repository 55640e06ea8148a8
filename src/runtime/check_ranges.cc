// Whether the caller keeps the promises about the values of its arrays.

#include <algorithm>

#include "src/ir/interp_value.h"
#include "src/runtime/extents.h"
#include "src/runtime/kernel.h"

namespace tw::runtime {
namespace {

// The first element outside of the range: "A[3, 5] is 200"; empty where there is none.
std::string outside(const ArgSpec& spec, const ArrayView& view) {
  const ir::interp::ReadFn read = ir::interp::read_function(spec.dtype);
  const size_t rank = view.shape.size();
  const std::vector<int64_t> strides = view.strides.empty() ? compact_strides(view.shape) : view.strides;
  std::vector<int64_t> at(rank, 0);
  for (const int64_t extent : view.shape)
    if (extent == 0) return "";
  int64_t offset = 0;
  for (;;) {
    const int64_t value = read(static_cast<const std::byte*>(view.data), offset).i;
    if (value < spec.range->first || value > spec.range->second) {
      std::string place;
      for (const int64_t i : at) place += (place.empty() ? "" : ", ") + std::to_string(i);
      return spec.name + "[" + place + "] is " + std::to_string(value);
    }
    size_t d = rank;
    while (d > 0 && at[d - 1] + 1 == view.shape[d - 1]) {
      --d;
      offset -= at[d] * strides[d];
      at[d] = 0;
    }
    if (d == 0) return "";
    ++at[d - 1];
    offset += strides[d - 1];
  }
}

}  // namespace

Status check_range(const Kernel& kernel, size_t argument, const ArrayView& view) {
  const ArgSpec& spec = kernel.args()[argument];
  if (!spec.range || spec.written || !view.layout.empty()) return Unit{};
  const std::string broken = outside(spec, view);
  if (broken.empty()) return Unit{};
  return Diagnostic{ErrorKind::kArgument,
                    kernel.name() + ": " + spec.name + " is promised to be in " + std::to_string(spec.range->first) +
                        ".." + std::to_string(spec.range->second) + ", and " + broken,
                    {},
                    {"te.placeholder(range=) promised it; a kernel may use it and give wrong results otherwise"}};
}

Status check_ranges(const Kernel& kernel, std::span<const ArrayView> views) {
  for (size_t i = 0; i < std::min(views.size(), kernel.args().size()); ++i) {
    TW_TRY([[maybe_unused]] Unit kept, check_range(kernel, i, views[i]));
  }
  return Unit{};
}

}  // namespace tw::runtime
