#include "te/dependent_axes.h"

#include <algorithm>

#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/operation.h"
#include "te/refuse.h"

namespace tw::te {
namespace {

class Dependent {
 public:
  Dependent(const std::string& what, const std::vector<IterVar>& axes, const SourceLine& where)
      : what_(what), where_(where) {
    std::vector<Expr> extents;
    for (const IterVar& a : axes) {
      running_[a.var.id()] = a.extent;
      extents.push_back(a.extent);
    }
    scalars_ = ir::bounds_of_extents(extents);
  }

  ir::ReduceAxis bounded(const ir::ReduceAxis& axis) {
    const bool depends = on_axes(axis.min) || on_axes(axis.extent);
    const Expr end = ir::simplify(axis.min + axis.extent);
    const ir::ReduceAxis made = depends ? whole(axis, end) : axis;
    if (ir::can_prove(made.min >= Expr(0), scalars_)) running_[made.var.id()] = ir::simplify(made.min + made.extent);
    if (!depends) return made;
    if (on_axes(axis.min)) add(Expr(axis.var) >= axis.min);
    add(Expr(axis.var) < end);
    return made;
  }

  const Expr& inside() const { return inside_; }

 private:
  static bool on_axes(const Expr& e) {
    bool found = false;
    ir::walk(e, [&](const Expr& part) {
      const auto* v = ir::as<ir::VarRef>(part);
      found |= v && !is_scalar(v->var);
      return true;
    });
    return found;
  }

  ir::ReduceAxis whole(const ir::ReduceAxis& axis, const Expr& end) const {
    const auto first = ir::symbolic_interval(axis.min, running_, scalars_),
               last = ir::symbolic_interval(end, running_, scalars_);
    const std::string ends = short_text(axis.min) + ".." + short_text(end);
    for (const auto* side : {&first, &last})
      if (!side->known || on_axes(side->lo) || on_axes(side->hi))
        refuse(ErrorKind::kExpr,
               what_ + ": the ends of reduce axis " + axis.var.name() + " must have bounds over the axes of " + what_ +
                   ", not " + ends,
               {"axes listed before it, those of the compute and te.var may be used, as in te.reduce_axis((0, i + 1))"},
               where_);
    return {axis.var, first.lo, ir::simplify(ir::max(last.hi - first.lo, Expr(0)), scalars_)};
  }

  void add(const Expr& condition) { inside_ = inside_ ? inside_ && condition : condition; }

  const std::string& what_;
  const SourceLine& where_;
  std::unordered_map<uint64_t, Expr> running_;  // of each axis at hand: it is below this, and not negative
  ir::Bounds scalars_;
  Expr inside_;
};

}  // namespace

void bound_reduce_axes(const std::string& what, const std::vector<IterVar>& axes, std::vector<Expr>& bodies,
                       const SourceLine& where) {
  const auto* first = ir::as<ir::Reduce>(bodies[0]);
  if (!first) return;
  Dependent dependent(what, axes, where);
  std::vector<ir::ReduceAxis> bounded;
  for (const ir::ReduceAxis& axis : first->axes) bounded.push_back(dependent.bounded(axis));
  if (!dependent.inside()) return;
  const Expr counts = first->where ? dependent.inside() && first->where : dependent.inside();
  const Expr before = first->where;
  for (Expr& body : bodies) {
    const auto* reduce = ir::as<ir::Reduce>(body);
    if (!reduce || !reduce->where.same_as(before)) continue;  // check_body refuses the tuple
    ir::Reduce made = *reduce;
    made.axes = bounded;
    made.where = counts;
    body = ir::reduce(std::move(made));
  }
}

}  // namespace tw::te
