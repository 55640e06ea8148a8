// scan: states over time.
#include "te/scan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "src/ir/equal.h"
#include "src/ir/interval.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/check_body.h"
#include "te/dtype.h"
#include "te/operation.h"
#include "te/read_bounds.h"
#include "te/read_walk.h"
#include "te/refuse.h"

namespace tw::te {
namespace {

using Ids = std::unordered_set<uint64_t>;  // of operations

bool reads_one_of(const Operation& op, const Ids& ids) {
  return std::any_of(op->inputs.begin(), op->inputs.end(), [&](const Tensor& t) { return ids.contains(t.op()->id); });
}

Ids ids_of(const std::vector<Tensor>& tensors) {
  Ids ids;
  for (const Tensor& t : tensors) ids.insert(t.op()->id);
  return ids;
}

// The stages that the updates need and that depend on a state.
std::vector<Operation> stages_between(const Scan& scan) {
  Ids dependent = ids_of(scan.state);
  std::vector<Operation> stages;
  for (const Operation& op : topological_order(scan.update)) {
    if (dependent.contains(op->id) || !reads_one_of(op, dependent)) continue;
    dependent.insert(op->id);
    stages.push_back(op);
  }
  return stages;
}

std::string shape_text(const std::vector<Expr>& shape) {
  std::string text;
  for (const Expr& e : shape) text += (text.empty() ? "" : ", ") + short_text(e);
  return "(" + text + ")";
}

bool same_shape(const std::vector<Expr>& a, const std::vector<Expr>& b, size_t from) {
  return a.size() == b.size() &&
         std::equal(a.begin() + std::min(from, a.size()), a.end(), b.begin() + std::min(from, b.size()), b.end(),
                    [](const Expr& x, const Expr& y) { return ir::equal(x, y); });
}

class Checker {
 public:
  Checker(const std::string& name, const Scan& scan, const SourceLine& where)
      : what_(name == "scan" ? name : "scan " + name), scan_(scan), where_(where) {}

  void tensors() const {
    const size_t n = scan_.state.size();
    if (n == 0) fail("expected at least one state", {});
    if (scan_.init.size() != n || scan_.update.size() != n)
      fail("init and update must have one tensor for each of the " + std::to_string(n) + " states, not " +
               std::to_string(scan_.init.size()) + " and " + std::to_string(scan_.update.size()),
           {});
    if (ids_of(scan_.state).size() != n) fail("each state must be a placeholder of its own", {});
    for (size_t i = 0; i < n; ++i) state(i);
  }

