// Tensor expressions: what to compute. Names and meaning follow tvm.te 0.19; te/promote.h has the typing rules.
//
//   Tensor A = placeholder({n, m}, "float32", "A");
//   IterVar k = reduce_axis(0, m, "k");
//   Tensor C = compute({n}, [&](Var i) { return sum(A(i, k), {k}); }, "C");
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::te {

using ir::Buffer;
using ir::Expr;
using ir::Type;
using ir::Var;

struct OpNode;
class Tensor;

// An axis of a computation. Index expressions take `var`.
struct IterVar {
  Var var;
  Expr min = 0;  // of a data axis always 0
  Expr extent = 1;
  bool reduction = false;
  operator Expr() const { return var; }
};

class Operation {
 public:
  Operation() = default;
  explicit Operation(std::shared_ptr<const OpNode> node) : node_(std::move(node)) {}
  const OpNode* operator->() const { return node_.get(); }
  const OpNode& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  Tensor output(size_t i = 0) const;
  bool operator==(const Operation& other) const { return node_ == other.node_; }

 private:
  friend class Tensor;
  std::shared_ptr<const OpNode> node_;
};

// One output of an operation.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Operation op, size_t value_index) : op_(std::move(op)), value_index_(value_index) {}
  const Operation& op() const { return op_; }
  size_t value_index() const { return value_index_; }
  const std::string& name() const;
  Type dtype() const;
  const std::vector<Expr>& shape() const;
  size_t rank() const { return shape().size(); }
  Buffer buffer() const;  // always the same id; loads of it inside bodies mean this tensor
  explicit operator bool() const { return static_cast<bool>(op_); }
  bool operator==(const Tensor& other) const { return op_ == other.op_ && value_index_ == other.value_index_; }

  // A read. The number of subscripts is the rank; a subscript that is provably outside throws.
  Expr operator()(std::vector<Expr> at, SourceLine where = {}) const;
  template <class... E>
    requires(sizeof...(E) > 0 && (std::is_convertible_v<E, Expr> && ...))
  Expr operator()(E... at) const {
    return (*this)(std::vector<Expr>{Expr(at)...});
  }

 private:
  Operation op_;
  size_t value_index_ = 0;
};

struct Placeholder {
  std::vector<Expr> strides = {};  // in elements; empty: compact
  bool param = false;              // a weight: transform_layout may pack it, once and outside of the kernel
  std::optional<std::pair<int64_t, int64_t>> range = {};  // the caller's promise: every value, an integer, is in it
};
struct Compute {
  std::vector<IterVar> axis;         // data axes, one per dimension
  std::vector<IterVar> reduce_axis;  // of the Reduce at the root of the bodies, if there is one
  std::vector<Expr> bodies;          // one for each output; a Reduce only at the root, then of all of them
  bool reads_before = false;         // outside at its first indices: has a meaning for what a scan computes only
  bool padding = false;              // 0 around a tensor: a sum may leave out the products that such a 0 is a factor of
  const Expr& body() const { return bodies.front(); }
};
// out[t] = init[t] for the first t, then update[t], which reads out at smaller t through the placeholders `state`.
// One of each for each output; shapes agree but for the number of first t.
struct Scan {
  std::vector<IterVar> axis;  // time, then one per further dimension
  std::vector<Tensor> init, update, state;
};
// A statement that the user wrote: loops and stores of a builder, or calls of C functions. Loads, stores and addresses
// in it mean the inputs and the outputs by their buffers.
struct Extern {
  ir::Stmt body;
};
struct Output {
  Type dtype;
  std::vector<Expr> shape;
  uint64_t buffer_id;
  std::string name;  // of the operation; of several outputs with .v0, .v1, ...
};
struct OpNode {
  uint64_t id;
  std::string name;
  std::vector<Output> outputs;
  std::variant<Placeholder, Compute, Scan, Extern> kind;
  std::vector<Tensor> inputs;  // tensors that the body reads, in order of first use; of a scan init and update
  SourceLine where;            // of the call that declared it

