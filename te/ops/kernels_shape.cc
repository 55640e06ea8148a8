// Reductions and moves of elements by name: sum and its like, argmax, cumsum, transpose, concat, embedding.
#include "te/ops/kernels.h"
#include "tensorwright/ops/cumulative.h"
#include "tensorwright/ops/gather.h"
#include "tensorwright/ops/reduction.h"
#include "tensorwright/ops/shape.h"

namespace tw::te::ops {
namespace {

// clang-format off: a table
const Parameter kShape{"shape", "of the operand, as 32x128x56x56"}, kDtype{"dtype", "of the operand", "float32"},
    kAxes{"axis", "axes to reduce over, as 1 or 0x2; all: all", "all"}, kAxis{"axis", "the axis; negative from the end", "-1"};
// clang-format on

Tensor operand(const Values& v, const char* name = "X") {
  const std::vector<int64_t> extents = v.list("shape");
  return placeholder({extents.begin(), extents.end()}, v.text("dtype"), name);
}

template <class Options>
using Operator = Tensor (*)(const Tensor&, Options, SourceLine);

template <class Options>
StockKernel reduction(const char* name, const char* summary, Operator<Options> f) {
  return {name, summary, {kShape, kAxes, kDtype}, [f](const Values& v) {
            const Tensor x = operand(v);
            Options options;
            if (v.text("axis") != "all") options.axis = v.list("axis");
            return std::vector<Tensor>{x, f(x, options, std::source_location::current())};
          }};
}

template <class Options>
StockKernel along(const char* name, const char* summary, Operator<Options> f) {
  return {name, summary, {kShape, kAxis, kDtype}, [f](const Values& v) {
            const Tensor x = operand(v);
            Options options;
            options.axis = v.integer("axis");
            return std::vector<Tensor>{x, f(x, options, std::source_location::current())};
          }};
}

std::vector<Tensor> transposed(const Values& v) {
  const Tensor x = operand(v);
  TransposeOptions options;
  if (v.text("axes") != "reverse") options.axes = v.list("axes");
  return {x, transpose(x, options)};
}

std::vector<Tensor> joined(const Values& v) {
  std::vector<Tensor> args;
  for (int64_t i = 0; i < v.extent("count"); ++i) args.push_back(operand(v, ("X" + std::to_string(i)).c_str()));
  args.push_back(concat(args, {.axis = v.integer("axis")}));
  return args;
}

std::vector<Tensor> embedded(const Values& v) {
  const Tensor indices = placeholder({v.extent("M")}, "int64", "indices");
  const Tensor table = placeholder({v.extent("rows"), v.extent("N")}, v.text("dtype"), "table");
  return {indices, table, embedding(indices, table)};
}

}  // namespace

std::vector<StockKernel> shape_kernels() {
  return {reduction<ReduceOptions>("sum", "the sum over axes", sum),
          reduction<AxisOptions>("mean", "the mean over axes", mean),
          reduction<AxisOptions>("max", "the largest number over axes", max),
          reduction<AxisOptions>("min", "the smallest number over axes", min),
          reduction<AxisOptions>("logsumexp", "log(sum(exp(X))) over axes", logsumexp),
          reduction<VarianceOptions>("var", "the variance over axes", variance),
          along<ArgOptions>("argmax", "the index of the largest number along an axis", argmax),
          along<CumulativeOptions>("cumsum", "running sums along an axis", cumsum),
          {"transpose",
           "axes in another order",
           {kShape, {"axes", "as 0x2x1; reverse: all in reverse", "reverse"}, kDtype},
           transposed},
          {"concat", "tensors of one shape along an axis", {kShape, {"count", "how many", "2"}, kAxis, kDtype}, joined},
          {"embedding",
           "rows of a table by index",
           {{"M", "indices"},
            {"N", "columns of the table"},
            {"rows", "of the table"},
            {"dtype", "of the table", "float32"}},
           embedded}};
}

}  // namespace tw::te::ops