  void body(const std::vector<Operation>& stages) const {
    const Ids states = ids_of(scan_.state);
    const auto first = ir::as_int(first_time(scan_)), end = ir::as_int(scan_.state[0].shape()[0]);
    for (const Tensor& init : scan_.init)
      for (const Operation& op : topological_order({init}))
        if (states.contains(op->id))
          fail("init must not depend on the state, as " + init.name() + " does", {"it is what the first state is"});
    Ids inside;
    for (const Operation& op : stages) inside.insert(op->id);
    for (const Operation& op : stages) {
      const Compute* c = op->compute();
      if (!c)
        fail("what depends on the state must be a compute, not " + op->name,
             {"a scan or an extern stage inside of a scan is not supported"});
      if (c->axis.empty() || !same_shape({c->axis[0].extent}, {scan_.state[0].shape()[0]}, 0))
        fail("what depends on the state must have time as its first axis; " + op->name + " has not",
             {op->name + " has shape " + shape_text(op->shape()) + ", " + scan_.state[0].name() + " " +
              shape_text(scan_.state[0].shape())});
      if (first && end && *first >= *end) continue;  // init gives all there is
      Compute later = *c;
      later.axis[0].min = first_time(scan_);
      later.axis[0].extent = ir::simplify(scan_.state[0].shape()[0] - first_time(scan_));
      for_each_read(later,
                    [&](const ir::Load& load, const ReadPlace& place) { read(op, load, place, states, inside); });
      refuse_reads_before("compute " + op->name, later, op->where);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& rule, std::vector<std::string> notes) const {
    refuse(ErrorKind::kExpr, what_ + ": " + rule, std::move(notes), where_);
  }

  void state(size_t i) const {
    const Tensor &init = scan_.init[i], &update = scan_.update[i], &state = scan_.state[i];
    if (!state.op()->is_placeholder()) fail("a state must be a placeholder, not " + state.name(), {});
    if (state.rank() == 0) fail("a state must have time as its first dimension; " + state.name() + " has rank 0", {});
    if (update.op()->is_placeholder())
      fail("update must be computed, not the placeholder " + update.name(),
           {"te.compute over the state at earlier times makes one"});
    const std::string shape = shape_text(state.shape());
    if (state.rank() != scan_.state[0].rank())
      fail("states must have as many dimensions as each other, not " + std::to_string(scan_.state[0].rank()) + " and " +
               std::to_string(state.rank()),
           {"give the smaller one dimensions of extent 1"});
    if (!same_shape({state.shape()[0]}, {scan_.state[0].shape()[0]}, 0))
      fail("states must have the same times, not " + short_text(scan_.state[0].shape()[0]) + " and " +
               short_text(state.shape()[0]),
           {"time is the first dimension of all"});
    if (!same_shape({init.rank() > 0 ? init.shape()[0] : Expr(0)}, {first_time(scan_)}, 0))
      fail("init must give the same first times of all states", {"time is the first dimension of all"});
    if (!same_shape(update.shape(), state.shape(), 0))
      fail("update must have the shape of the state, " + shape + ", not " + shape_text(update.shape()), {});
    if (init.rank() != state.rank() || !same_shape(init.shape(), state.shape(), 1) ||
        !same_shape({init.shape()[0]}, {first_time(scan_)}, 0))
      fail("init must have the shape of the state, " + shape + ", but for the number of first times, not " +
               shape_text(init.shape()),
           {});
    const auto first = ir::as_int(init.shape()[0]), times = ir::as_int(state.shape()[0]);
    if (!first || *first < 1 || (times && *first > *times))
      fail("init must give at least one time and no more than there are, not " + short_text(init.shape()[0]), {});
    for (const Tensor& other : {init, update})
      if (other.dtype() != state.dtype())
        refuse(ErrorKind::kDType,
               what_ + ": " + other.name() + " must be " + dtype_name(state.dtype()) + " as the state, not " +
                   dtype_name(other.dtype()),
               {}, where_);
  }

  // The state at earlier times, other stages of the body at this time.
  void read(const Operation& op, const ir::Load& load, const ReadPlace& place, const Ids& states,
            const Ids& inside) const {
    const Operation from = producer(load.buffer);
    if (!from) return;
    const Var t = op->compute()->axis[0].var;
    if (inside.contains(from->id) && !ir::equal(ir::simplify(load.at[0]), Expr(t)))
      fail(op->name + " must read " + from->name + " at its own time, not at " + short_text(load.at[0]),
           {"what depends on the state is computed anew at each time; earlier values are in the state only"});
    if (!states.contains(from->id)) return;
    for (Side side : {Side::kStart, Side::kEnd})
      if (judge_read(load.at[0], {Expr(t)}, 0, place, side).reading != Reading::kInside)
        fail(op->name + " must read the state " + from->name + " at earlier times, from 0 on, not at " +
                 short_text(load.at[0]),
             {t.name() + " is at least " + short_text(first_time(scan_)) + ", for init gives the times before",
              from->name + "[" + t.name() + " - 1, ...] is the state before"});
  }

  const std::string what_;
  const Scan& scan_;
  const SourceLine& where_;
};

// From which index of the first axis on somebody needs the values of each operation: what the updates of a scan read is
// not needed at the times that init gives.
class FirstNeeded {
 public:
  FirstNeeded(const std::vector<Operation>& order, const std::vector<Tensor>& outputs,
              const std::vector<ScanBody>& bodies) {
    for (const Tensor& output : outputs) from_[output.op()->id] = 0;
    for (const ScanBody& body : bodies)
      for (const Operation& stage : body.stages)
        from_[stage->id] = ir::as_int(first_time(*body.scan->scan())).value_or(0);
    for (size_t i = order.size(); i-- > 0;) {  // readers first
      const Operation& op = order[i];
      if (const Compute* c = op->compute(); c && !c->axis.empty())
        note(*c, of(op));
      else
        for (const Tensor& input : op->inputs) from_[input.op()->id] = op->scan() ? of_update(*op->scan(), input) : 0;
    }
  }

