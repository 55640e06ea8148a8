// The little language in which golden tests declare and schedule tensor expressions. One line each, in this order:
//
//   te: A = placeholder((70, 4), f32); k = reduce_axis(0, 4)     definitions, separated by ; or lines; f32, int8, ...
//   default f32
//       B = compute((70,), i => sum(A[i, k] * 2.0, axis=k))       (i, j) => ... for more dimensions, () => ... for none
//   B.split(i, 16, tail=mask) -> io, ii                           Steps; the names after -> stand for i.o and i.i from
//   here on B.cache_write(local) -> BL                                    or for the new stage outputs: B default: the
//   stages that nobody reads args: A, B                                                    default: placeholders, then
//   outputs show: schedule                                                schedule (the nest), steps, json; default:
//   the loop program lower: vectorize                                              the loop program after the pipeline
//   up to this pass; `all` target: llvm -mcpu=x86-64-v3                                  for lower; this is the default
//
// Expressions: + - * / // % comparisons and or not, 2 is an index or an int32, 2.0 a float32, f64(x) casts, the
// functions of te, and sum prod max min with axis=k or axis=[k, l] for reductions.
#pragma once

#include <string>
#include <vector>

namespace tw::golden {

struct Line {
  int number;
  std::string text;
};

// What the text shows, or the error that it ends in. `file` stands in the errors. Throws std::runtime_error when the
// text itself is malformed.
std::string run_te(const std::string& file, const std::vector<Line>& lines);

}  // namespace tw::golden