  const Compute* compute() const { return std::get_if<Compute>(&kind); }
  const Scan* scan() const { return std::get_if<Scan>(&kind); }
  const Extern* external() const { return std::get_if<Extern>(&kind); }
  bool is_placeholder() const { return std::holds_alternative<Placeholder>(kind); }
  // Of the first output.
  Type dtype() const { return outputs.front().dtype; }
  const std::vector<Expr>& shape() const { return outputs.front().shape; }
  uint64_t buffer_id() const { return outputs.front().buffer_id; }
};

// A scalar by name: the extent of a dimension (an index, "int32" to the user), or a value that the kernel takes as an
// argument.
Var var(std::string name = "tindex", std::string_view dtype = "int32");
bool is_scalar(const Var&);  // made by var, not an axis

// A scalar among the arguments of a kernel, behind so many of its tensors.
struct ScalarArgument {
  Var var;
  int place = 0;
};

// The operation that defines a buffer which occurs in a body; empty for buffers from below te.
Operation producer(const Buffer&);
Tensor tensor_of(const Buffer&);  // which of its outputs

Tensor placeholder(std::vector<Expr> shape, std::string_view dtype = "float32", std::string name = "placeholder",
                   std::vector<Expr> strides = {}, SourceLine where = std::source_location::current());
// With what else is known: placeholder({n}, "uint8", "A", Placeholder{.param = true, .range = {{0, 127}}}).
Tensor placeholder(std::vector<Expr> shape, std::string_view dtype, std::string name, Placeholder known,
                   SourceLine where = std::source_location::current());

// `body` receives one variable per dimension, named by `axis_names` (default i, j, k, l, ... as ax0..).
Tensor compute(std::vector<Expr> shape, const std::function<Expr(const std::vector<Var>&)>& body,
               std::string name = "compute", std::vector<std::string> axis_names = {},
               SourceLine where = std::source_location::current());
template <class F>
  requires std::is_invocable_r_v<Expr, F, Var>
Tensor compute(std::vector<Expr> shape, F f, std::string name = "compute",
               SourceLine where = std::source_location::current()) {
  return compute(
      std::move(shape), [&](const std::vector<Var>& v) -> Expr { return f(v.at(0)); }, std::move(name), {"i"}, where);
}
template <class F>
  requires std::is_invocable_r_v<Expr, F, Var, Var>
Tensor compute(std::vector<Expr> shape, F f, std::string name = "compute",
               SourceLine where = std::source_location::current()) {
  return compute(
      std::move(shape), [&](const std::vector<Var>& v) -> Expr { return f(v.at(0), v.at(1)); }, std::move(name),
      {"i", "j"}, where);
}
template <class F>
  requires std::is_invocable_r_v<Expr, F, Var, Var, Var>
Tensor compute(std::vector<Expr> shape, F f, std::string name = "compute",
               SourceLine where = std::source_location::current()) {
  return compute(
      std::move(shape), [&](const std::vector<Var>& v) -> Expr { return f(v.at(0), v.at(1), v.at(2)); },
      std::move(name), {"i", "j", "k"}, where);
}
template <class F>
  requires std::is_invocable_r_v<Expr, F, Var, Var, Var, Var>
Tensor compute(std::vector<Expr> shape, F f, std::string name = "compute",
               SourceLine where = std::source_location::current()) {
  return compute(
      std::move(shape), [&](const std::vector<Var>& v) -> Expr { return f(v.at(0), v.at(1), v.at(2), v.at(3)); },
      std::move(name), {"i", "j", "k", "l"}, where);
}

// Several outputs of one shape: the function returns one value for each. Their names are `name`.v0, .v1, ... Whether
// they are padding is the caller's promise (Compute::padding).
std::vector<Tensor> compute_tuple(std::vector<Expr> shape,
                                  const std::function<std::vector<Expr>(const std::vector<Var>&)>& body,
                                  std::string name = "compute", std::vector<std::string> axis_names = {},
                                  SourceLine where = std::source_location::current(), bool padding = false);

