#include "src/runtime/large_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "src/support/scratch_alignment.h"

namespace tw::runtime {

LargeMemory large_memory(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool huge = bytes >= kHugePage;
  const size_t alignment = huge ? kHugePage : size_t{kScratchAlignment};
  const size_t total = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const data = std::aligned_alloc(alignment, total);
  if (data == nullptr) return {};
  if (huge) madvise(data, total, MADV_HUGEPAGE);
  return {data, total};
}

}  // namespace tw::runtime
