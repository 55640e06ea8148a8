// The loops run over the packed memory, so that it is written in order; the map, inverted, says what stands there.
#include "schedule/pack.h"

#include "schedule/layout.h"
#include "schedule/loop_nest.h"
#include "schedule/refuse.h"
#include "src/ir/simplify.h"

namespace tw::schedule {

namespace {

std::vector<Extent> declared_extents(const StageNest& stage) {
  return {stage.op->shape().begin(), stage.op->shape().end()};
}

// The kernel that packs sees one array only, so an extent such as 2*n is a number of its own there.
StageNest with_own_extents(StageNest stage) {
  std::vector<ir::Expr> shape = stage.op->shape();
  for (size_t d = 0; d < shape.size(); ++d)
    if (!ir::as_int(shape[d]) && !ir::as<ir::VarRef>(shape[d])) shape[d] = te::var("extent" + std::to_string(d));
  const te::Tensor own = te::placeholder(shape, to_string(stage.op->dtype()), stage.op->name,
                                         std::get<te::Placeholder>(stage.op->kind), stage.op->where);
  stage.op = own.op();
  stage.buffers = {own.buffer()};
  return stage;
}

bool is_packed(const StageNest& stage) { return stage.is_placeholder() && stage.layout; }

// packed[place] = declared[element], or the pad where there is none.
ir::Stmt packing(const StageNest& stage, const ir::Buffer& packed) {
  const IndexMap map = index_map(*stage.layout, declared_extents(stage)).value_or_throw();
  std::vector<ir::Var> loops;
  std::vector<ir::Expr> at;
  ir::Bounds ranges;
  for (size_t q = 0; q < map.shape.size(); ++q) {
    loops.emplace_back("p" + std::to_string(q));
    ranges[loops[q].id()] = {0, map.shape[q].value_or(ir::Interval::kPosInf) - 1};
    at.emplace_back(loops[q]);
  }
  std::vector<ir::Expr> element = element_at(map, at);
  ir::Expr exists;
  for (size_t d = 0; d < element.size(); ++d) {
    element[d] = ir::simplify(element[d], ranges);
    if (map.padded[d] == map.extents[d]) continue;
    const ir::Expr inside = element[d] < map.extents[d].expr();
    exists = exists ? exists && inside : inside;
  }
  ir::Stmt body = ir::store(packed, at, ir::load(stage.buffer(), element));
  if (exists) body = ir::if_then(exists, body, ir::store(packed, at, pad_of(*stage.layout, packed.element())));
  const bool shares_bytes = packed.element().is_packed();
  for (size_t q = loops.size(); q-- > 0;)
    body = ir::loop(loops[q], map.shape[q].expr(), body,
                    q == 0 && !shares_bytes ? ir::ForKind::kParallel : ir::ForKind::kSerial);
  return body;
}

}  // namespace

std::vector<PackedParam> packed_params(const Schedule& schedule) {
  std::vector<PackedParam> all;
  for (int i = 0; i < schedule.nest().size(); ++i) {
    const StageNest& stage = schedule.nest().stage(i);
    if (!is_packed(stage)) continue;
    all.push_back({stage.name, stage.op.output(), stage.op->shape(), packed_buffer(stage).shape(),
                   canonical(*stage.layout, declared_extents(stage))});
  }
  return all;
}

Result<ir::Program> pack_program(const Schedule& schedule, const std::string& placeholder, std::string kernel_name) {
  TW_TRY(int id, any_stage(schedule.nest(), "pack", placeholder));
  if (!is_packed(schedule.nest().stage(id)))
    return refuse("pack", "the stage must be a parameter that transform_layout packs, not " + placeholder);
  const StageNest stage = with_own_extents(schedule.nest().stage(id));
  const ir::Buffer like = packed_buffer(stage);
  const ir::Buffer packed(like.name() + ".packed", like.element(), like.shape(), Scope::kArgument);
  ir::Program program{std::move(kernel_name), {{stage.buffer(), false}, {packed, true}}, packing(stage, packed)};
  try {
    te::bind_scalars(program, {stage.op.output()}, {});
  } catch (const Error& e) {
    return e.diagnostic();
  }
  return program;
}

}  // namespace tw::schedule