// States over time (the first dimension of all): out[t] = init[t] for the first t, then update[t], which reads out at
// smaller t through the placeholders `state`. Gives one tensor for each state.
std::vector<Tensor> scan(std::vector<Tensor> init, std::vector<Tensor> update, std::vector<Tensor> state,
                         std::string name = "scan", SourceLine where = std::source_location::current());

IterVar reduce_axis(Expr min, Expr end, std::string name = "rv",
                    SourceLine where = std::source_location::current());  // min..end

// Points where `where` (may be empty) is false are left out; `init` (may be empty) stands in the identity's place. Over
// nothing a reduction is its init or identity.
Expr sum(Expr source, std::vector<IterVar> axis, Expr where = {}, Expr init = {});
Expr prod(Expr source, std::vector<IterVar> axis, Expr where = {}, Expr init = {});
Expr max(Expr source, std::vector<IterVar> axis, Expr where = {}, Expr init = {});
Expr min(Expr source, std::vector<IterVar> axis, Expr where = {}, Expr init = {});
inline Expr max(Expr source, std::initializer_list<IterVar> axis) { return max(std::move(source), std::vector(axis)); }
inline Expr min(Expr source, std::initializer_list<IterVar> axis) { return min(std::move(source), std::vector(axis)); }

// A reduction by a function of tuples, which must be associative and commutative, with `identity` as its neutral
// element: a schedule chooses the order. The values of a call are those of one compute_tuple (of a compute where there
// is one).
struct Reducer {
  std::function<std::vector<Expr>(const std::vector<Var>& lhs, const std::vector<Var>& rhs)> combine;
  std::function<std::vector<Expr>(const std::vector<Type>&)> identity;
  std::string name = "reduce", lhs = "x", rhs = "y";  // the variables, numbered where there are several
  std::vector<Expr> operator()(std::vector<Expr> sources, std::vector<IterVar> axis, Expr where = {},
                               std::vector<Expr> init = {}) const;
};

// Elementwise functions promote as te/promote.h says; integer arguments of exp, log, ... are errors of kind kDType as
// in tvm.
Expr max(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr exp(Expr), log(Expr), tanh(Expr), sigmoid(Expr), erf(Expr), sqrt(Expr), rsqrt(Expr), abs(Expr), floor(Expr),
    ceil(Expr), round(Expr) /* halves go away from zero */, trunc(Expr), power(Expr, Expr);
Expr sin(Expr), cos(Expr), tan(Expr), atan(Expr), log2(Expr), exp2(Expr), log10(Expr), expm1(Expr), log1p(Expr),
    cbrt(Expr);
Expr fma(Expr a, Expr b, Expr c);               // a * b + c, rounded once
Expr isnan(Expr), isinf(Expr), isfinite(Expr);  // of integers known
Expr popcount(Expr), clz(Expr) /* an int32, as tvm's */;
Expr reinterpret(std::string_view dtype, Expr);   // the same bits
Expr if_then_else(Expr cond, Expr yes, Expr no);  // evaluates no load of the arm that is not taken
Expr select(Expr cond, Expr yes, Expr no);        // the same here
Expr divide(Expr a, Expr b);                      // of floats; unsigned integers round towards zero
Expr astype(Expr, std::string_view dtype);
Expr all(std::vector<Expr>), any(std::vector<Expr>);
Expr constant(double value, std::string_view dtype);
Expr min_value(std::string_view dtype), max_value(std::string_view dtype);

// The unscheduled program: every stage once, in order, each element by its definition. The interpreter runs it as the
// reference. `args` in the order of the parameters; tensors that are not in it become scratch.
ir::Program naive_program(const std::vector<Tensor>& outputs, const std::vector<Tensor>& args,
                          std::string name = "naive", const std::vector<ScalarArgument>& scalars = {});

// The scalars of a kernel, into `program`, whose params are set: the given ones, then the variables that its shapes
// give. Throws where a variable of `roots` or of what they are computed from is neither.
void bind_scalars(ir::Program& program, const std::vector<Tensor>& roots, const std::vector<ScalarArgument>& given);

// All operations that `outputs` need, producers first, each once, in a deterministic order.
std::vector<Operation> topological_order(const std::vector<Tensor>& outputs);

}  // namespace tw::te
