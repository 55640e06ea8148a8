#include "src/runtime/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/ir/interp_value.h"
#include "src/runtime/arguments.h"
#include "src/support/rng.h"

namespace tw::runtime {
namespace {

using Promise = std::optional<std::pair<int64_t, int64_t>>;

double random_value(ir::Type type, const Promise& range, support::Rng& rng) {
  if (range) {
    const uint64_t values = static_cast<uint64_t>(range->second) - static_cast<uint64_t>(range->first);
    return static_cast<double>(range->first + static_cast<int64_t>(rng.below(std::min<uint64_t>(values, 254) + 1)));
  }
  if (type.is_float()) return 2 * rng.uniform() - 1;
  if (type.is_bool()) return static_cast<double>(rng.below(2));
  return type.is_int() ? static_cast<double>(rng.below(17)) - 8 : static_cast<double>(rng.below(9));
}

// Those of short floats, which have few values and take long to round, are drawn from a few thousand. Of others each is
// its own: a long sum of few values goes astray further than by the square root of its length.
void fill(std::byte* array, size_t elements, ir::Type type, const Promise& range, support::Rng& rng) {
  constexpr size_t kValues = 4096;
  if (!(type.is_half() || type.is_float8()) || elements <= kValues) {
    const ir::interp::WriteFn write = ir::interp::write_function(type);
    for (size_t i = 0; i < elements; ++i)
      write(array, static_cast<int64_t>(i), ir::interp::value_of(random_value(type, range, rng), type));
    return;
  }
  const auto size = static_cast<size_t>(type.bytes());
  std::vector<std::byte> values(kValues * size);
  fill(values.data(), kValues, type, range, rng);
  for (size_t i = 0; i < elements; ++i) std::memcpy(array + i * size, values.data() + rng.below(kValues) * size, size);
}

}  // namespace

Blob random_inputs(const std::vector<ArgSpec>& args) {
  support::Rng rng(2024);
  const std::vector<size_t> offsets = argument_offsets(args);
  Draft draft(offsets.back());
  for (size_t a = 0; a < args.size(); ++a)
    if (!args[a].written)
      fill(draft.data() + offsets[a], static_cast<size_t>(args[a].elements()), args[a].dtype, args[a].range, rng);
  return std::move(draft).finish();
}

void require_memory(const std::vector<ArgSpec>& args, int copies) {
  double bytes = 0;
  for (const ArgSpec& spec : args) bytes += static_cast<double>(spec.bytes());
  const double all = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (copies * bytes <= all) return;
  const auto megabytes = [](double size) { return std::to_string(static_cast<int64_t>(size / (1 << 20))) + " MB"; };
  throw Error({ErrorKind::kTune,
               "the arguments take " + megabytes(bytes) + (copies == kCopiesOfRun ? ", three times at once," : "") +
                   " and this machine has " + megabytes(all),
               {},
               {"tune it for smaller shapes"}});
}

double absolute_tolerance(const ArgSpec& arg, const void* contents, double rtol) {
  if (rtol == 0) return 0;
  const ir::interp::ReadFn read = ir::interp::read_function(arg.dtype);
  double largest = 0;
  for (int64_t i = 0; i < arg.elements(); ++i) {
    const double v = std::fabs(ir::interp::number_of(read(contents, i), arg.dtype));
    if (std::isfinite(v)) largest = std::max(largest, v);
  }
  return rtol * largest;
}

}  // namespace tw::runtime
