// Pieces of a schedule that several rules share: loops by name, and sums in vectors.
#pragma once

#include <string>
#include <vector>

#include "autotune/sketch/sketch.h"

namespace tw::autotune::sketch {

inline constexpr double kParallelWork = 20'000;  // operations below which threads cost more than they give

// The loops of a stage as they now stand, from the outside in.
std::vector<std::string> data_loops(const schedule::Schedule&, const std::string& stage);
std::vector<std::string> sum_loops(const schedule::Schedule&, const std::string& stage);

int64_t lanes_of(const Stage&, const Target&);  // of its elements in a register, at least 1
int64_t extents(const std::vector<Axis>&);      // their product
// The read that touches most elements while the stage runs; null where it reads nothing.
const Access* main_read(const Stage&);

// `values` that are at most `limit`, at least 1, each once; `limit` where none is.
std::vector<int64_t> up_to(int64_t limit, const std::vector<int64_t>& values);

// Whether rfactor may make its terms an axis: not in the body of a scan, where time is the first one.
inline bool gives_parts(const Stage& stage) { return stage.scan < 0; }

// Applies Rfactor, and gives the name of the stage that it makes.
std::string rfactor(Sketch&, const std::string& stage, const std::string& axis, int64_t factor_axis);

// Numbers of partial results with which a sum of so many terms is worth trying: powers of two, the mildest first.
std::vector<int64_t> sum_widths(int64_t terms, int64_t lanes);

struct Place {
  std::string consumer, axis;
};

//   for i: for k: S[i] += A[i, k]     ==>     for k.o: for i unrolled: vectorized k.i in 0..width: S[i] += A[i, k]
//
// Computes `stage`, a reduction, inside `at`: `width` partial results side by side. Several vectors, so that no
// operation waits for the one before; the few iterations of the data loops `together` at a time, which share what they
// read.
void sum_in_vectors(Sketch&, const std::string& stage, const Place& at, int64_t width,
                    const std::vector<std::string>& together);

}  // namespace tw::autotune::sketch
