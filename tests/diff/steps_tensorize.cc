// Proposals of tensor intrinsics.
#include "tensorwright/tensor_intrin.h"
#include "tests/diff/sample_steps.h"

namespace tw::diff {

// Whether the loops are those of an intrinsic is for the matcher to find out. The reduction may have to go outside
// first.
void tensorize(Stepper& s, const std::string& name) {
  if (!s.stage(name).is_reduction() || s.stage(name).leaves.size() < 2) return;
  const auto leaf = [&](size_t from_end) {
    const StageNest& stage = s.stage(name);
    return stage.axes[stage.leaves[stage.leaves.size() - from_end]].name;
  };
  for (const char* key : {"avx512_vnni_dot_16x4", "avx512_bf16_dot_16x2"})
    if (s.may(Tensorize{name, leaf(2), key})) return;
  if (s.may(Reorder{name, {leaf(1), leaf(2)}})) s.may(Tensorize{name, leaf(1), "fma_16"});
}

}  // namespace tw::diff
