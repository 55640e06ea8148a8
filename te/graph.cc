// The graph of operations, and the naive program that runs it as written.
#include <unordered_map>
#include <unordered_set>

#include "src/ir/walk.h"
#include "src/support/deep_stack.h"
#include "te/refuse.h"
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

namespace {

// A handle to the tensor's buffer as the program declares it; programs know nothing of te.
Buffer declared(const Operation& op, ir::Scope scope) {
  ir::BufferNode node = *op.output().buffer().operator->();
  node.scope = scope;
  node.origin = nullptr;
  return Buffer(std::move(node));
}

ir::Stmt stage(const Compute& c, const Buffer& to, const ir::BufferMap& buffers) {
  std::vector<Expr> at;
  for (const IterVar& a : c.axis) at.push_back(a.var);
  ir::Stmt s = ir::store(to, std::move(at), ir::replace_buffers(c.body(), buffers));
  for (size_t d = c.axis.size(); d-- > 0;) s = ir::loop(c.axis[d].var, c.axis[d].extent, std::move(s));
  return s;
}

std::vector<ir::Param> parameters(const std::vector<Tensor>& args, ir::BufferMap& buffers) {
  std::vector<ir::Param> params;
  for (const Tensor& t : args) {
    const Buffer buffer = declared(t.op(), ir::Scope::kArgument);
    if (!buffers.emplace(buffer.id(), buffer).second)
      refuse(ErrorKind::kArgument, "args: each tensor must be named once, not " + t.name() + " twice");
    params.push_back({buffer, !t.op()->is_placeholder()});
  }
  return params;
}

void check_arguments(const std::vector<Operation>& order, const std::vector<Tensor>& outputs,
                     const ir::BufferMap& params) {
  const auto missing = [&](const OpNode& op) { return !params.contains(op.buffer_id()); };
  for (const Tensor& t : outputs)
    if (missing(*t.op())) refuse(ErrorKind::kArgument, "args: output " + t.name() + " must be among them");
  for (const Operation& op : order)
    if (op->is_placeholder() && missing(*op))
      refuse(ErrorKind::kArgument, "args: placeholder " + op->name + " must be among them", {}, op->where);
}

}  // namespace

ir::Program naive_program(const std::vector<Tensor>& outputs, const std::vector<Tensor>& args, std::string name) {
  return support::with_deep_stack([&] {
    ir::Program program{std::move(name), {}, {}};
    ir::BufferMap buffers;
    program.params = parameters(args, buffers);
    std::vector<Tensor> roots = outputs;  // an intermediate or unrelated tensor in args is written out too
    roots.insert(roots.end(), args.begin(), args.end());
    const std::vector<Operation> order = topological_order(roots);
    check_arguments(order, outputs, buffers);
    std::vector<Buffer> scratch;
    std::vector<ir::Stmt> stages;
    for (const Operation& op : order) {
      const Compute* c = op->compute();
      if (c == nullptr) continue;
      if (!buffers.contains(op->buffer_id())) {
        scratch.push_back(declared(op, ir::Scope::kGlobal));
        buffers.emplace(op->buffer_id(), scratch.back());
      }
      stages.push_back(stage(*c, buffers.at(op->buffer_id()), buffers));
    }
    program.body = ir::seq(std::move(stages));
    for (size_t i = scratch.size(); i-- > 0;) program.body = ir::allocate(scratch[i], std::move(program.body));
    return program;
  });
}

}  // namespace tw::te
