// Sizes and limits: a thread of the pool has a stack that was not made for tensors.
#include "codegen/scratch.h"

namespace tw::codegen {

namespace {

constexpr int64_t kMaxArrayBytes = 64 << 10;
constexpr int64_t kMaxStackBytes = 256 << 10;

}  // namespace

std::optional<int64_t> known_elements(const ir::Buffer& buffer) {
  int64_t elements = 1;
  if (!buffer.strides().empty()) return std::nullopt;
  for (const ir::Expr& extent : buffer.shape()) {
    const auto value = ir::as_int(extent);
    if (!value || __builtin_mul_overflow(elements, *value, &elements)) return std::nullopt;
  }
  return elements;
}

bool fits_on_stack(int64_t bytes, int64_t used) { return bytes <= kMaxArrayBytes && used + bytes <= kMaxStackBytes; }

}  // namespace tw::codegen
