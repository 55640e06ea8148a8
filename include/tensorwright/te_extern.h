// Extern stages: statements that the user wrote, as te.extern of tvm has them.
//
//   Tensor C = external({{Type::f(32), {n, m}}}, {A, B}, [](auto& in, auto& out) {
//     return ir::evaluate(ir::call_extern(Type::i(32), "gemm", {address(in[0], true, false), ..., n}));
//   }, "C")[0];
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensorwright/te.h"

namespace tw::te {

struct ExternOutput {
  Type dtype;
  std::vector<Expr> shape;
};

// The function is given the buffers of the inputs and of the outputs, and returns a statement that writes the outputs
// and touches nothing else but what it allocates. The stage is computed whole, at root. Throws where the statement
// breaks the rules of programs (types, scopes), writes an input, touches other buffers or reads an output before it has
// written it.
using ExternBody = std::function<ir::Stmt(const std::vector<Buffer>& inputs, const std::vector<Buffer>& outputs)>;
std::vector<Tensor> external(const std::vector<ExternOutput>& outputs, std::vector<Tensor> inputs,
                             const ExternBody& body, std::string name = "extern",
                             SourceLine where = std::source_location::current());

}  // namespace tw::te
