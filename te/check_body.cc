#include "te/check_body.h"

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
  if (defined.contains(var.id())) return;
  std::vector<std::string> notes = {c.axis.empty() ? "it has no axes" : "its axes: " + names(c.axis)};
  if (c.reduce_axis.empty()) {
    notes.push_back("if " + var.name() + " is a reduce axis, reduce over it: te.sum(..., axis=" + var.name() + ")");
  } else {
    notes.push_back("its reduction names axis=[" + names(c.reduce_axis) + "]; if " + var.name() +
                    " is a reduce axis, list it there too");
  }
  refuse(ErrorKind::kExpr, what + ": undefined variable " + var.name(), std::move(notes), where);
}

}  // namespace

void check_body(const std::string& what, const Compute& c, const SourceLine& where) {
  std::unordered_set<uint64_t> defined;
  for (const IterVar& a : c.axis) defined.insert(a.var.id());
  for (const IterVar& a : c.reduce_axis) defined.insert(a.var.id());
  ir::walk(c.body(), [&](const Expr& e) {
    if (const auto* v = ir::as<ir::VarRef>(e)) check_variable(what, c, v->var, defined, where);
    if (ir::as<ir::Reduce>(e) && !e.same_as(c.body())) {
      refuse(
          ErrorKind::kExpr, what + ": a reduction must be the whole value of a compute, not a part of one",
          {"reduction: " + short_text(e), "make the reduction a compute of its own and use its tensor in a second one:",
           "C = te.compute(shape, lambda *i: te.sum(...)); D = te.compute(shape, lambda *i: C(*i) + 1)"},
          where);
    }
    return true;
  });
  check_reads(what, c, where);
}

}  // namespace tw::te
