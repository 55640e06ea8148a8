// The graph of operations, and the naive program that runs it as written.
#include <unordered_set>

#include "src/ir/simplify.h"
#include "tensorwright/te.h"

namespace tw::te {

std::vector<Operation> topological_order(const std::vector<Tensor>& outputs) {
  std::vector<Operation> order;
  std::unordered_set<const OpNode*> seen;
  std::vector<std::pair<Operation, size_t>> stack;
  for (const Tensor& t : outputs) {
    if (!seen.insert(&*t.op()).second) continue;
    stack.push_back({t.op(), 0});
    while (!stack.empty()) {
      auto& [op, next] = stack.back();
      if (next < op->inputs.size()) {
        Operation in = op->inputs[next++].op();
        if (seen.insert(&*in).second) stack.push_back({in, 0});
      } else {
        order.push_back(op);
        stack.pop_back();
      }
    }
  }
  return order;
}

ir::Program naive_program(const std::vector<Tensor>& outputs, const std::vector<Tensor>& args, std::string name) {
  ir::Program p;
  p.name = std::move(name);
  std::unordered_set<uint64_t> params;
  for (const Tensor& t : args) {
    p.params.push_back({t.buffer(), !t.op()->is_placeholder()});
    params.insert(t.buffer().id());
  }
  std::vector<ir::Stmt> stmts;
  std::vector<Buffer> scratch;
  for (const Operation& op : topological_order(outputs)) {
    const Compute* c = op->compute();
    if (!c) continue;
    Buffer b = op.output().buffer();
    if (!params.contains(b.id())) scratch.push_back(b);
    std::vector<Expr> at;
    for (const IterVar& a : c->axis) at.push_back(a.var);
    ir::Stmt s = ir::store(b, at, c->body);
    for (size_t d = c->axis.size(); d-- > 0;) s = ir::loop(c->axis[d].var, c->axis[d].extent, s);
    stmts.push_back(s);
  }
  ir::Stmt body = ir::seq(std::move(stmts));
  for (size_t i = scratch.size(); i-- > 0;) {
    ir::BufferNode node = *scratch[i].operator->();
    node.scope = ir::Scope::kGlobal;
    body = ir::allocate(Buffer(std::move(node)), body);
  }
  p.body = body;
  return p;
}

}  // namespace tw::te
