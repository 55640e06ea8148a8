// Definitions as statements.
//
//   C = argmax(..., axis=k)         for i:
//                                     C.v0[i] = -1; C.v1[i] = -inf
//                                     for k:
//                                       v0 = select(..., C.v0[i], ...); v1 = ...; C.v0[i] = v0; C.v1[i] = v1
//
//   S = scan(init, update, state)   for t:
//                                     if t < first: for i: S[t, i] = init[t, i]
//                                     else: for i: P[t, i] = f(S[t - 1, i])    // each stage of the body
//                                           for i: S[t, i] = update[t, i]
#include "te/statements.h"

#include <algorithm>

#include "src/ir/walk.h"

namespace tw::te {
namespace {

bool reads_any(const Expr& value, const std::vector<Buffer>& buffers) {
  bool found = false;
  ir::walk(value, [&](const Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    found = found || (load && std::find(buffers.begin(), buffers.end(), load->buffer) != buffers.end());
    return !found;
  });
  return found;
}

ir::Stmt loops(const std::vector<IterVar>& axes, size_t from, ir::Stmt body) {
  for (size_t d = axes.size(); d-- > from;) body = ir::loop(axes[d].var, axes[d].extent, std::move(body));
  return body;
}

// Several computes may share a reduce axis: each gets loop variables of its own.
ir::Stmt reduction(ir::Reduce r, const std::vector<Buffer>& to, const std::vector<Expr>& at) {
  ir::Substitution with;
  std::vector<IterVar> axes;
  for (const ir::ReduceAxis& axis : r.axes) {
    const Var var(axis.var.name());
    axes.push_back({var, 0, axis.extent, true});
    with[axis.var.id()] = ir::is_int(axis.min, 0) ? Expr(var) : axis.min + Expr(var);
  }
  for (Expr& source : r.sources) source = ir::substitute(source, with);
  std::vector<Expr> old;
  for (const Buffer& buffer : to) old.push_back(ir::load(buffer, at));
  ir::Stmt update = store_all(to, at, ir::combine(r, old, r.sources));
  if (r.where) update = ir::if_then(ir::substitute(r.where, with), std::move(update));
  return ir::seq({store_all(to, at, r.init.empty() ? ir::identity_of(r) : r.init), loops(axes, 0, std::move(update))});
}

// The elements at one point of the first `given` axes.
ir::Stmt elements(const Compute& c, size_t given, const std::vector<Buffer>& to) {
  std::vector<Expr> at;
  for (const IterVar& a : c.axis) at.push_back(a.var);
  const auto* reduce = ir::as<ir::Reduce>(c.body());
  return loops(c.axis, given, reduce ? reduction(*reduce, to, at) : store_all(to, at, c.bodies));
}

std::vector<Buffer> kept(const Operation& op, const ir::BufferMap& buffers) {
  std::vector<Buffer> all;
  for (const Output& output : op->outputs) all.push_back(buffers.at(output.buffer_id));
  return all;
}

}  // namespace

ir::Stmt store_all(const std::vector<Buffer>& buffers, const std::vector<Expr>& at, const std::vector<Expr>& values) {
  const bool reads = values.size() > 1 && std::any_of(values.begin(), values.end(),
                                                      [&](const Expr& value) { return reads_any(value, buffers); });
  std::vector<Var> vars;
  std::vector<ir::Stmt> stores;
  for (size_t i = 0; i < values.size(); ++i) {
    vars.emplace_back("v" + std::to_string(i), values[i].type());
    stores.push_back(ir::store(buffers[i], at, reads ? Expr(vars[i]) : values[i]));
  }
  ir::Stmt all = ir::seq(std::move(stores));
  for (size_t i = values.size(); reads && i-- > 0;) all = ir::let_stmt(vars[i], values[i], std::move(all));
  return all;
}

ir::Stmt statement(const Compute& c, const std::vector<Buffer>& to, const ir::BufferMap& buffers) {
  return ir::replace_buffers(elements(c, 0, to), buffers);
}

ir::Stmt statement(const Extern& e, const ir::BufferMap& buffers) {
  return ir::replace_buffers(ir::refresh(e.body), buffers);
}

ir::Stmt statement(const ScanBody& body, const ir::BufferMap& buffers) {
  const Scan& scan = *body.scan->scan();
  const std::vector<Buffer> to = kept(body.scan, buffers);
  ir::BufferMap with = buffers;
  for (size_t i = 0; i < to.size(); ++i) with[scan.state[i].buffer().id()] = to[i];
  std::vector<Expr> at;
  for (const IterVar& a : scan.axis) at.push_back(a.var);
  const auto copy = [&](const std::vector<Tensor>& from) {  // states may have different shapes
    std::vector<ir::Stmt> all;
    for (size_t i = 0; i < to.size(); ++i) {
      std::vector<IterVar> axes = scan.axis;
      for (size_t d = 1; d < axes.size(); ++d) axes[d].extent = to[i].shape()[d];
      all.push_back(ir::refresh(loops(axes, 1, ir::store(to[i], at, ir::load(from[i].buffer(), at)))));
    }
    return ir::seq(std::move(all));
  };
  std::vector<ir::Stmt> later;
  for (const Operation& op : body.stages) {
    const Compute& c = *op->compute();
    later.push_back(ir::substitute(elements(c, 1, kept(op, buffers)), {{c.axis[0].var.id(), Expr(scan.axis[0].var)}}));
  }
  later.push_back(copy(scan.update));
  const ir::Stmt step =
      ir::if_then(Expr(scan.axis[0].var) < first_time(scan), copy(scan.init), ir::refresh(ir::seq(std::move(later))));
  return ir::replace_buffers(ir::loop(scan.axis[0].var, scan.axis[0].extent, step), with);
}

}  // namespace tw::te
