#include "te/check_body.h"

#include <algorithm>
#include <unordered_set>

#include "src/ir/walk.h"
#include "te/refuse.h"

namespace tw::te {
namespace {

std::string names(const std::vector<IterVar>& axes) {
  std::string text;
  for (const IterVar& a : axes) text += (text.empty() ? "" : ", ") + a.var.name();
  return text;
}

void check_variable(const std::string& what, const Compute& c, const Var& var,
                    const std::unordered_set<uint64_t>& defined, const SourceLine& where) {
  if (defined.contains(var.id()) || is_scalar(var)) return;
  std::vector<std::string> notes = {c.axis.empty() ? "it has no axes" : "its axes: " + names(c.axis)};
  if (c.reduce_axis.empty()) {
    notes.push_back("if " + var.name() + " is a reduce axis, reduce over it: te.sum(..., axis=" + var.name() + ")");
  } else {
    notes.push_back("its reduction names axis=[" + names(c.reduce_axis) + "]; if " + var.name() +
                    " is a reduce axis, list it there too");
  }
  refuse(ErrorKind::kExpr, what + ": undefined variable " + var.name(), std::move(notes), where);
}

// The values of a tuple are all components of one reduction, or none of them is one.
void check_tuple(const std::string& what, const Compute& c, const SourceLine& where) {
  const auto* first = ir::as<ir::Reduce>(c.body());
  const auto of_the_same = [&](const ir::Reduce& r) {
    const auto alike = [](const std::vector<Expr>& a, const std::vector<Expr>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                        [](const Expr& x, const Expr& y) { return x.same_as(y); });
    };
    return r.op == first->op && r.combiner == first->combiner && alike(r.sources, first->sources) &&
           r.where.same_as(first->where) && alike(r.init, first->init);
  };
  bool fine = !first || first->sources.size() == c.bodies.size();
  for (size_t i = 0; i < c.bodies.size(); ++i) {
    const auto* r = ir::as<ir::Reduce>(c.bodies[i]);
    fine = fine && (first ? r && of_the_same(*r) && r->value == static_cast<int>(i) : !r);
  }
  if (fine) return;
  refuse(ErrorKind::kExpr,
         what + ": the values must be all components of one reduction, in their order, or no reduction",
         {"return what the reducer returns; components that nobody needs cost their stores only",
          "reductions of different functions are computes of their own"},
         where);
}

// What init says holds before the first point of the reduction.
void check_init(const std::string& what, const Compute& c, const SourceLine& where) {
  const auto* reduce = ir::as<ir::Reduce>(c.body());
  if (!reduce) return;
  for (const Expr& init : reduce->init)
    ir::walk(init, [&](const Expr& e) {
      const auto* v = ir::as<ir::VarRef>(e);
      for (const ir::ReduceAxis& axis : reduce->axes)
        if (v && v->var == axis.var)
          refuse(ErrorKind::kExpr, what + ": init must not depend on the reduce axis " + axis.var.name(),
                 {"init: " + short_text(init), "it is the value before the first term"}, where);
      return true;
    });
}

void check_value(const std::string& what, const Compute& c, const Expr& value,
                 const std::unordered_set<uint64_t>& defined, const SourceLine& where) {
  ir::walk(value, [&](const Expr& e) {
    if (const auto* v = ir::as<ir::VarRef>(e)) check_variable(what, c, v->var, defined, where);
    if (ir::as<ir::Reduce>(e) && !e.same_as(value)) {
      refuse(
          ErrorKind::kExpr, what + ": a reduction must be the whole value of a compute, not a part of one",
          {"reduction: " + short_text(e), "make the reduction a compute of its own and use its tensor in a second one:",
           "C = te.compute(shape, lambda *i: te.sum(...)); D = te.compute(shape, lambda *i: C(*i) + 1)"},
          where);
    }
    return true;
  });
}

}  // namespace

ReadNotes check_body(const std::string& what, Compute& c, const SourceLine& where) {
  std::unordered_set<uint64_t> defined;
  for (const IterVar& a : c.axis) defined.insert(a.var.id());
  for (const IterVar& a : c.reduce_axis) defined.insert(a.var.id());
  for (const Expr& value : c.bodies) check_value(what, c, value, defined, where);
  check_tuple(what, c, where);
  check_init(what, c, where);
  return clamp_reads(what, c, where);
}

}  // namespace tw::te
