#include "te/at_size.h"

#include <map>

#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/dtype.h"
#include "te/refuse.h"

namespace tw::te {

namespace {

class Again {
 public:
  Again(const Var& size, int64_t value) : size_{{size.id(), Expr(value)}} {}

  void declare(const Operation& op) {
    std::vector<Tensor> made;
    if (const auto* p = std::get_if<Placeholder>(&op->kind)) {
      Placeholder known = *p;
      known.strides = extents(p->strides);
      made = {placeholder(extents(op->shape()), dtype_name(op->dtype()), op->name, std::move(known), op->where)};
    } else if (const Compute* c = op->compute()) {
      made = compute_tuple(
          extents(op->shape()), [&](const std::vector<Var>& axes) { return bodies(*c, axes); }, op->name, names(*c),
          op->where, c->padding);
    } else {
      refuse(ErrorKind::kTune,
             "sizes: " + op->name + " is " + (op->scan() ? "a scan" : "an extern") +
                 ", and what varies in size must be placeholders and computes",
             {}, op->where);
    }
    for (size_t i = 0; i < made.size(); ++i) {
      buffers_.emplace(op->outputs[i].buffer_id, made[i].buffer());
      tensors_.emplace(op->outputs[i].buffer_id, made[i]);
    }
  }

  Tensor of(const Tensor& t) const { return tensors_.at(t.op()->outputs[t.value_index()].buffer_id); }

 private:
  Expr extent(const Expr& e) const { return ir::simplify(ir::substitute(e, size_)); }
  std::vector<Expr> extents(std::vector<Expr> all) const {
    for (Expr& e : all) e = extent(e);
    return all;
  }

  static std::vector<std::string> names(const Compute& c) {
    std::vector<std::string> all;
    for (const IterVar& axis : c.axis) all.push_back(axis.var.name());
    return all;
  }

  std::vector<Expr> bodies(const Compute& c, const std::vector<Var>& axes) const {
    ir::Substitution values = size_;
    for (size_t d = 0; d < axes.size(); ++d) values[c.axis[d].var.id()] = Expr(axes[d]);
    std::vector<Expr> all = {known(c.body(), values)};
    for (size_t i = 1; i < c.bodies.size(); ++i)
      all.push_back(ir::as<ir::Reduce>(all[0]) ? component(all[0], i) : known(c.bodies[i], values));
    return all;
  }

  Expr known(const Expr& body, const ir::Substitution& values) const {
    return with_numbers(ir::replace_buffers(ir::substitute(body, values), buffers_));
  }

  // Of the same reduction.
  static Expr component(const Expr& first, size_t i) {
    ir::Reduce reduce = *ir::as<ir::Reduce>(first);
    reduce.value = static_cast<int>(i);
    return ir::reduce(std::move(reduce));
  }

  // What a reduction runs over.
  static Expr with_numbers(const Expr& body) {
    const auto* r = ir::as<ir::Reduce>(body);
    if (r == nullptr) return body;
    ir::Reduce reduce = *r;
    for (ir::ReduceAxis& axis : reduce.axes) {
      axis.min = ir::simplify(axis.min);
      axis.extent = ir::simplify(axis.extent);
    }
    return ir::reduce(std::move(reduce));
  }

  const ir::Substitution size_;
  ir::BufferMap buffers_;
  std::map<uint64_t, Tensor> tensors_;
};

}  // namespace

std::vector<Tensor> at_size(const std::vector<Tensor>& tensors, const Var& size, int64_t value) {
  Again again(size, value);
  for (const Operation& op : topological_order(tensors)) again.declare(op);
  std::vector<Tensor> all;
  for (const Tensor& t : tensors) all.push_back(again.of(t));
  return all;
}

}  // namespace tw::te
