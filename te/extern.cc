// external: a stage by a statement of the user's.
#include <algorithm>

#include "src/ir/verify.h"
#include "src/ir/walk.h"
#include "te/check_extern.h"
#include "te/check_statement.h"
#include "te/operation.h"
#include "te/refuse.h"
#include "tensorwright/te_extern.h"

namespace tw::te {
namespace {

// The statement as a program of its own, whose rules are known.
ir::Program alone(const OpNode& node, const ir::Stmt& body, std::vector<Buffer> inputs, std::vector<Buffer> outputs) {
  ir::Program program{node.name, {}, body};
  for (const Buffer& b : inputs) program.params.push_back({b, false});
  for (const Buffer& b : outputs) program.params.push_back({b, true});
  std::vector<Var> bound;
  const auto scalars = [&](const Expr& e) {
    ir::walk(e, [&](const Expr& x) {
      const auto* v = ir::as<ir::VarRef>(x);
      if (v && is_scalar(v->var) && std::find(bound.begin(), bound.end(), v->var) == bound.end())
        bound.push_back(v->var);
      return true;
    });
  };
  for (const ir::Param& param : program.params)
    for (const Expr& extent : param.buffer.shape()) scalars(extent);
  ir::walk(body, [](const ir::Stmt&) { return true; }, [&](const Expr& e) { return scalars(e), true; });
  program.scalars = bound;
  return program;
}

}  // namespace

std::vector<Tensor> external(const std::vector<ExternOutput>& outputs, std::vector<Tensor> inputs,
                             const ExternBody& body, std::string name, SourceLine where) {
  if (name.empty()) name = "extern";
  const std::string what = name == "extern" ? name : "extern " + name;
  if (outputs.empty()) refuse(ErrorKind::kExpr, what + ": at least one output expected", {}, where);
  auto node = make_operation(name, where);
  std::vector<Buffer> in, out;
  for (const Tensor& t : inputs) {
    if (!t) refuse(ErrorKind::kExpr, what + ": inputs must be tensors", {}, where);
    if (std::find(in.begin(), in.end(), t.buffer()) != in.end())
      refuse(ErrorKind::kExpr, what + ": each input must be named once, not " + t.name() + " twice", {}, where);
    in.push_back(t.buffer());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<Expr> shape = checked_shape(what, outputs[i].shape, where);
    const std::string label = outputs.size() == 1 ? name : name + ".v" + std::to_string(i);
    node->outputs.push_back({outputs[i].dtype, shape, Buffer::fresh_id(), label});
    out.emplace_back(
        ir::BufferNode{node->outputs[i].buffer_id, label, outputs[i].dtype, shape, {}, ir::Scope::kArgument, nullptr});
  }
  const ir::Stmt made = body(in, out);
  if (!made) refuse(ErrorKind::kExpr, what + ": the function must return a statement", {}, where);
  const ir::Program program = alone(*node, made, in, out);
  if (const Status status = ir::verify(program); !status.ok()) {
    std::vector<std::string> notes = status.error().notes;
    notes.push_back("the statement may read the inputs, and write the outputs and what it allocates");
    refuse(ErrorKind::kExpr, what + ": " + status.error().what, std::move(notes), where);
  }
  if (const std::string early = reads_unwritten(program); !early.empty())
    refuse(ErrorKind::kExpr, what + ": " + early + " is read before it is written",
           {"an output holds nothing before the statement writes it: store a first value, then add to it",
            "access_ptr(\"w\") is the address of what a function only writes"},
           where);
  ReadNotes notes;
  const ir::Stmt inside = clamp_statement(what, program, where, notes);
  note_reads(*node, std::move(notes));
  node->inputs = std::move(inputs);
  node->kind = Extern{inside};
  const Operation op(std::move(node));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < op->outputs.size(); ++i) tensors.push_back(op.output(i));
  return tensors;
}

}  // namespace tw::te
