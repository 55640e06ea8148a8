// Operators that move elements and calculate nothing: any dtype but those for storage, which pads and choices do not
// take. Errors: kExpr for shapes and axes, kArgument for options, kDType. An empty `name` is that of the operator.
#pragma once

#include "tensorwright/ops/number.h"
#include "tensorwright/te.h"

namespace tw::te::ops {

struct TransposeOptions {
  std::vector<int64_t> axes = {};  // which axis of x each one of the result is; empty: all in reverse
  std::string name = "transpose";
  void fields(auto&& f) { f("axes", axes), f("name", name); }
};
// out[i0, i1, ..] = x[..] where axis d of the result is axis axes[d] of x.
Tensor transpose(const Tensor& x, TransposeOptions = {}, SourceLine where = std::source_location::current());

struct ReshapeOptions {
  std::vector<int64_t> shape = {};  // one of them may be -1: what is left
  std::string name = "reshape";
  void fields(auto&& f) { f("shape", shape), f("name", name); }
};
// The same elements in the same row-major order.
Tensor reshape(const Tensor& x, ReshapeOptions, SourceLine where = std::source_location::current());

struct BroadcastOptions {
  std::vector<int64_t> shape = {};
  std::string name = "broadcast_to";
  void fields(auto&& f) { f("shape", shape), f("name", name); }
};
// As in NumPy: dimensions of 1, and those missing in front, are repeated.
Tensor broadcast_to(const Tensor& x, BroadcastOptions, SourceLine where = std::source_location::current());

struct JoinOptions {
  int64_t axis = 0;
  std::string name = {};
  void fields(auto&& f) { f("axis", axis), f("name", name); }
};
// One behind the other along an axis; all other extents, and dtypes, agree.
Tensor concat(const std::vector<Tensor>& xs, JoinOptions = {}, SourceLine where = std::source_location::current());
// Along a new axis of the result; shapes and dtypes agree.
Tensor stack(const std::vector<Tensor>& xs, JoinOptions = {}, SourceLine where = std::source_location::current());

struct SplitOptions {
  int64_t sections = 0;          // so many equal parts, or
  std::vector<int64_t> at = {};  // where parts begin, but for the first; increasing
  int64_t axis = 0;
  std::string name = "split";
  void fields(auto&& f) { f("sections", sections), f("at", at), f("axis", axis), f("name", name); }
};
// Parts along an axis whose extent is known, as numpy.split; named name0, name1, ....
std::vector<Tensor> split(const Tensor& x, SplitOptions, SourceLine where = std::source_location::current());

struct SliceOptions {
  std::vector<int64_t> begin = {}, end = {};  // one for each axis, the first ones; from the end where negative
  std::vector<int64_t> strides = {};          // empty: 1; negative ones go backwards
  std::string name = "strided_slice";
  void fields(auto&& f) { f("begin", begin), f("end", end), f("strides", strides), f("name", name); }
};
// x[begin:end:stride, ...] as in Python: ends beyond the tensor are cut; INT64_MIN in `end` with a negative stride goes
// through to the first element. The sliced axes have known extents.
Tensor strided_slice(const Tensor& x, SliceOptions, SourceLine where = std::source_location::current());

struct PadOptions {
  std::vector<int64_t> before = {}, behind = {};  // one for each axis, or for the last ones
  std::string mode = "constant";                  // "reflect": mirrored at the edge element; "edge": it is repeated;
                                                  // "wrap": all are repeated, as on a circle
  Number value = 0;                               // of the padding that is constant
  std::string name = "pad";
  void fields(auto&& f) {
    f("before", before), f("behind", behind), f("mode", mode), f("value", value), f("name", name);
  }
};
// Elements around x. Reflected are at most extent - 1 of them, and repeated edges need one element.
Tensor pad(const Tensor& x, PadOptions, SourceLine where = std::source_location::current());

struct WhereOptions {
  std::string name = "where";
  void fields(auto&& f) { f("name", name); }
};
// a where `condition` (bool) holds, else b. All three are repeated as by broadcast_to; a and b have one dtype.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, WhereOptions = {},
             SourceLine line = std::source_location::current());

}  // namespace tw::te::ops
