// Which records a kernel of any size is frozen by: of each size that was tuned the best.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autotune/frozen/record_choice.h"
#include "tensorwright/aot.h"

namespace tw::aot {

struct SizeTable {
  std::string size;
  std::vector<std::pair<std::string, int64_t>> others;  // sizes that vary too, and where they were
  std::vector<FrozenRange> sizes;                       // ascending, with the best of each
};

// What a log has of a computation of any size, by its hash; nothing where that is nothing. `hardware` and `threads` as
// of RecordChoice::best, the same for all sizes: without `threads` the most that any has. Throws kLog, also for a size
// of which all candidates failed, and for a computation that was tuned by several, or with others elsewhere.
std::optional<SizeTable> size_table(const std::string& log, const std::string& hash, const Target& target,
                                    const std::string& hardware, int threads);
// Neighbours of equal Steps are one range, with the record of its largest size. The last one is for all beyond, too.
std::vector<FrozenRange> joined(const std::vector<FrozenRange>& sizes);

}  // namespace tw::aot
