// compute: a tensor by its definition.
#include <unordered_set>

#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/promote.h"
#include "tensorwright/te.h"

namespace tw::te {

Tensor compute(std::vector<Expr> shape, const std::function<Expr(const std::vector<Var>&)>& body, std::string name,
               std::vector<std::string> axis_names, SourceLine where) {
  auto node = std::make_shared<OpNode>();
  node->id = ir::Buffer::fresh_id();
  node->buffer_id = ir::Buffer::fresh_id();
  node->name = std::move(name);
  node->where = std::move(where);
  Compute c;
  std::vector<Var> vars;
  for (size_t d = 0; d < shape.size(); ++d) {
    node->shape.push_back(ir::simplify(as_index(shape[d])));
    vars.emplace_back(d < axis_names.size() ? axis_names[d] : "ax" + std::to_string(d));
    c.axis.push_back({vars.back(), 0, node->shape.back(), false});
  }
  c.body = as_data(body(vars));
  if (const auto* r = ir::as<ir::Reduce>(c.body)) {
    for (const ir::ReduceAxis& a : r->axes) c.reduce_axis.push_back({a.var, a.min, a.extent, true});
  }
  node->dtype = c.body.type();
  std::unordered_set<uint64_t> seen;
  ir::walk(c.body, [&](const Expr& e) {
    if (const auto* l = ir::as<ir::Load>(e)) {
      Operation op = producer(l->buffer);
      if (op && seen.insert(l->buffer.id()).second) node->inputs.push_back(op.output());
    }
    return true;
  });
  node->kind = std::move(c);
  return Tensor(Operation(std::move(node)), 0);
}

}  // namespace tw::te
