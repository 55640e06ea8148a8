// What is stored: elements by the definition, what a reduction begins with, lanes' partial results, statements of
// intrinsics and users.
#include <unordered_map>
#include <utility>

#include "schedule/emitter.h"
#include "schedule/pad.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/statements.h"

namespace tw::schedule {

namespace {

// Loops that an intrinsic stands for: the innermost one as lanes, the others unrolled.
ir::Stmt in_lanes(const ir::Stmt& s) {
  if (const auto* i = ir::as<ir::If>(s)) return ir::if_then(i->cond, in_lanes(i->then));
  const auto* loop = ir::as<ir::For>(s);
  if (!loop) return s;
  const ir::Stmt body = in_lanes(loop->body);
  bool innermost = true;
  ir::walk(body, [&](const ir::Stmt& inner) { return innermost = innermost && !ir::as<ir::For>(inner); });
  return ir::loop(loop->var, loop->extent, body, innermost ? ir::ForKind::kVectorized : ir::ForKind::kUnrolled,
                  loop->tail);
}

}  // namespace

std::vector<ir::Expr> Emitter::subscripts(const Emission& stage) const {
  const std::vector<ir::Expr>& at = kept_.whole(stage.id) ? stage.bounds.index : stage.bounds.value;
  return kept_.position(stage.id, {at.begin(), at.begin() + stage.nest.data_rank});
}

ir::Stmt Emitter::element(const Emission& stage) {
  const auto* reduce = ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
  if (stage.nest.op->scan()) return states(stage);
  if (!reduce) return stored(stage, rewrite(stage, placed_.bodies[stage.id]));
  const bool lanes = stage.partial.position != kNone, threads = stage.sums.shares();
  const std::vector<ir::Buffer>& to = threads ? stage.sums.own
                                      : lanes ? stage.partial.buffers
                                              : kept_.buffers(stage.id);
  const std::vector<ir::Expr> at = threads ? stage.sums.at : lanes ? stage.partial.at : subscripts(stage);
  std::vector<ir::Expr> old;
  for (const ir::Buffer& buffer : to) old.push_back(ir::load(buffer, at));
  std::vector<ir::Expr> values = ir::combine(*reduce, old, rewrite(stage, reduce->sources));
  ir::Expr counts = stage.partial.counts;
  if (reduce->where) counts = both(counts, rewrite(stage, {reduce->where})[0]);
  if (counts)  // a select, which has a vector form and keeps the tile in registers
    for (size_t i = 0; i < values.size(); ++i) values[i] = ir::select(counts, values[i], old[i]);
  return te::store_all(to, at, values);
}

// Each state where it has an element: the loops are those of the largest.
ir::Stmt Emitter::states(const Emission& stage) const {
  const std::vector<ir::Expr> values = rewrite(stage, placed_.bodies[stage.id]), at = subscripts(stage);
  std::vector<ir::Stmt> all;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::vector<ir::Expr>& shape = stage.nest.op->outputs[i].shape;
    ir::Expr inside;
    for (size_t d = 1; d < at.size(); ++d) {
      if (stage.nest.axes[d].extent == Extent(shape[d])) continue;
      const ir::Expr holds = ir::simplify(stage.bounds.index[d] < shape[d], all_.ranges);
      if (!ir::is_int(holds, 1)) inside = both(inside, holds);
    }
    const ir::Stmt one = ir::store(kept_.buffers(stage.id)[i], at, values[i]);
    all.push_back(inside ? ir::if_then(inside, one) : one);
  }
  return ir::seq(std::move(all));
}

ir::Stmt Emitter::stored(const Emission& stage, const std::vector<ir::Expr>& values) const {
  return te::store_all(kept_.buffers(stage.id), subscripts(stage), values);
}

// The identity, over the data loops that stand inside the outermost reduction loop. `at_once`: the loops of an
// intrinsic in the way that it has.
ir::Stmt Emitter::init_part(const Emission& stage, int level, bool in_vector, bool at_once) {
  const auto& reduce = *ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
  const ir::Stmt one = stored(stage, reduce.init.empty() ? ir::identity_of(reduce) : rewrite(stage, reduce.init));
  const BoundIntrin& intrin = intrins_[stage.id];
  const int innermost = static_cast<int>(stage.nest.leaves.size());
  if (!at_once) return ir::refresh(init_loops(stage, level, innermost, one, in_vector));
  ir::Stmt body = init_loops(stage, intrin.level, innermost, one, in_vector);
  if (intrin.does.reset) {
    const ir::Stmt reset = relocated(stage, intrin.does.reset);
    body = intrin.whole_data ? ir::if_then(intrin.whole_data, reset, body) : reset;
  } else if (!in_vector) {
    body = in_lanes(body);
  }
  return ir::refresh(init_loops(stage, level, intrin.level, body, in_vector));
}

