#include "src/runtime/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/ir/interp_value.h"
#include "src/runtime/arguments.h"
#include "src/support/in_parallel.h"
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

constexpr size_t kChunk = 1 << 20;  // elements that a thread takes at once

// f(begin, end, number of the chunk) on several threads.
template <class F>
void in_chunks(size_t elements, const F& f) {
  support::in_parallel((elements + kChunk - 1) / kChunk, support::threads_for_work(),
                       [&](size_t c) { f(c * kChunk, std::min(elements, (c + 1) * kChunk), c); });
}

// Those of short floats, which have few values and take long to round, are drawn from a few thousand. Of others each is
// its own: a long sum of few values goes astray further than by the square root of its length.
void fill(std::byte* array, size_t elements, ir::Type type, const Promise& range, support::Rng& rng) {
  constexpr size_t kValues = 4096;
  if (!(type.is_half() || type.is_float8()) || elements <= kValues) {
    const ir::interp::WriteFn write = ir::interp::write_function(type);
    in_chunks(elements, [&](size_t begin, size_t end, size_t) {
      support::Rng own = rng;
      own.skip(begin);  // each value is made of one number
      for (size_t i = begin; i < end; ++i)
        write(array, static_cast<int64_t>(i), ir::interp::value_of(random_value(type, range, own), type));
    });
    return rng.skip(elements);
  }
  const auto size = static_cast<size_t>(type.bytes());
  std::vector<std::byte> values(kValues * size);
  fill(values.data(), kValues, type, range, rng);
  in_chunks(elements, [&](size_t begin, size_t end, size_t) {
    support::Rng own = rng;
    own.skip(begin);
    for (size_t i = begin; i < end; ++i) std::memcpy(array + i * size, values.data() + own.below(kValues) * size, size);
  });
  rng.skip(elements);
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
  const auto elements = static_cast<size_t>(arg.elements());
  std::vector<double> largest((elements + kChunk - 1) / kChunk);
  in_chunks(elements, [&](size_t begin, size_t end, size_t chunk) {
    double most = 0;
    for (size_t i = begin; i < end; ++i) {
      const double v = std::fabs(ir::interp::number_of(read(contents, static_cast<int64_t>(i)), arg.dtype));
      if (std::isfinite(v)) most = std::max(most, v);
    }
    largest[chunk] = most;
  });
  return largest.empty() ? 0 : rtol * std::ranges::max(largest);
}

}  // namespace tw::runtime
