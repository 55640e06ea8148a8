// The loops run over the packed memory, so that it is written in order; the map, inverted, says what stands there.
// Where panels lie side by side in rows of the source, they are filled in turn, a few rows each: the source is read in
// order, too, which its memory is faster at.
//
//   for panel:                          for rows of 16:
//     for row:                ==>         for panel:
//       packed[panel, row, ..] = ..         for row in those 16: packed[panel, row, ..] = ..
#include "schedule/pack.h"

#include "schedule/layout.h"
#include "schedule/loop_nest.h"
#include "schedule/refuse.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

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

constexpr int64_t kRowsInTurn = 16, kFewestTurns = 8;
constexpr int64_t kMostTurned = 64, kWidestGroup = 8;

// By how many elements of the source a step of this loop moves; 0 where that differs.
int64_t step_of(const ir::Var& loop, const std::vector<ir::Var>& loops, const std::vector<ir::Expr>& element,
                const std::vector<ir::Expr>& extents) {
  ir::Expr flat = 0;
  for (size_t d = 0; d < element.size(); ++d) flat = flat * extents[d] + element[d];
  const auto at = [&](int64_t step) {
    ir::Substitution values;
    for (const ir::Var& other : loops) values[other.id()] = other.id() == loop.id() ? step : 0;
    return ir::as_int(ir::simplify(ir::substitute(flat, values)));
  };
  const auto first = at(0), second = at(1);
  return first && second ? *second - *first : 0;
}

bool has_panels_in_rows(const IndexMap& map, const std::vector<ir::Var>& loops, const std::vector<ir::Expr>& element,
                        const std::vector<ir::Expr>& extents) {
  if (loops.size() < 3 || !map.shape[0].known() || !map.shape[1].known()) return false;
  if (map.shape[0].value() < 2 || map.shape[1].value() < kFewestTurns * kRowsInTurn) return false;
  const int64_t panel = step_of(loops[0], loops, element, extents), row = step_of(loops[1], loops, element, extents);
  return panel > 0 && row > panel;
}

// Whether groups of a column's elements stand side by side where its neighbours are read: registers turn those.
bool turns_groups(const IndexMap& map, const std::vector<ir::Var>& loops, const std::vector<ir::Expr>& element,
                  const std::vector<ir::Expr>& extents) {
  const size_t last = loops.size() - 1;
  if (last < 2 || !map.shape[last].known() || !map.shape[last - 1].known()) return false;
  const int64_t group = map.shape[last].value(), columns = map.shape[last - 1].value();
  return group > 1 && group <= kWidestGroup && columns <= kMostTurned &&
         step_of(loops[last - 1], loops, element, extents) == 1 && step_of(loops[last], loops, element, extents) > 1;
}

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
  const ir::ForKind outermost = packed.element().is_packed() ? ir::ForKind::kSerial : ir::ForKind::kParallel;
  const bool in_turn = has_panels_in_rows(map, loops, element, stage.op->shape());
  const bool turned = !exists && turns_groups(map, loops, element, stage.op->shape());
  for (size_t q = loops.size(); q-- > (in_turn ? 2 : 0);) {
    ir::ForKind kind = q == 0 ? outermost : ir::ForKind::kSerial;
    if (turned && q + 2 >= loops.size())
      kind = q + 1 == loops.size() ? ir::ForKind::kVectorized : ir::ForKind::kUnrolled;
    body = ir::loop(loops[q], map.shape[q].expr(), body, kind);
  }
  if (!in_turn) return body;
  const int64_t rows = map.shape[1].value();
  const ir::Var turn(loops[1].name() + ".o"), row(loops[1].name() + ".i");
  const ir::Expr first = ir::Expr(turn) * kRowsInTurn;
  const ir::Expr count = rows % kRowsInTurn == 0 ? ir::Expr(kRowsInTurn) : ir::min(kRowsInTurn, rows - first);
  body = ir::loop(row, count, ir::substitute(body, {{loops[1].id(), first + row}}));
  body = ir::loop(loops[0], map.shape[0].expr(), body);
  return ir::loop(turn, (rows + kRowsInTurn - 1) / kRowsInTurn, body, outermost);
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
