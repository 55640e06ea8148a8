// Operations and their outputs.
#include "src/ir/interval.h"
#include "src/ir/simplify.h"
#include "te/promote.h"
#include "tensorwright/te.h"

namespace tw::te {

Tensor Operation::output(size_t i) const { return Tensor(*this, i); }
const std::string& Tensor::name() const { return op_->name; }
Type Tensor::dtype() const { return op_->dtype; }
const std::vector<Expr>& Tensor::shape() const { return op_->shape; }

Buffer Tensor::buffer() const {
  ir::BufferNode node;
  node.id = op_->buffer_id;
  node.name = op_->name;
  node.element = op_->dtype;
  node.shape = op_->shape;
  if (const auto* p = std::get_if<Placeholder>(&op_->kind)) node.strides = p->strides;
  node.origin = std::shared_ptr<const void>(op_.node_);
  return Buffer(std::move(node));
}

Operation producer(const Buffer& buffer) {
  return buffer->origin ? Operation(std::static_pointer_cast<const OpNode>(buffer->origin)) : Operation();
}

Expr Tensor::operator()(std::vector<Expr> at, SourceLine where) const {
  if (at.size() != rank()) {
    throw Error(Diagnostic{ErrorKind::kExpr, "tensor " + name() + " has " + std::to_string(rank()) + " dimensions and is read with " + std::to_string(at.size()) + " subscripts", where, {}});
  }
  for (Expr& e : at) e = as_index(e);
  return ir::load(buffer(), std::move(at));
}

Tensor placeholder(std::vector<Expr> shape, std::string_view dtype, std::string name, std::vector<Expr> strides, SourceLine where) {
  auto type = ir::parse_type(dtype);
  if (!type || type->is_index()) throw Error(Diagnostic{ErrorKind::kDType, "placeholder " + name + ": unknown dtype '" + std::string(dtype) + "'", where, {}});
  auto node = std::make_shared<OpNode>();
  node->id = ir::Buffer::fresh_id();
  node->buffer_id = ir::Buffer::fresh_id();
  node->name = std::move(name);
  node->dtype = *type;
  for (Expr& e : shape) node->shape.push_back(ir::simplify(as_index(e)));
  node->kind = Placeholder{std::move(strides)};
  node->where = std::move(where);
  return Tensor(Operation(std::move(node)), 0);
}

}  // namespace tw::te