  int64_t of(const Operation& op) const {
    const auto found = from_.find(op->id);
    return found == from_.end() ? 0 : found->second;
  }

 private:
  int64_t of_update(const Scan& scan, const Tensor& input) const {
    const bool update = std::ranges::find(scan.update, input) != scan.update.end();
    return std::min(update ? ir::as_int(first_time(scan)).value_or(0) : 0,
                    from_.contains(input.op()->id) ? of(input.op()) : ir::Interval::kPosInf);
  }

  void note(const Compute& c, int64_t from) {
    ir::Bounds axes;
    for (const auto* all : {&c.axis, &c.reduce_axis})
      for (const IterVar& axis : *all) {
        const auto min = ir::as_int(axis.min), extent = ir::as_int(axis.extent);
        if (min) axes[axis.var.id()] = {*min, extent ? *min + *extent - 1 : ir::Interval::kPosInf};
      }
    if (const auto first = axes.find(c.axis[0].var.id()); first != axes.end())
      first->second.lo = std::min(std::max(first->second.lo, from), first->second.hi);
    for (const Expr& body : c.bodies)
      ir::walk(body, [&](const Expr& e) {
        const auto* load = ir::as<ir::Load>(e);
        const Operation op = load ? producer(load->buffer) : Operation();
        if (!op || load->at.empty()) return true;
        const int64_t lowest = std::max<int64_t>(ir::interval_of(load->at[0], axes).lo, 0);
        const auto [known, fresh] = from_.emplace(op->id, lowest);
        if (!fresh) known->second = std::min(known->second, lowest);
        return true;
      });
  }

