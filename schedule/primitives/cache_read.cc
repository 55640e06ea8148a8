//                                   for ax0 in 0..n:
//   for i in 0..n:                    A.local[ax0] = A[ax0]
//     C[i] = f(A[i])      ==>       for i in 0..n:
//                                     C[i] = f(A.local[i])
//
// A new stage "A.local" (or "A.global") copies A, and the named readers read the copy. compute_at then places the copy
// inside a reader's loops, where it packs the block that is read there. Of a stage whose outputs have different shapes
// the copy holds those that are read, which must have one. Its axes may have another order than those of A: where it is
// read along others than it is computed by.

#include <algorithm>
#include <numeric>

#include "schedule/placement.h"
#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "src/ir/equal.h"
#include "src/ir/walk.h"

namespace tw::schedule::primitives {

namespace {

// The outputs that a copy holds: all where they have one shape, else those that the readers read.
std::vector<size_t> copied_outputs(const LoopNest& nest, const StageNest& source, const std::vector<int>& readers) {
  const std::vector<te::Output>& outputs = source.op->outputs;
  const bool alike = std::ranges::all_of(outputs, [&](const te::Output& output) {
    return std::ranges::equal(output.shape, outputs[0].shape, ir::ExprEqual());
  });
  std::vector<bool> read(outputs.size(), alike);
  for (int reader : readers)
    for (const ir::Expr& body : nest.stage(reader).bodies)
      ir::walk(body, [&](const ir::Expr& e) {
        const auto* load = ir::as<ir::Load>(e);
        if (const int output = load ? source.output_of(load->buffer.id()) : kNone; output != kNone)
          read[static_cast<size_t>(output)] = true;
        return true;
      });
  std::vector<size_t> copied;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (read[i]) copied.push_back(i);
  return copied;
}

// Which axis of the source each of the copy is.
Result<std::vector<size_t>> order_of(const CacheRead& step, size_t rank, bool in_scan) {
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (step.axes.empty()) return order;
  if (in_scan)
    return refuse(step.kName, "axes must be those of " + step.stage + ", which a scan computes: the first is its time")
           << "copy what is read outside of the scan, or reorder the copy's loops";
  std::vector<std::string> names, wanted = step.axes;
  for (const size_t d : order) names.push_back("ax" + std::to_string(d));
  std::ranges::sort(wanted);
  if (std::vector<std::string> all = names; std::ranges::sort(all), wanted != all)
    return refuse(step.kName, "axes must be " + join(names) + " in any order, not " + join(step.axes));
  for (size_t d = 0; d < rank; ++d)
    order[d] = static_cast<size_t>(std::ranges::find(names, step.axes[d]) - names.begin());
  return order;
}

template <class T>
std::vector<T> in_order(const std::vector<T>& all, const std::vector<size_t>& order) {
  std::vector<T> out;
  for (const size_t d : order) out.push_back(all[d]);
  return out;
}

te::Operation copy_of(const StageNest& source, const std::vector<size_t>& outputs, const std::vector<size_t>& order,
                      const std::string& name) {
  const te::Operation& op = source.op;
  std::vector<te::Output> copies;
  std::vector<te::Tensor> inputs;
  for (const size_t i : outputs) {
    copies.push_back(op->outputs[i]);
    inputs.push_back(op.output(i));
  }
  te::Compute compute;
  std::vector<ir::Expr> at;
  for (size_t d = 0; d < copies[0].shape.size(); ++d) {
    ir::Var var("ax" + std::to_string(d));
    compute.axis.push_back({var, 0, copies[0].shape[d], false});
    at.push_back(var);
  }
  compute.axis = in_order(compute.axis, order);
  for (te::Output& copy : copies) copy.shape = in_order(copy.shape, order);
  for (const size_t i : outputs) compute.bodies.push_back(ir::load(source.buffers[i], at));
  te::OpNode node{ir::Buffer::fresh_id(), name, renewed(copies, name), compute, inputs, op->where};
  return te::Operation(std::make_shared<const te::OpNode>(std::move(node)));
}

ir::Expr reading_copies(const ir::Expr& body, const ir::BufferMap& copies, const std::vector<size_t>& order) {
  const ir::Expr permuted = std::ranges::is_sorted(order) ? body : ir::rewrite(body, [&](const ir::Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    return load && copies.contains(load->buffer.id()) ? ir::load(load->buffer, in_order(load->at, order), load->pred)
                                                      : e;
  });
  return ir::replace_buffers(permuted, copies);
}

}  // namespace

Result<LoopNest> apply(const LoopNest& nest, const CacheRead& step) {
  TW_TRY(int source, any_stage(nest, step.kName, step.stage));
  if (step.scope == Scope::kArgument)
    return refuse(step.kName, "scope must be local, warp, shared or global, not argument");
  if (step.readers.empty()) return refuse(step.kName, "readers must name at least one stage that reads " + step.stage);
  std::vector<int> actual = readers_of(nest, source), readers;
  for (const std::string& name : step.readers) {
    TW_TRY(int reader, any_stage(nest, step.kName, name));
    if (std::find(actual.begin(), actual.end(), reader) == actual.end()) {
      std::vector<std::string> names;
      for (int i : actual) names.push_back(nest.stage(i).name);
      return refuse(step.kName, "readers must be stages that read " + step.stage + "; " + name + " doesn't")
             << step.stage + " is read by " + (names.empty() ? "no stage" : join(names));
    }
    if (nest.stage(reader).op->external())
      return refuse(step.kName, "readers must not be extern stages, as " + name + " is")
             << "what it reads is written in its statement";
    readers.push_back(reader);
  }
  const std::vector<size_t> outputs = copied_outputs(nest, nest.stage(source), readers);
  for (const size_t i : outputs)
    if (const auto& all = nest.stage(source).op->outputs;
        !std::ranges::equal(all[i].shape, all[outputs[0]].shape, ir::ExprEqual()))
      return refuse(step.kName,
                    "the readers must not read outputs of different shapes, as they do of the scan " + step.stage)
             << "one copy has one shape; make a te.compute of each that is to be copied";
  TW_TRY(const std::vector<size_t> order,
         order_of(step, nest.stage(source).op->outputs[outputs.empty() ? 0 : outputs[0]].shape.size(),
                  scan_around(nest, source) != kNone));
  LoopNest next = nest;
  std::string name = nest.unique_name(step.stage + "." + to_string(step.scope));
  StageNest copy = make_stage(name, copy_of(nest.stage(source), outputs, order, name), nest.scalars());
  copy.scope = step.scope;
  if (scan_around(nest, source) != kNone) copy.attach = nest.stage(source).attach;
  ir::BufferMap replaced;
  for (size_t i = 0; i < copy.buffers.size(); ++i)
    replaced[nest.stage(source).buffers[outputs[i]].id()] = copy.buffers[i];
  for (int reader : readers) {
    StageNest& changed = next.edit(reader);
    for (ir::Expr& body : changed.bodies) body = reading_copies(body, replaced, order);
  }
  next.insert(source + 1, std::move(copy));
  return next;
}

}  // namespace tw::schedule::primitives
