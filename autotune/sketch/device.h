// Pieces of a device's schedules that several rules share: blocks, threads, and what a thread does.
#pragma once

#include <string>
#include <vector>

#include "autotune/sketch/sketch.h"

namespace tw::autotune::sketch {

// Every iteration of `loops`, from the outside in, is one of a block's threads; `last`, if any, is a vector that one
// thread takes.
void bind_flat(Sketch&, const std::string& stage, const std::vector<std::string>& loops, schedule::Factor threads,
               const std::string& last = {});
void bind_loop(Sketch&, const std::string& stage, const std::string& loop, const char* index);

// The rules for devices, each in a file of its own.
std::optional<Group> match_device_contraction(const Graph&, int root), match_device_rows(const Graph&, int root),
    match_device_reduction(const Graph&, int root), match_device_pointwise(const Graph&, int root);
void apply_device_contraction(Sketch&, const Group&), apply_device_rows(Sketch&, const Group&),
    apply_device_reduction(Sketch&, const Group&), apply_device_pointwise(Sketch&, const Group&);

}  // namespace tw::autotune::sketch
