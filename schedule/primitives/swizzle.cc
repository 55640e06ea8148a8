//   alloc P: float32[64, 32] shared          alloc P: float32[64, 32] shared
//   P[i, j] = ...                    ==>     P[i, (j // 4 ^ i % 8) * 4 + j % 4] = ...        // swizzle(128)
//
// Parts of 16 bytes change places within each row, by the row's number: threads that go down a column then find it in
// different banks. `bytes` are those within which parts change places, eight rows of 16 for 128; where a row is shorter
// than all banks are wide, rows beside each other share a number. What the rows are is judged with the whole nest
// (swizzling.cc).

#include <algorithm>

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"

namespace tw::schedule::primitives {

namespace {

struct Width {
  const char* name;
  int64_t bytes;
};
constexpr Width kWidths[] = {{"auto", kAutoSwizzle}, {"none", 0}, {"32", 32}, {"64", 64}, {"128", 128}};

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const Swizzle& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const StageNest& before = nest.stage(stage);
  if (before.output)
    return refuse(step.kName,
                  "stage must be kept in memory that threads share, not be an output, as " + step.stage + " is");
  if (before.layout)
    return refuse(step.kName,
                  "stage must have the dimensions of its definition; transform_layout gave " + step.stage + " others")
           << describe(before);
  const auto* width = std::ranges::find(kWidths, step.bytes, [](const Width& w) { return std::string(w.name); });
  if (width == std::end(kWidths)) {
    std::vector<std::string> names;
    for (const Width& known : kWidths) names.emplace_back(known.name);
    return with_hint(refuse(step.kName, "bytes must be one of " + join(names) + ", not " + step.bytes), step.bytes,
                     names);
  }
  LoopNest next = nest;
  StageNest& changed = next.edit(stage);
  changed.swizzled = width->bytes;
  changed.swizzle_by = nest.steps_applied();
  return next;
}

}  // namespace tw::schedule::primitives
