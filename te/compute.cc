// compute: a tensor by its definition.
#include <unordered_set>

#include "src/ir/walk.h"
#include "te/check_body.h"
#include "te/dependent_axes.h"
#include "te/operation.h"
#include "te/promote.h"
#include "te/refuse.h"
#include "tensorwright/te.h"

namespace tw::te {
namespace {

using Definition = std::function<std::vector<Expr>(const std::vector<Var>&)>;

// An error inside the body that knows no line of its own stands at the compute.
std::vector<Expr> definition(const Definition& body, const std::vector<Var>& axes, const SourceLine& where) {
  try {
    return body(axes);
  } catch (const Error& e) {
    if (e.diagnostic().where.known()) throw;
    Diagnostic placed = e.diagnostic();
    placed.where = where;
    throw Error(std::move(placed));
  }
}

std::vector<Tensor> tensors_read(const std::vector<Expr>& bodies) {
  std::vector<Tensor> inputs;
  std::unordered_set<uint64_t> seen;
  for (const Expr& body : bodies)
    ir::walk(body, [&](const Expr& e) {
      if (const auto* load = ir::as<ir::Load>(e)) {
        const Operation op = producer(load->buffer);
        if (op && seen.insert(load->buffer.id()).second) inputs.push_back(tensor_of(load->buffer));
      }
      return true;
    });
  return inputs;
}

std::string axis_name(size_t dimension) {
  static constexpr const char* kLetters[] = {"i", "j", "k", "l", "m", "n"};
  return dimension < std::size(kLetters) ? kLetters[dimension] : "ax" + std::to_string(dimension);
}

std::vector<Tensor> define(std::vector<Expr> shape, const Definition& body, std::string name,
                           const std::vector<std::string>& axis_names, const SourceLine& where, bool padding) {
  if (name.empty()) name = "compute";
  const std::string what = name == "compute" ? name : "compute " + name;
  auto node = make_operation(name, where);
  const std::vector<Expr> extents = checked_shape(what, shape, where);
  Compute c;
  c.padding = padding;
  std::vector<Var> axes;
  for (size_t d = 0; d < extents.size(); ++d) {
    axes.emplace_back(d < axis_names.size() ? axis_names[d] : axis_name(d));
    c.axis.push_back({axes.back(), 0, extents[d], false});
  }
  c.bodies = definition(body, axes, where);
  if (c.bodies.empty())
    refuse(ErrorKind::kExpr, what + ": the function must return at least one expression", {}, where);
  for (Expr& value : c.bodies) {
    if (!value) refuse(ErrorKind::kExpr, what + ": the function must return an expression", {}, where);
    value = as_data(std::move(value));
  }
  bound_reduce_axes(what, c.axis, c.bodies, where);
  if (const auto* r = ir::as<ir::Reduce>(c.body())) {
    for (const ir::ReduceAxis& a : r->axes) c.reduce_axis.push_back({a.var, a.min, a.extent, true});
  }
  note_reads(*node, check_body(what, c, where));
  node->inputs = tensors_read(c.bodies);
  for (size_t i = 0; i < c.bodies.size(); ++i)
    node->outputs.push_back({c.bodies[i].type(), extents, Buffer::fresh_id(),
                             c.bodies.size() == 1 ? node->name : node->name + ".v" + std::to_string(i)});
  node->kind = std::move(c);
  const Operation op(std::move(node));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < op->outputs.size(); ++i) outputs.push_back(op.output(i));
  return outputs;
}

}  // namespace

Tensor compute(std::vector<Expr> shape, const std::function<Expr(const std::vector<Var>&)>& body, std::string name,
               std::vector<std::string> axis_names, SourceLine where) {
  const auto one = [&](const std::vector<Var>& axes) { return std::vector<Expr>{body(axes)}; };
  return define(std::move(shape), one, std::move(name), axis_names, where, false)[0];
}

std::vector<Tensor> compute_tuple(std::vector<Expr> shape, const Definition& body, std::string name,
                                  std::vector<std::string> axis_names, SourceLine where, bool padding) {
  return define(std::move(shape), body, std::move(name), axis_names, where, padding);
}

}  // namespace tw::te
