// Operators on whole tensors: A + B and A * 2 are computes of one element each, over shapes that fit as in NumPy.
#include "python/bind/te_whole.h"

#include "python/bind/vectors.h"
#include "te/ops/broadcast.h"
#include "tensorwright/te.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using ir::Expr;
using te::Tensor;

// An operand: a tensor that is read at a point, or one value for all points.
struct Operand {
  Tensor tensor;
  Expr value;

  Expr at(const std::vector<Expr>& point) const {
    return tensor ? tensor(te::ops::broadcast_at(tensor, point)) : value;
  }
};

Operand operand(py::handle given) {
  if (py::isinstance<Tensor>(given)) return {given.cast<Tensor>(), {}};
  return {{}, to_expr(given)};
}

// Of all operands: lanes and elements broadcast by different rules.
int common_lanes(const te::ops::Site& site, const std::vector<std::pair<std::string, Tensor>>& tensors) {
  const Tensor& first = tensors.front().second;
  for (const auto& [name, tensor] : tensors)
    if (lanes_of(tensor.op()) != lanes_of(first.op()))
      throw Error(Diagnostic{ErrorKind::kDType,
                             site.op + ": expected tensors of as many lanes, not " + first.name() + " of " +
                                 shown_dtype(first) + " and " + name + " of " + shown_dtype(tensor),
                             site.where,
                             {"te.compute says which element meets which"}});
  return lanes_of(first.op());
}

}  // namespace

bool whole(py::handle value) { return !Defining::now() && py::isinstance<Tensor>(value); }

py::object elementwise(const std::string& name, const std::vector<py::object>& given,
                       const std::function<Expr(const std::vector<Expr>&)>& apply) {
  const te::ops::Site site{name, user_line()};
  std::vector<Operand> operands;
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const py::object& one : given) {
    operands.push_back(operand(one));
    if (const Tensor& tensor = operands.back().tensor) tensors.emplace_back(tensor.name(), tensor);
  }
  const int lanes = common_lanes(site, tensors);
  const Defining element;
  const Lanes vectors(ir::Var("lane"), lanes);
  const auto body = [&](const std::vector<ir::Var>& axes) {
    const std::vector<Expr> point(axes.begin(), axes.end());
    std::vector<Expr> values;
    for (const Operand& one : operands) values.push_back(one.at(point));
    return apply(values);
  };
  std::vector<Expr> shape = te::ops::broadcast_shape(site, tensors);
  std::vector<std::string> names;
  for (size_t d = 0; d < shape.size(); ++d) names.push_back("ax" + std::to_string(d));
  const Tensor made = te::compute(std::move(shape), body, "T_" + name, std::move(names), site.where);
  annotate(made.op(), tensors.size() > 1 ? "broadcast" : "elemwise", "");
  if (vectors.count() != lanes)
    throw Error(Diagnostic{ErrorKind::kDType,
                           name + ": the elements of " + operands[0].tensor.name() + " must have " +
                               std::to_string(vectors.count()) + " lanes, and are of " +
                               shown_dtype(operands[0].tensor),
                           site.where,
                           {"te.compute with .astype on an element gives it lanes"}});
  set_lanes(made.op(), lanes);
  return py::cast(made);
}

}  // namespace tw::bind
