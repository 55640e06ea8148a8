// compute: a tensor by its definition.
#include <unordered_set>

#include "src/ir/walk.h"
#include "te/check_body.h"
#include "te/operation.h"
#include "te/promote.h"
#include "te/refuse.h"
#include "tensorwright/te.h"

namespace tw::te {
namespace {

// An error inside the body that knows no line of its own stands at the compute.
Expr definition(const std::function<Expr(const std::vector<Var>&)>& body, const std::vector<Var>& axes,
                const SourceLine& where) {
  try {
    return body(axes);
  } catch (const Error& e) {
    if (e.diagnostic().where.known()) throw;
    Diagnostic placed = e.diagnostic();
    placed.where = where;
    throw Error(std::move(placed));
  }
}

std::vector<Tensor> tensors_read(const Expr& body) {
  std::vector<Tensor> inputs;
  std::unordered_set<uint64_t> seen;
  ir::walk(body, [&](const Expr& e) {
    if (const auto* load = ir::as<ir::Load>(e)) {
      const Operation op = producer(load->buffer);
      if (op && seen.insert(load->buffer.id()).second) inputs.push_back(tensor_of(load->buffer));
    }
    return true;
  });
  return inputs;
}

}  // namespace

Tensor compute(std::vector<Expr> shape, const std::function<Expr(const std::vector<Var>&)>& body, std::string name,
               std::vector<std::string> axis_names, SourceLine where) {
  if (name.empty()) name = "compute";
  const std::string what = name == "compute" ? name : "compute " + name;
  auto node = make_operation(name, where);
  const std::vector<Expr> extents = checked_shape(what, shape, where);
  static const char* const kAxisNames[] = {"i", "j", "k", "l", "m", "n"};
  Compute c;
  std::vector<Var> axes;
  for (size_t d = 0; d < extents.size(); ++d) {
    axes.emplace_back(d < axis_names.size() ? axis_names[d] : kAxisNames[d]);
    c.axis.push_back({axes.back(), 0, extents[d], false});
  }
  Expr value = definition(body, axes, where);
  if (!value) refuse(ErrorKind::kExpr, what + ": the function must return an expression", {}, where);
  c.bodies = {as_data(std::move(value))};
  if (const auto* r = ir::as<ir::Reduce>(c.body())) {
    for (const ir::ReduceAxis& a : r->axes) c.reduce_axis.push_back({a.var, a.min, a.extent, true});
  }
  check_body(what, c, where);
  node->inputs = tensors_read(c.body());
  node->outputs = {{c.body().type(), extents, Buffer::fresh_id(), node->name}};
  node->kind = std::move(c);
  return Tensor(Operation(std::move(node)), 0);
}

}  // namespace tw::te
