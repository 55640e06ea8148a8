// A template whose candidates are many and quick: for tests of what surrounds them.
#pragma once

#include "tensorwright/autotune.h"

namespace tw::autotune {

// y[i] = x[i] * 2, split twice.
inline Task vector_task() {
  const auto twice = [](Config& cfg) {
    const te::Tensor x = te::placeholder({1000}, "float32", "x");
    const te::Tensor y = te::compute({1000}, [&](te::Var i) { return x(i) * te::constant(2, "float32"); }, "y");
    schedule::Schedule s({y});
    cfg.define_split("tile", 1000, {.outputs = 3, .policy = SplitPolicy::kVerbose});
    cfg.apply_split("tile", s, "y", "i");
    return Scheduled{s, {x, y}};
  };
  return Task("twice", "[]", twice, Target::host());
}

}  // namespace tw::autotune
