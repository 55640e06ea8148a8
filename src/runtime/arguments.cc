#include "src/runtime/arguments.h"

#include <cstring>

namespace tw::runtime {

std::vector<size_t> argument_offsets(const std::vector<ArgSpec>& specs) {
  std::vector<size_t> offsets = {0};
  for (const ArgSpec& spec : specs) offsets.push_back((offsets.back() + spec.bytes() + 63) / 64 * 64);
  return offsets;
}

Blob arguments_blob(const std::vector<ArgSpec>& specs, const std::vector<const void*>& data) {
  const std::vector<size_t> offsets = argument_offsets(specs);
  Draft draft(offsets.back());
  for (size_t i = 0; i < specs.size(); ++i)
    if (const size_t bytes = specs[i].bytes(); bytes > 0) std::memcpy(draft.data() + offsets[i], data[i], bytes);
  return std::move(draft).finish();
}

}  // namespace tw::runtime
