// The little language in which golden tests declare and schedule tensor expressions. One line each, in this order:
//
//   te: A = placeholder((70, 4), f32); k = reduce_axis(0, 4)
//       B = compute((70,), i => sum(A[i, k] * 2.0, axis=k))
//   B.split(i, 16, tail=mask) -> io, ii
//   B.cache_write(local) -> BL
//   outputs: B
//   args: A, B
//   show: schedule
//   lower: vectorize
//   target: llvm -mcpu=x86-64-v3
//
// Definitions are separated by ; or lines; n = var(int32) is an extent that the shapes give; dtypes are f32 (the
// default), int8, ...; (i, j) => ... for more dimensions,
// () => ... for none; padding(..) is a compute of zeros around a tensor, as te::ops makes. Then Steps: the names after -> stand for i.o and i.i from there on, or for the new stage. What
// follows is optional. outputs: by default the stages that nobody reads. args: by default placeholders, then outputs.
// show: the nest (schedule), the Steps (steps, json) or what it means for a machine (explain); by default the loop
// program, with `lower` as it is after the pipeline up to this pass or `all` of it, for the target shown here if no
// other is given.
//
// Expressions: + - * / // % comparisons and or not, 2 is an index or an int32, 2.0 a float32, f64(x) casts, the
// functions of te, and sum prod max min with axis=k or axis=[k, l] for reductions.
#pragma once

#include <string>
#include <vector>

#include "tensorwright/te.h"

namespace tw::golden {

struct Line {
  int number;
  std::string text;
};

// What the text shows, or the error that it ends in. `file` stands in the errors. Throws std::runtime_error when the
// text itself is malformed.
std::string run_te(const std::string& file, const std::vector<Line>& lines);

// The arguments of a text without Steps.
std::vector<te::Tensor> te_arguments(const std::vector<Line>& lines);

}  // namespace tw::golden