  std::unordered_map<uint64_t, int64_t> from_;  // by operation
};

// Reads outside at first indices, of values that somebody needs.
void check_reads_before(const Operation& op, int64_t needed) {
  Compute later = *op->compute();
  if (!later.axis.empty() && needed > 0) {
    later.axis[0].extent = ir::simplify(later.axis[0].extent - Expr(needed));
    later.axis[0].min = needed;
    if (ir::as_int(later.axis[0].extent).value_or(1) <= 0) return;
  }
  refuse_reads_before("compute " + op->name, later, op->where);
}

// The extents of loops over all states.
std::vector<Expr> shape_around(const std::vector<Tensor>& states) {
  std::vector<Expr> around;
  for (const Tensor& state : states)
    for (size_t d = 0; d < state.rank(); ++d) {
      if (d == around.size())
        around.push_back(state.shape()[d]);
      else if (!ir::equal(around[d], state.shape()[d]))
        around[d] = ir::simplify(ir::max(around[d], state.shape()[d]));
    }
  return around;
}

// Who else reads what exists inside of a scan only.
void refuse_outsiders(const std::vector<Operation>& order, const std::vector<Tensor>& outputs,
                      const std::vector<ScanBody>& bodies) {
  const FirstNeeded needed(order, outputs, bodies);
  std::unordered_map<uint64_t, const ScanBody*> only;  // by operation
  for (const ScanBody& body : bodies) {
    for (const Tensor& state : body.scan->scan()->state)
      if (!only.emplace(state.op()->id, &body).second)
        refuse(ErrorKind::kExpr, "scan " + body.scan->name + ": the state " + state.name() + " belongs to another scan",
               {"make a placeholder for each scan"}, body.scan->where);
    for (const Operation& stage : body.stages) only.emplace(stage->id, &body);
  }
  for (const Operation& op : order) {
    const auto own = only.find(op->id);
    for (const Tensor& input : op->inputs) {
      const auto of = only.find(input.op()->id);
      if (of == only.end() || op == of->second->scan || (own != only.end() && own->second == of->second)) continue;
      refuse(ErrorKind::kExpr,
             op->name + ": " + input.name() + " exists inside of the scan " + of->second->scan->name + " only",
             {"outside of it, read " + of->second->scan->name + " itself"}, op->where);
    }
    if (op->compute() && op->compute()->reads_before && own == only.end()) check_reads_before(op, needed.of(op));
  }
}

}  // namespace

std::vector<Expr> bodies_outside_of_scans(const Compute& c) {
  std::vector<Expr> bodies = c.bodies;
  for (Expr& body : bodies)
    body = ir::rewrite(body, [&](const Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      if (!load || load->at.empty() || c.axis.empty()) return e;
      std::vector<Expr> at = load->at;
      bool early = false;
      for (size_t d = 0; d < at.size(); ++d) {
        const Expr& extent = load->buffer.shape()[d];
        const bool start = outside_early(load->at[d], extent, c.axis[0].var, Side::kStart);
        const bool end = outside_early(load->at[d], extent, c.axis[0].var, Side::kEnd);
        if (end) at[d] = ir::min(at[d], ir::simplify(extent - 1));
        if (start) at[d] = ir::max(at[d], 0);
        early |= start || end;
      }
      return early ? ir::load(load->buffer, std::move(at), load->pred) : e;
    });
  return bodies;
}

bool have_one_shape(const Scan& scan) {
  return std::all_of(scan.state.begin(), scan.state.end(),
                     [&](const Tensor& state) { return same_shape(state.shape(), scan.state[0].shape(), 0); });
}

Expr first_time(const Scan& scan) { return scan.init[0].shape().empty() ? Expr(0) : scan.init[0].shape()[0]; }

std::vector<ScanBody> scan_bodies(const std::vector<Operation>& order, const std::vector<Tensor>& outputs) {
  std::vector<ScanBody> bodies;
  bool before = false;
  for (const Operation& op : order) {
    if (op->scan()) bodies.push_back({op, stages_between(*op->scan())});
    before |= op->compute() && op->compute()->reads_before;
  }
  if (before || !bodies.empty()) refuse_outsiders(order, outputs, bodies);
  return bodies;
}

std::vector<Tensor> scan(std::vector<Tensor> init, std::vector<Tensor> update, std::vector<Tensor> state,
                         std::string name, SourceLine where) {
  if (name.empty()) name = "scan";
  Scan made{{}, std::move(init), std::move(update), std::move(state)};
  const Checker checker(name, made, where);
  checker.tensors();
  checker.body(stages_between(made));
  auto node = make_operation(name, where);
  const std::vector<Expr> around = shape_around(made.state);
  for (size_t d = 0; d < around.size(); ++d)
    made.axis.push_back({Var(d == 0 ? "t" : "i" + std::to_string(d)), 0, around[d], false});
  for (size_t i = 0; i < made.state.size(); ++i)
    node->outputs.push_back({made.state[i].dtype(), made.state[i].shape(), Buffer::fresh_id(),
                             made.state.size() == 1 ? name : name + ".v" + std::to_string(i)});
  node->inputs = made.init;
  node->inputs.insert(node->inputs.end(), made.update.begin(), made.update.end());
  node->kind = std::move(made);
  const Operation op(std::move(node));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < op->outputs.size(); ++i) outputs.push_back(op.output(i));
  return outputs;
}

}  // namespace tw::te
