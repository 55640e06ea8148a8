// The graph of operations, and the naive program that runs it as written.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "src/ir/walk.h"
#include "src/support/deep_stack.h"
#include "te/read_notes.h"
#include "te/refuse.h"
#include "te/scan.h"
#include "te/statements.h"
#include "tensorwright/te.h"

namespace tw::te {

std::vector<Operation> topological_order(const std::vector<Tensor>& outputs) {
  std::vector<Operation> order;
  std::unordered_set<const OpNode*> seen;
  std::vector<std::pair<Operation, size_t>> stack;
  const auto visit = [&](const Operation& op) {
    if (!seen.insert(&*op).second) return;
    if (const Scan* scan = op->scan())  // its states are names of its own outputs
      for (const Tensor& state : scan->state) seen.insert(&*state.op());
    stack.push_back({op, 0});
  };
  for (const Tensor& t : outputs) {
    visit(t.op());
    while (!stack.empty()) {
      auto& [op, next] = stack.back();
      if (next < op->inputs.size()) {
        const Operation in = op->inputs[next++].op();
        visit(in);
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
Buffer declared(const Tensor& t, ir::Scope scope) {
  ir::BufferNode node = *t.buffer().operator->();
  node.scope = scope;
  node.origin = nullptr;
  return Buffer(std::move(node));
}

std::vector<ir::Param> parameters(const std::vector<Tensor>& args, ir::BufferMap& buffers) {
  std::vector<ir::Param> params;
  for (const Tensor& t : args) {
    const Buffer buffer = declared(t, ir::Scope::kArgument);
    if (!buffers.emplace(buffer.id(), buffer).second)
      refuse(ErrorKind::kArgument, "args: each tensor must be named once, not " + t.name() + " twice");
    const auto* input = std::get_if<Placeholder>(&t.op()->kind);
    params.push_back({buffer, input == nullptr, {}, input ? input->range : std::nullopt});
  }
  return params;
}

void check_arguments(const std::vector<Operation>& order, const std::vector<Tensor>& outputs,
                     const ir::BufferMap& params) {
  const auto missing = [&](const OpNode& op) {  // of several outputs, those that nobody asked for are scratch
    return std::none_of(op.outputs.begin(), op.outputs.end(),
                        [&](const Output& output) { return params.contains(output.buffer_id); });
  };
  for (const Tensor& t : outputs)
    if (missing(*t.op())) refuse(ErrorKind::kArgument, "args: output " + t.name() + " must be among them");
  for (const Operation& op : order)
    if (op->is_placeholder() && missing(*op))
      refuse(ErrorKind::kArgument, "args: placeholder " + op->name + " must be among them", {}, op->where);
}

bool inside(const std::vector<ScanBody>& scans, const Operation& op) {
  return std::any_of(scans.begin(), scans.end(), [&](const ScanBody& body) {
    return std::find(body.stages.begin(), body.stages.end(), op) != body.stages.end();
  });
}

void check_written_whole(const std::vector<ScanBody>& scans, const ir::BufferMap& params) {
  for (const ScanBody& body : scans)
    for (const Operation& op : body.stages)
      for (const Output& output : op->outputs)
        if (params.contains(output.buffer_id))
          refuse(ErrorKind::kArgument, "args: " + output.name + " must not be among them",
                 {"it exists inside of the scan " + body.scan->name + " only, from its first update on"}, op->where);
}

ir::Stmt defined(const Operation& op, const std::vector<ScanBody>& scans, const ir::BufferMap& buffers) {
  if (const Compute* c = op->compute()) {
    std::vector<Buffer> to;
    for (const Output& output : op->outputs) to.push_back(buffers.at(output.buffer_id));
    Compute whole = *c;
    if (c->reads_before) whole.bodies = bodies_outside_of_scans(*c);
    return statement(whole, to, buffers);
  }
  if (const Extern* e = op->external()) return statement(*e, buffers);
  for (const ScanBody& body : scans)
    if (body.scan == op) return statement(body, buffers);
  return ir::seq({});
}

}  // namespace

ir::Program naive_program(const std::vector<Tensor>& outputs, const std::vector<Tensor>& args, std::string name,
                          const std::vector<ScalarArgument>& scalars) {
  return support::with_deep_stack([&] {
    ir::Program program{std::move(name), {}, {}};
    ir::BufferMap buffers;
    program.params = parameters(args, buffers);
    std::vector<Tensor> roots = outputs;  // an intermediate or unrelated tensor in args is written out too
    roots.insert(roots.end(), args.begin(), args.end());
    const std::vector<Operation> order = topological_order(roots);
    check_arguments(order, outputs, buffers);
    bind_scalars(program, roots, scalars);
    const std::vector<ScanBody> scans = scan_bodies(order, outputs);
    check_written_whole(scans, buffers);
    std::vector<Buffer> scratch;
    for (const Operation& op : order)
      for (size_t i = 0; i < op->outputs.size() && !op->is_placeholder(); ++i)
        if (const Buffer buffer = declared(op.output(i), ir::Scope::kGlobal);
            buffers.emplace(buffer.id(), buffer).second)
          scratch.push_back(buffer);
    std::vector<ir::Stmt> stages;
    for (const Operation& op : order)
      if (!op->is_placeholder() && !inside(scans, op)) stages.push_back(defined(op, scans, buffers));
    program.body = ir::seq(std::move(stages));
    for (size_t i = scratch.size(); i-- > 0;) program.body = ir::allocate(scratch[i], std::move(program.body));
    add_requirements(program, roots);
    return program;
  });
}

}  // namespace tw::te
