// Operations and their outputs.
#include "src/ir/simplify.h"
#include "te/dtype.h"
#include "te/operation.h"
#include "te/promote.h"
#include "te/read_notes.h"
#include "te/refuse.h"
#include "tensorwright/te.h"

namespace tw::te {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 56;  // offsets in bytes stay far from the ends of 64 bits

// Deleting the last user of a chain deletes the chain: nodes whose turn it is wait in a list instead of on the stack.
void delete_operation(OpNode* node) {
  thread_local std::vector<OpNode*> waiting;
  thread_local bool busy = false;
  waiting.push_back(node);
  if (busy) return;
  busy = true;
  while (!waiting.empty()) {
    OpNode* next = waiting.back();
    waiting.pop_back();
    forget_notes(*next);
    delete next;
  }
  busy = false;
}

Expr checked_extent(const std::string& what, size_t dimension, const Expr& given, const SourceLine& where) {
  const std::string name = what + ": the extent of dimension " + std::to_string(dimension);
  if (!given) refuse(ErrorKind::kExpr, name + " is missing", {}, where);
  if (given.type().is_float() || given.type().is_bool()) {
    refuse(ErrorKind::kDType,
           name + " must be an integer, not " + short_text(given) + " of " + dtype_name(given.type()), {}, where);
  }
  const Expr extent = ir::simplify(as_index(given));
  if (!is_extent(extent)) {
    std::vector<std::string> notes = notes_on_axes(extent);
    notes.push_back("n = te.var(\"n\"); + - * // % te.min and te.max of such variables and integers are extents");
    refuse(ErrorKind::kExpr, name + " must be an integer or an expression of te.var, not " + short_text(given),
           std::move(notes), where);
  }
  if (ir::as_int(extent).value_or(0) < 0)
    refuse(ErrorKind::kExpr, name + " must not be negative, not " + ir::to_string(extent), {}, where);
  return extent;
}

std::string shape_text(const Tensor& t) {
  std::string text = "(";
  for (size_t i = 0; i < t.rank(); ++i) text += (i ? ", " : "") + ir::to_string(t.shape()[i]);
  return text + (t.rank() == 1 ? ",)" : ")");
}

Expr checked_subscript(const Tensor& t, size_t dimension, Expr e, const SourceLine& where) {
  const std::string name = t.name() + "[...]: subscript " + std::to_string(dimension);
  if (!e) refuse(ErrorKind::kExpr, name + " is missing", {}, where);
  if (e.type().is_float() || e.type().is_bool()) {
    refuse(ErrorKind::kDType, name + " must be an integer, not " + short_text(e) + " of " + dtype_name(e.type()),
           {"e.astype(\"int32\") converts"}, where);
  }
  e = convert(Type::index(), std::move(e));  // what a cast does to it may matter outside of the tensor
  if (const auto value = ir::as_int(e); value && *value < 0) {
    const std::string extent = ir::to_string(t.shape()[dimension]);
    refuse(ErrorKind::kExpr, name + " must not be negative, not " + std::to_string(*value),
           {t.name() + " has shape " + shape_text(t) + "; a negative index does not count from the end",
            "the last element is " + t.name() + "[..., " + extent + " - 1]"},
           where);
  }
  return e;
}

}  // namespace

std::string short_text(const Expr& e) {
  constexpr size_t kLongest = 72;
  std::string text = ir::to_string(e);
  return text.size() <= kLongest ? text : text.substr(0, kLongest - 3) + "...";
}

std::shared_ptr<OpNode> make_operation(std::string name, SourceLine where) {
  std::shared_ptr<OpNode> node(new OpNode{}, &delete_operation);
  node->id = Buffer::fresh_id();
  node->name = std::move(name);
  node->where = std::move(where);
  return node;
}