// Data loops from the position `from` up to `to`, and the loop at `lanes`, around `body`.
ir::Stmt Emitter::init_loops(const Emission& stage, int from, int to, ir::Stmt body, bool in_vector, int lanes) const {
  const int shared_from = from < stage.band.begin ? stage.band.begin : kNone;
  if (to == shared_from) body = shared(stage, body);
  for (int position = to; position-- > from;) {
    AxisId leaf = stage.nest.leaves[position];
    body = guarded(stage, position + 1, std::move(body), true);
    const bool in_band = shared_from != kNone && stage.band.holds(position);
    if (!in_band && (!stage.nest.axes[leaf].reduction || position == lanes))
      body = loop_around(stage, leaf, body, in_vector);
    if (position == shared_from) body = shared(stage, body);
  }
  return body;
}

// The reduction's loops over partial results: first the identity, and in the end the result, joined with what the
// reduction begins with.
ir::Stmt Emitter::across_lanes(const Emission& stage, int level, const ir::Stmt& update, bool in_vector) const {
  const auto& reduce = *ir::as<ir::Reduce>(placed_.bodies[stage.id][0]);
  const PartialResults& partial = stage.partial;
  const int innermost = static_cast<int>(stage.nest.leaves.size());
  const ir::Stmt identity = te::store_all(partial.buffers, partial.at, ir::identity_of(reduce));
  std::vector<ir::Expr> result = first_lane(partial);
  if (!reduce.init.empty()) result = ir::combine(reduce, rewrite(stage, reduce.init), result);
  const ir::Stmt end =
      ir::seq({joined(partial, reduce, kind(Annotation::kVectorized, in_vector)), stored(stage, result)});
  return allocated(partial.buffers,
                   ir::seq({ir::refresh(init_loops(stage, level, innermost, identity, in_vector, partial.position)),
                            update, ir::refresh(init_loops(stage, level, innermost, end, in_vector))}));
}

// The definition over loop variables, its loads from where the values are kept.
std::vector<ir::Expr> Emitter::rewrite(const Emission& stage, std::vector<ir::Expr> bodies, bool swizzled) const {
  std::unordered_map<uint64_t, ir::Expr> index;
  for (size_t axis = 0; axis < stage.bounds.index.size(); ++axis)
    index[stage.nest.axes[axis].var.id()] = stage.bounds.index[axis];
  std::unordered_map<uint64_t, int> sources;
  for (const Read& read : placed_.reads[stage.id]) sources[ir::as<ir::Load>(read.load)->buffer.id()] = read.source;
  for (ir::Expr& body : bodies) {
    body = ir::rewrite(body, [&](const ir::Expr& e) {
      if (const auto* var = ir::as<ir::VarRef>(e)) {
        auto found = index.find(var->var.id());
        return found == index.end() ? e : found->second;
      }
      const auto* load = ir::as<ir::Load>(e);
      return load ? kept_.redirected(*load, sources.at(load->buffer.id()), swizzled) : e;
    });
    if (stage.defined) body = where_defined(stage.defined, body);
  }
  return bodies;
}

// What the user wrote of an extern stage; everything that it touches is kept whole.
ir::Stmt Emitter::by_user(int i, const te::Extern& written) const {
  ir::BufferMap buffers;
  for (int source = 0; source <= i; ++source)
    for (size_t output = 0; output < kept_.buffers(source).size(); ++output)
      buffers[nest_.stage(source).buffers[output].id()] = kept_.buffers(source)[output];
  return te::statement(written, buffers);
}

// The statement that stands for all loops from here on.
ir::Stmt Emitter::by_intrin(const Emission& stage, bool in_vector) {
  const BoundIntrin& intrin = intrins_[stage.id];
  if (intrin.does.body) return relocated(stage, intrin.does.body);
  ir::Stmt update = relocated(stage, intrin.does.update);
  const bool begins = stage.nest.is_reduction() && stage.first_reduction >= intrin.level;
  return begins ? ir::seq({init_part(stage, intrin.level, in_vector, true), update}) : update;
}

// `statement`, which stands for the loops from the intrinsic's level on.
ir::Stmt Emitter::relocated(const Emission& stage, const ir::Stmt& statement) const {
  ir::Substitution values;
  for (const TileStride& stride : intrins_[stage.id].strides)
    values[stride.var.id()] = kept_.apart(stride.tensor, stride.factor);
  for (const TileOffset& offset : intrins_[stage.id].offsets)
    values[offset.var.id()] = kept_.offset(offset.tensor, offset.base);
  return kept_.relocated(values.empty() ? statement : ir::substitute(statement, values));
}

}  // namespace tw::schedule
