#include "te/read_walk.h"

#include <algorithm>

#include "src/ir/walk.h"
#include "src/support/deep_stack.h"

namespace tw::te {

using ir::BinOp;

namespace {

constexpr size_t kMaxVisits = 100'000;  // nested conditions over shared parts multiply; what is beyond has none

constexpr int kShallow = 400;

}  // namespace

ReadWalk::ReadWalk(const Compute& c) {
  outer_.axes = inner_.axes = c.axis;
  inner_.axes.insert(inner_.axes.end(), c.reduce_axis.begin(), c.reduce_axis.end());
  for (const Expr& body : c.bodies) note_extents(body);
  finish();
}

ReadWalk::ReadWalk(const StatementPlace& place) {
  inner_.axes = outer_.axes = place.axes;
  inner_.extents = place.extents;
  finish();
  for (const auto& [test, holds] : place.conditions) {
    conditions_.push_back(std::make_unique<Condition>(Condition{test, holds, outermost_}));
    around_ = outermost_ = conditions_.back().get();
  }
}

void ReadWalk::finish() {
  for (const IterVar& a : inner_.axes) {
    const auto min = ir::as_int(a.min), extent = ir::as_int(a.extent);
    if (min && extent) inner_.ranges[a.var.id()] = {*min, *min + *extent - 1};
  }
  outer_.ranges = inner_.ranges;
  outer_.extents = inner_.extents;
}

void ReadWalk::note_extents(const Expr& body) {
  ir::walk(body, [&](const Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    const Operation from = load ? producer(load->buffer) : Operation();
    if (from && from->is_placeholder() && noted_.insert(load->buffer.id()).second)
      for (const Expr& extent : load->buffer.shape())
        if (const auto* v = ir::as<ir::VarRef>(extent)) inner_.extents.push_back(v->var);
    return true;
  });
}

void ReadWalk::walk(const Expr& e) { visit(e, outermost_); }

// Only deep expressions pay for a deep stack.
void ReadWalk::visit(const Expr& e, const Condition* around) {
  ++depth_;
  if (depth_ == kShallow) {
    support::on_deep_stack([&] { visit_node(e, around); });
  } else {
    visit_node(e, around);
  }
  --depth_;
}

void ReadWalk::visit_node(const Expr& e, const Condition* around) {
  if (++visits_ > kMaxVisits) around = nullptr;
  if (unconditional_.contains(e.get()) || !visited_.insert({e.get(), around}).second) return;
  if (around == nullptr) unconditional_.insert(e.get());
  if (const auto* s = ir::as<ir::Select>(e)) {
    visit(s->cond, around);
    visit_under(s->yes, s->cond, true, around);
    visit_under(s->no, s->cond, false, around);
    return;
  }
  if (const auto* b = ir::as<ir::Binary>(e); b && (b->op == BinOp::kAnd || b->op == BinOp::kOr)) {
    visit(b->a, around);
    visit_under(b->b, b->a, b->op == BinOp::kAnd, around);
    return;
  }
  if (const auto* r = ir::as<ir::Reduce>(e)) {
    for (const Expr& init : r->init) visit(init, around);
    reduced_ = true;
    if (r->where) visit(r->where, around);
    for (const Expr& source : r->sources)
      r->where ? visit_under(source, r->where, true, around) : visit(source, around);
    reduced_ = false;
    return;
  }
  for (const Expr& child : ir::children(e)) visit(child, around);
  if (const auto* load = ir::as<ir::Load>(e)) {
    around_ = around;
    at_read(e, *load);
  }
}

void ReadWalk::visit_under(const Expr& e, const Expr& test, bool holds, const Condition* around) {
  conditions_.push_back(std::make_unique<Condition>(Condition{test, holds, around}));
  visit(e, conditions_.back().get());
}

const ReadPlace& ReadWalk::place() {
  ReadPlace& place = reduced_ ? inner_ : outer_;
  place.conditions.clear();
  for (const Condition* c = around_; c != nullptr; c = c->outer) place.conditions.emplace_back(c->test, c->holds);
  std::reverse(place.conditions.begin(), place.conditions.end());
  return place;
}

void for_each_read(const Compute& c, const std::function<void(const ir::Load&, const ReadPlace&)>& visit) {
  class Each : public ReadWalk {
   public:
    Each(const Compute& c, const std::function<void(const ir::Load&, const ReadPlace&)>& visit)
        : ReadWalk(c), visit_(visit) {}

   private:
    void at_read(const Expr&, const ir::Load& load) override { visit_(load, place()); }
    const std::function<void(const ir::Load&, const ReadPlace&)>& visit_;
  };
  Each each(c, visit);
  for (const Expr& body : c.bodies) each.walk(body);
}

}  // namespace tw::te