std::vector<Expr> checked_shape(const std::string& what, const std::vector<Expr>& shape, const SourceLine& where) {
  if (shape.size() > kMaxRank) {
    refuse(ErrorKind::kExpr,
           what + ": a tensor has at most " + std::to_string(kMaxRank) + " dimensions, not " +
               std::to_string(shape.size()),
           {"fold neighbouring dimensions into one: (n * m,), read as A[i * m + j]"}, where);
  }
  std::vector<Expr> extents;
  int64_t elements = 1;
  bool too_large = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    extents.push_back(checked_extent(what, d, shape[d], where));
    const int64_t known = std::max<int64_t>(ir::as_int(extents.back()).value_or(1), 1);
    too_large |= __builtin_mul_overflow(elements, known, &elements) || elements > kMaxElements;
  }
  if (too_large) refuse(ErrorKind::kExpr, what + ": a tensor has at most 2**56 elements", {}, where);
  return extents;
}

Tensor Operation::output(size_t i) const {
  TW_CHECK(i < node_->outputs.size(), node_->name + " has no output " + std::to_string(i));
  return Tensor(*this, i);
}

const std::string& Tensor::name() const { return op_->outputs[value_index_].name; }
Type Tensor::dtype() const { return op_->outputs[value_index_].dtype; }
const std::vector<Expr>& Tensor::shape() const { return op_->outputs[value_index_].shape; }

Buffer Tensor::buffer() const {
  const Output& output = op_->outputs[value_index_];
  ir::BufferNode node{output.buffer_id, output.name, output.dtype, output.shape, {}, ir::Scope::kArgument, op_.node_};
  if (const auto* p = std::get_if<Placeholder>(&op_->kind)) node.strides = p->strides;
  return Buffer(std::move(node));
}

Operation producer(const Buffer& buffer) {
  return buffer->origin ? Operation(std::static_pointer_cast<const OpNode>(buffer->origin)) : Operation();
}

Tensor tensor_of(const Buffer& buffer) {
  const Operation op = producer(buffer);
  for (size_t i = 0; op && i < op->outputs.size(); ++i)
    if (op->outputs[i].buffer_id == buffer.id()) return op.output(i);
  return {};
}

Expr Tensor::operator()(std::vector<Expr> at, SourceLine where) const {
  if (at.size() != rank()) {
    refuse(ErrorKind::kExpr,
           name() + "[...]: expected " + std::to_string(rank()) + (rank() == 1 ? " subscript" : " subscripts") +
               ", not " + std::to_string(at.size()),
           {name() + " has shape " + shape_text(*this)}, where);
  }
  for (size_t d = 0; d < at.size(); ++d) at[d] = checked_subscript(*this, d, std::move(at[d]), where);
  return ir::load(buffer(), std::move(at));
}

Tensor placeholder(std::vector<Expr> shape, std::string_view dtype, std::string name, std::vector<Expr> strides,
                   SourceLine where) {
  return placeholder(std::move(shape), dtype, std::move(name), Placeholder{.strides = std::move(strides)},
                     std::move(where));
}

Tensor placeholder(std::vector<Expr> shape, std::string_view dtype, std::string name, Placeholder known,
                   SourceLine where) {
  if (name.empty()) name = "placeholder";
  const std::string what = name == "placeholder" ? name : "placeholder " + name;
  auto node = make_operation(name, where);
  node->outputs = {{dtype_named(dtype), checked_shape(what, shape, where), Buffer::fresh_id(), name}};
  if (!known.strides.empty() && known.strides.size() != shape.size()) {
    refuse(ErrorKind::kExpr,
           what + ": strides must be one for each of the " + std::to_string(shape.size()) + " dimensions, not " +
               std::to_string(known.strides.size()),
           {}, where);
  }
  known.strides = checked_shape(what + ": strides", known.strides, where);
  if (known.range && (!node->dtype().is_integer() || known.range->first > known.range->second)) {
    refuse(ErrorKind::kArgument,
           what + ": range must be two integers (lowest, highest), of an integer dtype, not (" +
               std::to_string(known.range->first) + ", " + std::to_string(known.range->second) + ") of " +
               dtype_name(node->dtype()),
           {}, where);
  }
  node->kind = std::move(known);
  return Tensor(Operation(std::move(node)), 0);
}

}  // namespace tw::te
