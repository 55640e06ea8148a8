#include "src/lower/lane_guards.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

// Lane 0 is the last to be left out.
std::optional<Expr> first_lane(const Expr& guard, const std::vector<TileLoop>& loops) {
  std::vector<Var> lanes;
  for (const TileLoop& l : loops)
    if (l.kind == ForKind::kVectorized) lanes.push_back(l.var);
  return at_first(guard, lanes);
}

void add_loads(LaneGuarded::Loads& to, const Expr& of) {
  walk(of, [&](const Expr& e) {
    if (as<Load>(e)) to.insert(e.get());
    return true;
  });
}

}  // namespace

LaneGuarded::LaneGuarded(const Stmt& s, const Buffer& tile) {
  walk(
      s,
      [&](const Stmt& at) {
        if (const auto* f = as<For>(at)) bound_.insert(f->var.id());
        if (const auto* l = as<LetStmt>(at)) lets_.insert(l->var.id());
        const auto* st = as<Store>(at);
        only_tile_ = only_tile_ && !as<Evaluate>(at) && (!st || st->buffer == tile);
        return true;
      },
      [&](const Expr& e) {
        if (const auto* l = as<Let>(e)) lets_.insert(l->var.id());
        return true;
      });
  bound_.insert(lets_.begin(), lets_.end());
}

LaneGuards LaneGuarded::under(const Expr& guard, const LaneGuards& outer, const std::vector<TileLoop>& loops) const {
  LaneGuards all = outer;
  all.varying = both(outer.varying, guard);
  const auto first = only_tile_ ? first_lane(guard, loops) : std::nullopt;
  const auto used = used_vars(first ? *first : guard);
  const bool outside = first && std::ranges::none_of(used, [&](uint64_t id) { return bound_.contains(id); });
  if (outside && !outer.uniform) {
    all.first.push_back(*first);
  } else {  // no one lane decides for all of the guards together
    all.uniform = all.varying;
    all.first.clear();
  }
  return all;
}

bool LaneGuarded::varies(const Load& l, const std::vector<TileLoop>& loops) const {
  const auto here = [&](const Expr& e) { return on_lane(e, loops); };
  return here(l.pred) || std::ranges::any_of(l.at, here);
}

LaneGuarded::Loads LaneGuarded::chosen_by_lanes(const Expr& value, const std::vector<TileLoop>& loops) const {
  Loads chosen;
  add_chosen(chosen, value, loops);
  return chosen;
}

void LaneGuarded::add_chosen(Loads& to, const Expr& value, const std::vector<TileLoop>& loops) const {
  walk(value, [&](const Expr& e) {
    const auto* s = as<Select>(e);
    const auto* b = as<Binary>(e);
    if (b && b->op != BinOp::kAnd && b->op != BinOp::kOr) b = nullptr;
    if (!s && !b) return true;
    const Expr& condition = s ? s->cond : b->a;
    if (!on_lane(condition, loops)) return true;
    add_chosen(to, condition, loops);
    add_loads(to, s ? s->yes : b->b);
    if (s) add_loads(to, s->no);
    return false;
  });
}

bool LaneGuarded::on_lane(const Expr& e, const std::vector<TileLoop>& loops) const {
  if (!e) return false;
  const auto used = used_vars(e);
  return std::ranges::any_of(used, [&](uint64_t id) { return lets_.contains(id); }) ||
         std::ranges::any_of(loops, [&](const TileLoop& loop) {
           return loop.kind == ForKind::kVectorized && used.contains(loop.var.id());
         });
}

void LaneGuarded::ask(const std::vector<Expr>& conditions) {
  for (const Expr& c : conditions)
    if (std::ranges::none_of(asked_, [&](const Expr& e) { return equal(e, c); })) asked_.push_back(c);
}

}  // namespace tw::lower
