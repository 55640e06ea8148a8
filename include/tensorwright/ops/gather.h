// Elements by indices that are data. Indices are integers. What an index outside 0..n means is said by `mode`: "clip"
// takes the nearest inside, "wrap" counts modulo n, "fast" leaves it to the caller, and reading elsewhere is what may
// happen. Errors: kExpr for shapes and axes, kDType, kArgument for options.
#pragma once

#include "tensorwright/ops/number.h"
#include "tensorwright/te.h"

namespace tw::te::ops {

struct TakeOptions {
  int64_t axis = 0;
  std::string mode = "clip";
  std::string name = "take";
  void fields(auto&& f) { f("axis", axis), f("mode", mode), f("name", name); }
};
// out[.., i.., ..] = x[.., indices[i..], ..]: the shape of `indices` in the place of the axis, as in NumPy.
Tensor take(const Tensor& x, const Tensor& indices, TakeOptions = {},
            SourceLine where = std::source_location::current());

struct GatherOptions {
  int64_t axis = 0;
  std::string mode = "clip";
  std::string name = "gather";
  void fields(auto&& f) { f("axis", axis), f("mode", mode), f("name", name); }
};
// out[i, j, k] = x[indices[i, j, k], j, k] (axis 0): one index for each element, as torch.gather. `indices` has the
// rank of x, and along other axes at most its extents.
Tensor gather(const Tensor& x, const Tensor& indices, GatherOptions = {},
              SourceLine where = std::source_location::current());

struct EmbeddingOptions {
  std::string mode = "clip";
  std::string name = "embedding";
  void fields(auto&& f) { f("mode", mode), f("name", name); }
};
// out[i.., j] = table[indices[i..], j]: rows of a table [rows, columns].
Tensor embedding(const Tensor& indices, const Tensor& table, EmbeddingOptions = {},
                 SourceLine where = std::source_location::current());

struct OneHotOptions {
  int64_t depth = 0;
  Number on = 1, off = 0;
  int64_t axis = -1;  // of the result, the new one
  std::string dtype = "float32";
  std::string name = "one_hot";
  void fields(auto&& f) {
    f("depth", depth), f("on", on), f("off", off), f("axis", axis), f("dtype", dtype), f("name", name);
  }
};
// out[i.., j] = on where indices[i..] is j, else off.
Tensor one_hot(const Tensor& indices, OneHotOptions, SourceLine where = std::source_location::current());

}  // namespace tw::te::ops
